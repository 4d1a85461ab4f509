import type { Clock } from '../../../src/model/clock.ts';

/** The machine's clock, set ahead. */
export const clockAhead = (aheadMs: number): Clock => ({
  now: () => Date.now() + aheadMs,
  monotonicMs: () => performance.now(),
});

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

/**
 * The machine's clock, moved by as much as a test wants; monotonic time goes on as it does. It begins at noon
 * UTC of this day, whenever the test runs, so that no day, and no minute of its first one, ends meanwhile.
 */
export class OffsetClock implements Clock {
  offsetMs = 0;
  readonly #toNoonMs = dayMs / 2 - (Date.now() % dayMs);
  now(): number {
    return Date.now() + this.#toNoonMs + this.offsetMs;
  }
  monotonicMs(): number {
    return performance.now();
  }
}
