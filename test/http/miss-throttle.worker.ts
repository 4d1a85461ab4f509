/** Asks a shared throttle 500 times for each of 20 addresses, and says how often it was let through. */
import { parentPort, workerData } from 'node:worker_threads';
import { MissThrottle } from '../../src/http/miss-throttle.ts';

const { memory, seed, nowMs } = workerData;
const throttle = new MissThrottle(seed, memory);
let granted = 0;
for (let i = 0; i < 10_000; i++) {
  if (!throttle.isOver(Uint8Array.of(203, 0, 113, i % 20), nowMs)) granted++;
}
parentPort?.postMessage(granted, []);
