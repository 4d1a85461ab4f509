/**
 * Preloaded into the service (`preload`), and so into its threads, by tests that need a thread to die in the midst of
 * its work: SIGIO makes every redirect thread throw, SIGWINCH every shard, SIGPWR those of pools; at SIGURG these exit, at
 * SIGSTKFLT they run out of memory.
 */
import process from 'node:process';
import { BroadcastChannel, isMainThread, workerData } from 'node:worker_threads';

const channel = new BroadcastChannel('end-threads');
channel.unref();

const setup = Object(workerData);
const kind = 'shard' in setup ? 'shard' : 'journalPosition' in setup ? 'redirect' : 'pool';

function fail(): never {
  throw new Error(`a test ends this ${kind} thread`);
}

/** Eight megabytes at a time. */
function hoard(): void {
  for (const kept: number[][] = []; ;) kept.push(Array<number>(1_000_000).fill(0.5));
}

const ends = {
  redirect: { SIGIO: fail },
  shard: { SIGWINCH: fail },
  pool: { SIGPWR: fail, SIGURG: () => process.exit(1), SIGSTKFLT: hoard },
};

if (isMainThread) {
  for (const signal of Object.values(ends).flatMap(Object.keys)) {
    process.on(signal, () => channel.postMessage(signal));
  }
} else {
  channel.onmessage = (event) => {
    const signal: unknown = Reflect.get(Object(event), 'data');
    const end: unknown = Reflect.get(ends[kind], String(signal));
    if (typeof end === 'function') setTimeout(() => end());
  };
}
