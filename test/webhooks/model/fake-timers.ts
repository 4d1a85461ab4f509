/** Timers that wait for the test's clock instead of the machine's: so a run of a seed is the same every time. */
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import type { TestClock } from '../../support/fakes/test-clock.ts';

/** Shorter ones are of libraries: they run in the next cycle. */
const cycleMsMax = 20;

interface Timer {
  readonly atMs: number;
  readonly run: () => void;
}

export class FakeTimers {
  readonly #clock: TestClock;
  readonly #timers = new Set<Timer>();
  readonly #restore: () => void;

  constructor(clock: TestClock) {
    this.#clock = clock;
    const { setTimeout: real, clearTimeout: realClear } = globalThis;
    const immediates = new WeakMap<object, NodeJS.Immediate>();
    const { setTimeout: realPause } = timersPromises;
    const handles = new WeakMap<object, Timer>();
    const fake = (run: () => void, ms = 0): object => {
      const handle = { unref: () => handle, ref: () => handle };
      if (ms < cycleMsMax) immediates.set(handle, setImmediate(run));
      else handles.set(handle, this.#add(ms, run));
      return handle;
    };
    const clear = (handle: NodeJS.Timeout | undefined): void => {
      if (handle === undefined) return;
      const timer = handles.get(handle);
      const immediate = immediates.get(handle);
      if (timer !== undefined) this.#timers.delete(timer);
      else if (immediate === undefined) realClear(handle);
      else clearImmediate(immediate);
    };
    const pause = <T>(ms = 0, value?: T): Promise<T | undefined> =>
      new Promise((resolve) => void this.#add(ms, () => resolve(value)));
    Object.assign(globalThis, { setTimeout: fake, clearTimeout: clear });
    Object.assign(timersPromises, { setTimeout: pause });
    syncBuiltinESMExports();
    this.#restore = () => {
      Object.assign(globalThis, { setTimeout: real, clearTimeout: realClear });
      Object.assign(timersPromises, { setTimeout: realPause });
      syncBuiltinESMExports();
    };
  }

  #add(ms: number, run: () => void): Timer {
    const timer = { atMs: this.#clock.monotonicMs() + ms, run };
    this.#timers.add(timer);
    return timer;
  }

  /** The process is dead. */
  clear(): void {
    this.#timers.clear();
  }

  /** Moves the clock to the next timer within `ms`, and runs it. @returns how far it moved; undefined = nothing waits for that long */
  runNext(ms: number): number | undefined {
    const nowMs = this.#clock.monotonicMs();
    const [next] = [...this.#timers].toSorted((one, other) => one.atMs - other.atMs);
    if (next === undefined || next.atMs > nowMs + ms) return undefined;
    this.#timers.delete(next);
    const movedMs = Math.max(0, next.atMs - nowMs);
    this.#clock.move(movedMs);
    next.run();
    return movedMs;
  }

  restore(): void {
    this.#restore();
  }
}
