import type { Clock, SteadyClock } from '../../../src/model/clock.ts';

export const startMs = Date.UTC(2026, 2, 4, 5, 6, 7, 8);

/** Wall, monotonic and boot time, all standing until they are moved; the wall can step, the others only go on. */
export class TestClock implements Clock, SteadyClock {
  bootId = 'boot-1';
  #wallMs: number;
  #steadyMs = 1_000;

  constructor(wallMs = startMs) {
    this.#wallMs = wallMs;
  }

  now(): number {
    return this.#wallMs;
  }
  monotonicMs(): number {
    return this.#steadyMs;
  }
  sinceBootMs(): number {
    return this.#steadyMs;
  }
  /** Time passes. */
  move(ms: number): void {
    this.#wallMs += ms;
    this.#steadyMs += ms;
  }
  /** Somebody sets the wall clock to this time. */
  set(wallMs: number): void {
    this.#wallMs = wallMs;
  }
  /** Somebody sets the wall clock forward, or back. */
  step(ms: number): void {
    this.#wallMs += ms;
  }
  /** The machine starts again after `offMs`. */
  reboot(offMs: number): void {
    this.bootId += '+';
    this.#wallMs += offMs;
    this.#steadyMs = 10;
  }
}
