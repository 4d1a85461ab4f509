/** A reader that keeps what it reads, holds the log to the port's promises, and begins again when its reading ends. */
import { expect } from 'vitest';
import type { OrderedLog, Reading } from '../../../src/cluster/log/ordered-log.ts';

export class LogRecorder {
  readonly #log: OrderedLog;
  readonly #from: number;
  readonly #bodies: Uint8Array[] = [];
  readonly violations: string[] = [];
  /** How often the reading ended and was begun again. */
  endings = 0;
  #reading: Reading;
  #stopped = false;

  constructor(log: OrderedLog, from: number) {
    this.#log = log;
    this.#from = from;
    this.#reading = this.#begin();
  }

  get next(): number {
    return this.#from + this.#bodies.length;
  }

  get texts(): string[] {
    return this.#bodies.map((body) => Buffer.from(body).toString());
  }

  body(seq: number): Uint8Array {
    return this.#bodies[seq - this.#from]!;
  }

  text(seq: number): string {
    return Buffer.from(this.body(seq)).toString();
  }

  /** Resolves when this position was read. */
  async reached(seq: number): Promise<void> {
    await expect.poll(() => this.next, { interval: 5 }).toBeGreaterThan(seq);
  }

  stop(): void {
    this.#stopped = true;
    this.#reading.stop();
  }

  #begin(): Reading {
    let over = false;
    let asking = true;
    const reading = this.#log.follow(this.next, {
      entry: (seq, body) => {
        if (asking) this.violations.push(`entry ${seq} from within follow`);
        if (over || this.#stopped) this.violations.push(`entry ${seq} after the end`);
        if (seq !== this.next) this.violations.push(`entry ${seq} instead of ${this.next}`);
        this.#bodies.push(body);
      },
      ended: (error) => {
        if (asking) this.violations.push('ended from within follow');
        if (over || this.#stopped) this.violations.push(`ended after the end: ${error.message}`);
        over = true;
        this.endings++;
        this.#reading = this.#begin();
      },
    });
    asking = false;
    return reading;
  }
}
