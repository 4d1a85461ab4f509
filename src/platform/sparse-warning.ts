/** A warning that repeats while its cause lasts: at once, then at most every 10 s. */
import type { Timers } from '../model/clock.ts';
import type { Logger } from './log.ts';

const everyMs = 10_000;

/** @returns call it with each occurrence and further fields of the line, such as the reason */
export function sparseWarning(
  log: Logger,
  timers: Pick<Timers, 'monotonicMs'>,
  message: string,
): (details: object) => void {
  let loggedMs = -Infinity;
  return (details) => {
    const nowMs = timers.monotonicMs();
    if (nowMs - loggedMs < everyMs) return;
    loggedMs = nowMs;
    log.warn(details, message);
  };
}
