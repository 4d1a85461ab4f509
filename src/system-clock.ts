import type { Clock } from './model/clock.ts';

/** The machine's clock: the one place that reads it, handed downwards by `app` and the thread entries. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
};
