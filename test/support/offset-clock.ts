import type { Clock } from '../../src/model/clock.ts';

/** The machine's clock, moved by as much as a test wants; monotonic time goes on as it does. */
export class OffsetClock implements Clock {
  offsetMs = 0;
  now(): number {
    return Date.now() + this.offsetMs;
  }
  monotonicMs(): number {
    return performance.now();
  }
}
