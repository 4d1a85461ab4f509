import { readFileSync } from 'node:fs';
import type { Clock, SteadyClock, Timers } from '../model/clock.ts';

/** The machine's clock. The wiring and the thread entries pass it to the modules; nothing else reads it. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** A timer does not keep the process alive. */
export const systemTimers: Timers = {
  monotonicMs: () => performance.now(),
  after(ms, run) {
    const dueMs = performance.now() + ms;
    // Node counts whole milliseconds from the begin of a cycle of the event loop, so it may be 1 ms early.
    const due = (): void => {
      if (performance.now() < dueMs) wait();
      else run();
    };
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      timer = setTimeout(due, Math.ceil(dueMs - performance.now())).unref();
    };
    wait();
    return () => clearTimeout(timer);
  },
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
