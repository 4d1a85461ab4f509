/**
 * Password hashes take turns: a few at a time, a bounded number that wait, the rest refused at once. A
 * flood of sign-ins then costs a fixed share of the process's threads, whatever its size.
 */
import { Failure } from '../model/failure.ts';

export class HashQueue {
  readonly #runningMax: number;
  readonly #waitingMax: number;
  readonly #waiting: Array<() => void> = [];
  #running = 0;

  constructor(runningMax: number, waitingMax: number) {
    this.#runningMax = runningMax;
    this.#waitingMax = waitingMax;
  }

  /** @throws Failure overloaded, and what `work` throws */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#runningMax) this.#running += 1;
    else await this.#turn();
    try {
      return await work();
    } finally {
      // A turn is handed on, not given back: nobody can come in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #turn(): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) {
      throw new Failure('overloaded', 'Too many passwords are being checked', {
        retryAfterSeconds: 5,
      });
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
