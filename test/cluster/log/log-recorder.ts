/** A reader that keeps what it reads, holds the log to the port's promises, and begins again when its reading ends. */
import type { OrderedLog, Reading } from '../../../src/cluster/log/ordered-log.ts';

const utf8 = new TextDecoder();

export class LogRecorder {
  readonly #log: OrderedLog;
  readonly #from: number;
  readonly #bodies: Uint8Array[] = [];
  readonly #awaited = new Set<{ seq: number; reached: () => void }>();
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

  get positions(): number[] {
    return this.#bodies.map((_, index) => this.#from + index);
  }

  get texts(): string[] {
    return this.#bodies.map((body) => utf8.decode(body));
  }

  body(seq: number): Uint8Array {
    return this.#bodies[seq - this.#from]!;
  }

  text(seq: number): string {
    return utf8.decode(this.body(seq));
  }

  /** Resolves when this position was read. */
  reached(seq: number): Promise<void> {
    if (seq < this.next) return Promise.resolve();
    return new Promise((reached) => void this.#awaited.add({ seq, reached }));
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
        for (const awaited of this.#awaited) {
          if (awaited.seq > seq) continue;
          this.#awaited.delete(awaited);
          awaited.reached();
        }
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
