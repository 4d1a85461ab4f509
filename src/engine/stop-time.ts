/**
 * What is left for redirects of the time of a stop: 15 s in all, below systemd's 20. The API's requests and the attempts
 * of webhooks have 3 s, redirects until 10 s after it began, their threads 0.5 s more, shards 4 s.
 */
import type { Clock } from '../model/clock.ts';

const drainEndMs = 10_000;
const drainMsMin = 1_000;

export class StopTime {
  readonly #clock: Clock;
  #beganMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get hasBegun(): boolean {
    return this.#beganMs !== undefined;
  }

  /** Again: nothing, the time runs from the first call. */
  begin(): void {
    this.#beganMs ??= this.#clock.monotonicMs();
  }

  cancel(): void {
    this.#beganMs = undefined;
  }

  /** Open connections are waited for so long, from now; where `begin` was not called, a stop begins now. */
  get drainMs(): number {
    const nowMs = this.#clock.monotonicMs();
    return Math.max(drainMsMin, drainEndMs - (nowMs - (this.#beganMs ?? nowMs)));
  }
}
