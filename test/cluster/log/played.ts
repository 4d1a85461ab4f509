/**
 * A test as a script and a trace, both in virtual time. The script `0 beat 3, 9 stop + check, 1275` plays steps at 0 and at
 * 9 ms, two of them in one tick, and ends at 1,275 ms. The trace `1050 lead, 1060 leading` is all that happened, in order.
 */
import { VirtualTime } from '../simulation/virtual-time.ts';

/** What a step of a script may do, by its first word; the other words are its arguments. */
export type Steps = Readonly<Record<string, (...words: string[]) => unknown>>;

export class Played {
  readonly time = new VirtualTime();
  readonly #startMs = this.time.nowMs;
  readonly #trace: string[] = [];
  /** Timers that have not run and were not cancelled. */
  readonly #timers = new Set<object>();

  get nowMs(): number {
    return this.time.nowMs - this.#startMs;
  }

  readonly timers = {
    monotonicMs: (): number => this.time.nowMs,
    after: (ms: number, run: () => void): (() => void) => {
      const timer = {};
      this.#timers.add(timer);
      const cancel = this.time.later(ms, () => {
        this.#timers.delete(timer);
        run();
      });
      return () => {
        this.#timers.delete(timer);
        cancel();
      };
    },
  };

  get timerCount(): number {
    return this.#timers.size;
  }

  /** Something happens now. */
  note(what: string): void {
    this.#trace.push(`${Math.round(this.nowMs)} ${what}`);
  }

  async until(ms: number): Promise<void> {
    // What is resolved now runs too.
    this.time.later(0, () => undefined);
    await this.time.run(this.#startMs + ms);
  }

  /** @returns the trace */
  async play(script: string, steps: Steps): Promise<string> {
    for (const step of script.split(', ')) {
      const [ms, ...words] = step.split(' ');
      await this.until(Number(ms));
      for (const action of words.join(' ').split(' + ')) {
        const [verb, ...rest] = action.split(' ');
        if (verb !== '') await steps[verb!]!(...rest);
      }
    }
    return this.#trace.join(', ');
  }
}
