/**
 * Requests of the one workspace of a run: its plan allows 600 in each minute by the clock. Requests that are answered 503
 * are not of them.
 */
import { pause } from '../../support/process.ts';

const perMinuteMax = 570;
const minuteMs = 60_000;
const waitMs = 50;

export class Pace {
  #minute = 0;
  #count = 0;

  /** Resolves when another may be sent. */
  async wait(): Promise<void> {
    while (this.#isUsedUp()) await pause(waitMs);
  }

  count(): void {
    this.#move();
    this.#count++;
  }

  #isUsedUp(): boolean {
    this.#move();
    return this.#count >= perMinuteMax;
  }

  #move(): void {
    const minute = Math.floor(Date.now() / minuteMs);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#count = 0;
  }
}
