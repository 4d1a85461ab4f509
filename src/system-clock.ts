import { readFileSync } from 'node:fs';
import type { Clock, SteadyClock } from './model/clock.ts';

/** The machine's clock: the one place that reads it, handed downwards by `app` and the thread entries. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
};

const nanosecondsPerMillisecond = 1_000_000;
/** What the time since the process started lacks to the time since the boot. */
const bootedBeforeMs =
  Number(process.hrtime.bigint()) / nanosecondsPerMillisecond - performance.now();

export const systemSteadyClock: SteadyClock = {
  bootId: readBootId(),
  sinceBootMs: () => bootedBeforeMs + performance.now(),
};

/** Linux alone names its boots. */
function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
