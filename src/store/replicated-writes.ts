/**
 * What tables write. Of a replicated environment: in a trial, whose writes are kept for the log and undone in the file,
 * or as the log says. Any other write would put that file ahead of the log: it throws.
 */
import type { BatchRun, Outcome, Work } from './replicated-transactions.ts';
import type { StoredWrite } from './replication.ts';
import type { TableKey } from './table.ts';

/** Bytes of a batch, after which it takes no more works; its last work may exceed them. */
const batchBytesMax = 524_288;
/** Bytes that a write counts beside its value: most keys are shorter. */
const keyBytes = 32;

/** A table, as bytes are written into it. */
export interface WrittenTable<K extends TableKey = TableKey> {
  readonly name: string;
  /** @param bytes as they are stored, checksum included; undefined removes the record */
  write(key: K, bytes: Uint8Array | undefined): void;
  /** The record was written or removed, for good. */
  mended(key: K): void;
}

export class ReplicatedWrites {
  readonly #tables = new Map<string, WrittenTable>();
  #stage: 'closed' | 'trial' | 'applying' = 'closed';
  #writes: StoredWrite[] = [];
  #bytes = 0;
  /** A log decides what is written. */
  isReplicated = false;

  /** `apply` knows it from here on. */
  add<K extends TableKey>(table: WrittenTable<K>): void {
    this.#tables.set(table.name, table);
  }

  /** @throws Error where it is replicated, outside a transaction */
  write<K extends TableKey>(table: WrittenTable<K>, key: K, bytes?: Uint8Array): void {
    if (this.isReplicated && this.#stage === 'closed') {
      throw new Error(`Cannot write to ${table.name}: no transaction runs, expected one`);
    }
    table.write(key, bytes);
    if (this.#stage !== 'trial') return table.mended(key);
    // The encoder uses its buffer again, and the caller its key.
    const copied = copyOf(key);
    this.#writes.push(
      bytes === undefined ? [table.name, copied] : [table.name, copied, Buffer.from(bytes)],
    );
    this.#bytes += keyBytes + (bytes?.length ?? 0);
  }

  /**
   * Runs works until they have written `batchBytesMax`. Inside a transaction that the caller then aborts.
   * @param asChild runs it, and undoes it when it throws
   */
  try(works: readonly Work[], asChild: (work: Work) => void): BatchRun {
    const outcomes: Outcome[] = [];
    this.#begin('trial');
    try {
      for (const work of works) {
        if (this.#bytes >= batchBytesMax) break;
        outcomes.push(this.#outcome(work, asChild));
      }
      return { outcomes, writes: this.#writes };
    } finally {
      this.#end();
    }
  }

  #outcome(work: Work, asChild: (work: Work) => void): Outcome {
    const [count, bytes] = [this.#writes.length, this.#bytes];
    try {
      let value: unknown;
      asChild(() => {
        value = work();
        if (isThenable(value)) {
          throw new Error(
            'Cannot run a transaction: its work returned a promise, expected a value',
          );
        }
      });
      return { value };
    } catch (error) {
      this.#writes.length = count;
      this.#bytes = bytes;
      return { error };
    }
  }

  /** Inside a transaction, which is undone when this throws. @throws Error naming a table that is not open */
  apply(writes: readonly StoredWrite[], also: () => void): void {
    this.#begin('applying');
    try {
      for (const [name, key, bytes] of writes) {
        const table = this.#tables.get(name);
        if (table === undefined) {
          throw new Error(`Cannot apply writes: there is no table ${name}, expected it open`);
        }
        this.write(table, key, bytes);
      }
      also();
    } finally {
      this.#end();
    }
  }

  #begin(stage: 'trial' | 'applying'): void {
    if (this.#stage !== 'closed') throw new Error('Cannot apply writes: within a transaction');
    this.#stage = stage;
  }

  #end(): void {
    this.#stage = 'closed';
    this.#writes = [];
    this.#bytes = 0;
  }
}

const isThenable = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'then' in value &&
  typeof value.then === 'function';

function copyOf(key: TableKey): TableKey {
  if (key instanceof Uint8Array) return Buffer.from(key);
  return Array.isArray(key) ? key.map(copyOf) : key;
}
