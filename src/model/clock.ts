/**
 * The clock, a parameter of every module. Wall time names moments (createdAt, UTC days); monotonic time measures
 * durations (windows, timeouts) and never steps.
 */
export interface Clock {
  /** Wall clock, whole milliseconds since the Unix epoch, UTC. */
  now(): number;
  /** Monotonic milliseconds with a fraction, from an arbitrary origin. */
  monotonicMs(): number;
}

/** Time since the machine booted, across restarts of the service; it never steps. */
export interface SteadyClock {
  /** Empty on a system without boot ids, where every start counts as a boot. */
  readonly bootId: string;
  sinceBootMs(): number;
}

export interface Timers {
  /** Monotonic milliseconds with a fraction, from an arbitrary origin. */
  monotonicMs(): number;
  /** Calls `run` once, after at least `ms`. @returns cancels it */
  after(ms: number, run: () => void): () => void;
}
