/** A warning for as long as something is waited for: at once, then every 10 s however often it is told. */
import type { Timers } from '../model/clock.ts';
import type { Logger } from './log.ts';

const everyMs = 10_000;

/** @returns tells what else is in its line, such as the reason of the last try */
export function sparseWarning(
  log: Logger,
  timers: Pick<Timers, 'monotonicMs'>,
  message: string,
): (details: object) => void {
  let toldMs = -Infinity;
  return (details) => {
    const nowMs = timers.monotonicMs();
    if (nowMs - toldMs < everyMs) return;
    toldMs = nowMs;
    log.warn(details, message);
  };
}
