/**
 * Preloaded into the service (`preload`), and so into its threads, by tests that need a thread of a pool
 * to die in the midst of its work: SIGIO makes it throw, SIGURG exit, SIGWINCH run out of memory.
 */
import process from 'node:process';
import { BroadcastChannel, isMainThread, workerData } from 'node:worker_threads';

const channel = new BroadcastChannel('end-pool-threads');
channel.unref();

const setup = Object(workerData);
const isOfPool = !isMainThread && !('shard' in setup) && !('journalPosition' in setup);

if (isMainThread) {
  process.on('SIGIO', () => channel.postMessage('throw'));
  process.on('SIGURG', () => channel.postMessage('exit'));
  process.on('SIGWINCH', () => channel.postMessage('hoard'));
} else if (isOfPool) {
  channel.onmessage = (event) => {
    const message: unknown = Reflect.get(Object(event), 'data');
    setTimeout(() => {
      if (message === 'exit') process.exit(1);
      if (message === 'hoard') hoard();
      throw new Error('a test ends this thread of a pool');
    });
  };
}

/** Eight megabytes at a time. */
function hoard(): void {
  for (const kept: number[][] = []; ;) kept.push(Array<number>(1_000_000).fill(0.5));
}
