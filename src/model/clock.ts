/**
 * The clock. Time is a parameter everywhere: modules are handed a `Clock`, tests hand in their own.
 * Wall time names moments (createdAt, UTC days); monotonic time measures spans (windows, timeouts)
 * and never steps.
 */
export interface Clock {
  /** Wall clock, whole milliseconds since the Unix epoch, UTC. */
  now(): number;
  /** Monotonic milliseconds with a fraction, from an arbitrary origin. */
  monotonicMs(): number;
}

/** Time since the machine booted: goes on across restarts of the service, and never steps. */
export interface SteadyClock {
  /** Names the boot; empty where the system does not say, which makes every start a new boot. */
  readonly bootId: string;
  /** Milliseconds with a fraction. */
  sinceBootMs(): number;
}

/** Spans of monotonic time: what is to run when one has passed. */
export interface Timers {
  /** Monotonic milliseconds with a fraction, from an arbitrary origin. */
  monotonicMs(): number;
  /** Runs it once, not before `ms` have passed. @returns cancels it */
  after(ms: number, run: () => void): () => void;
}
