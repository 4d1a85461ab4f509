/** Asks a shared throttle 5,000 times for one address, and says how often it was let through. */
import { parentPort, workerData } from 'node:worker_threads';
import { MissThrottle } from '../../src/http/miss-throttle.ts';

const { memory, seed, perMinuteMax, nowMs } = workerData;
const throttle = new MissThrottle(perMinuteMax, seed, memory);
let granted = 0;
for (let i = 0; i < 5_000; i++) {
  if (!throttle.isOver(Uint8Array.of(203, 0, 113, 7), nowMs)) granted++;
}
parentPort?.postMessage(granted, []);
