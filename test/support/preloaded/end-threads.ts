/**
 * Preloaded into the service (`preload`), and so into its threads, by tests that need a thread to
 * die: SIGIO makes every redirect thread throw, SIGWINCH every shard, in the midst of whatever they do.
 */
import process from 'node:process';
import { BroadcastChannel, isMainThread, workerData } from 'node:worker_threads';

const channel = new BroadcastChannel('end-threads');
channel.unref();

if (isMainThread) {
  process.on('SIGIO', () => channel.postMessage('redirect'));
  process.on('SIGWINCH', () => channel.postMessage('shard'));
} else {
  const setup = Object(workerData);
  const kind = 'shard' in setup ? 'shard' : 'journalPosition' in setup ? 'redirect' : 'other';
  channel.onmessage = (event) => {
    const message: unknown = Reflect.get(Object(event), 'data');
    if (message !== kind) return;
    setTimeout(() => {
      throw new Error(`a test ends this ${kind} thread`);
    });
  };
}
