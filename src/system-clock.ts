import { readFileSync } from 'node:fs';
import type { Clock, SteadyClock } from './model/clock.ts';

/** The machine's clock, handed to every module by the wiring and the thread entries: nothing else reads it. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
};

const nanosecondsPerMillisecond = 1_000_000;
/** From the boot of the machine to the start of this process. */
const bootedBeforeMs =
  Number(process.hrtime.bigint()) / nanosecondsPerMillisecond - performance.now();

export const systemSteadyClock: SteadyClock = {
  bootId: readBootId(),
  sinceBootMs: () => bootedBeforeMs + performance.now(),
};

/** Only Linux has an id for each boot. */
function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
