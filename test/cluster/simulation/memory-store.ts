/**
 * The disk of a simulated machine: one table of numbers, and the position in the log. What was not flushed when the power
 * fails is lost, from the newest transaction backwards, with the position that it had.
 */
import { emptyPosition, type LogPosition } from '../../../src/cluster/log/applier.ts';
import type { ReplicatedStore } from '../../../src/cluster/log/apply-queue.ts';
import {
  type BatchRun,
  type Outcome,
  ReplicatedTransactions,
  type Replicator,
  type StoredWrite,
  type Work,
} from '../../../src/store/replicated-transactions.ts';

interface Commit {
  /** Before it. */
  readonly position: LogPosition;
  /** What stood there before, in the order of the writes. */
  readonly before: ReadonlyArray<readonly [key: string, value: number | undefined]>;
}

/** Of a batch, as the environment bounds it by bytes. */
const batchWritesMax = 8;

/** Of one process: runs what is due while it lives, in the order of the calls. */
type Soon = (run: () => void) => void;

export class MemoryStore {
  #records = new Map<string, number>();
  #position = emptyPosition;
  /** Not flushed, the newest last. */
  #unflushed: Commit[] = [];
  /** Of the batch that runs. */
  #running: { writes: StoredWrite[]; values: Map<string, number | undefined> } | undefined;
  /** No transaction can be stored. */
  isFull = false;

  records(): ReadonlyMap<string, number> {
    return this.#records;
  }

  position(): LogPosition {
    return this.#position;
  }

  get(key: string): number | undefined {
    const values = this.#running?.values;
    return values?.has(key) === true ? values.get(key) : this.#records.get(key);
  }

  put(key: string, value: number): void {
    this.#running!.values.set(key, value);
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeDoubleLE(value);
    this.#running!.writes.push(['numbers', key, bytes]);
  }

  remove(key: string): void {
    this.#running!.values.set(key, undefined);
    this.#running!.writes.push(['numbers', key]);
  }

  /**
   * @param tried takes its time, between a trial and its end
   * @returns runs transactions of one process
   */
  replicateWith(replicator: Replicator, soon: Soon, tried: Soon): (work: Work) => Promise<unknown> {
    const run = async (works: readonly Work[]): Promise<BatchRun> => {
      const batch = this.#run(works);
      await new Promise<void>(tried);
      return batch;
    };
    const transactions = new ReplicatedTransactions({ run, replicator, soon });
    return (work) => transactions.add(work);
  }

  #run(works: readonly Work[]): BatchRun {
    const running = { writes: [] as StoredWrite[], values: new Map<string, number | undefined>() };
    this.#running = running;
    const outcomes: Outcome[] = [];
    for (const work of works) {
      if (running.writes.length >= batchWritesMax) break;
      const values = new Map(running.values);
      const written = running.writes.length;
      try {
        outcomes.push({ value: work() });
      } catch (error) {
        outcomes.push({ error });
        running.writes.length = written;
        running.values = values;
      }
    }
    this.#running = undefined;
    return { outcomes, writes: running.writes };
  }

  /** As one process has it. @param stored takes its time */
  replicated(stored: Soon): ReplicatedStore {
    return {
      position: () => this.#position,
      apply: (writes, position) =>
        new Promise((resolve, reject) => {
          stored(() => {
            try {
              this.#apply(writes, position);
              resolve();
            } catch (error) {
              reject(error);
            }
          });
        }),
    };
  }

  #apply(writes: readonly StoredWrite[], position: LogPosition): void {
    if (this.isFull) throw new Error('the disk is full');
    const before: Array<readonly [string, number | undefined]> = [];
    for (const [, key, bytes] of writes) {
      const name = String(key);
      before.push([name, this.#records.get(name)]);
      if (bytes === undefined) this.#records.delete(name);
      else this.#records.set(name, Buffer.from(bytes).readDoubleLE());
    }
    this.#unflushed.push({ before, position: this.#position });
    this.#position = position;
  }

  /** The machine is replaced. */
  empty(): void {
    this.#records = new Map();
    this.#position = emptyPosition;
    this.flush();
  }

  /** What was stored so far survives a loss of power. */
  flush(): void {
    this.#unflushed = [];
  }

  /** @param keep transactions that were not flushed, and are there all the same */
  loseUnflushed(keep: number): void {
    for (const { before, position } of this.#unflushed.splice(keep).toReversed()) {
      for (const [key, value] of before.toReversed()) {
        if (value === undefined) this.#records.delete(key);
        else this.#records.set(key, value);
      }
      this.#position = position;
    }
    this.flush();
  }
}
