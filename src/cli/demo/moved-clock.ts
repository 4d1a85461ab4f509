/**
 * A clock that the demo sets: the machine's, moved back. What is made with it was made then, as far as the stores can tell.
 * It goes forward alone, and never beyond the machine's own time.
 */
import type { Clock, SteadyClock } from '../../model/clock.ts';

export class MovedClock implements Clock {
  readonly #machine: Clock;
  #offsetMs: number;

  constructor(machine: Clock, beginMs: number) {
    this.#machine = machine;
    this.#offsetMs = Math.min(0, beginMs - machine.now());
  }

  now(): number {
    return this.#machine.now() + this.#offsetMs;
  }

  monotonicMs(): number {
    return this.#machine.monotonicMs();
  }

  /** From here on it goes as the machine's does. */
  moveTo(timeMs: number): void {
    const offsetMs = timeMs - this.#machine.now();
    this.#offsetMs = Math.min(0, Math.max(this.#offsetMs, offsetMs));
  }

  /** Of no boot that there was: the next start goes by the wall clock. */
  get steady(): SteadyClock {
    return { bootId: '', sinceBootMs: () => this.now() };
  }
}
