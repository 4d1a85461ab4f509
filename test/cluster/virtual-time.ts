/**
 * Virtual time, which passes only when nothing is left to do now: a run of a seed is the same every time. And tests as a
 * script and a trace in it: the script `0 beat 3, 9 stop + check, 1275` plays steps at 0 and at 9 ms, two of them in one
 * tick, and ends at 1,275 ms. The trace `1050 lead, 1060 leading` is all that happened, in order.
 */

/** Runs `run` once, after `ms`, never at once; what it returns takes that back. */
export type Later = (ms: number, run: () => void) => () => void;

interface Due {
  readonly atMs: number;
  run: (() => void) | undefined;
}

export class VirtualTime {
  /** The next one is last. Of two at the same moment the one that was asked for first runs first. */
  readonly #due: Due[] = [];
  nowMs = 1_000;

  readonly later: Later = (ms, run) => {
    const due: Due = { atMs: this.nowMs + Math.max(0, ms), run };
    let [low, high] = [0, this.#due.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (due.atMs < this.#due[middle]!.atMs) low = middle + 1;
      else high = middle;
    }
    this.#due.splice(low, 0, due);
    return () => {
      due.run = undefined;
    };
  };

  /** Until `untilMs`, or until `isDone`. After each event what it resolved runs to its end. */
  async run(untilMs: number, isDone = (): boolean => false): Promise<void> {
    for (
      let due = this.#due.at(-1);
      due !== undefined && due.atMs <= untilMs;
      due = this.#due.at(-1)
    ) {
      this.#due.pop();
      if (due.run === undefined) continue;
      this.nowMs = due.atMs;
      due.run();
      // An immediate runs when no promise has anything left to do.
      await new Promise<void>((resolve) => void setImmediate(resolve));
      if (isDone()) return;
    }
    this.nowMs = untilMs;
  }

  /** Again and again until `untilMs`, after `ms` on average. @param random from 0 up to 1 */
  every(ms: number, untilMs: number, random: () => number, run: () => void): void {
    this.later(2 * ms * random(), () => {
      if (this.nowMs > untilMs) return;
      run();
      this.every(ms, untilMs, random, run);
    });
  }
}

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
