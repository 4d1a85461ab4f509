/** Every answer that a client got, and when; kept in the process that is never killed. */
import type { Outcome } from './core.ts';
import type { Write } from './messages.ts';

export interface Entry {
  readonly write: Write;
  /** `unknown`: not answered, and its core died or does not answer. */
  answer: Outcome['kind'];
  /** The number that the counter gave it; set for `done`. */
  value: number | undefined;
}

const faultsMax = 50;

export class Ledger {
  readonly entries: Entry[] = [];
  readonly faults: string[] = [];
  faultCount = 0;
  reads = 0;
  /** The highest number that any client was answered. */
  #answeredMax = 0;
  /** Milliseconds that answered writes took. */
  latencies: number[] = [];
  readonly #listeners = new Set<(epoch: number, atMs: number) => void>();

  /** What must not be. */
  fault(text: string): void {
    this.faultCount++;
    if (this.faults.length < faultsMax) this.faults.push(text);
  }

  get answeredMax(): number {
    return this.#answeredMax;
  }

  count(kind: Entry['answer']): number {
    return this.entries.filter(({ answer }) => answer === kind).length;
  }

  /** @returns takes down its answer */
  sent(write: Write): (outcome: Outcome) => void {
    const entry: Entry = { write, answer: 'unknown', value: undefined };
    this.entries.push(entry);
    const atLeast = this.#answeredMax;
    const sentMs = performance.now();
    return (outcome) => {
      entry.answer = outcome.kind;
      if (outcome.kind === 'failed') this.fault(`${write.name} failed: ${outcome.detail}`);
      if (outcome.kind !== 'done') return;
      const nowMs = performance.now();
      entry.value = outcome.value;
      this.latencies.push(nowMs - sentMs);
      this.#answered(`${write.name} was answered`, outcome.value, atLeast + 1);
      for (const listener of this.#listeners) listener(outcome.epoch, nowMs);
    };
  }

  /** @returns takes down its answer */
  asked(reader: string): (outcome: Outcome) => void {
    const atLeast = this.#answeredMax;
    return (outcome) => {
      if (outcome.kind === 'failed') this.fault(`a read of ${reader} failed: ${outcome.detail}`);
      if (outcome.kind !== 'done') return;
      this.reads++;
      // A reader has seen this number: none may see a lower one afterwards.
      this.#answered(`a read of ${reader} was answered`, outcome.value, atLeast);
    };
  }

  /** @param listener is told of each write that is done @returns ends it */
  listen(listener: (epoch: number, atMs: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #answered(what: string, value: number, atLeast: number): void {
    if (value < atLeast) this.fault(`${what} ${value}, and ${atLeast} was expected at least`);
    this.#answeredMax = Math.max(this.#answeredMax, value);
  }
}
