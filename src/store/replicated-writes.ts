/**
 * Writes of tables. In a replicated environment only a trial, which is undone in the file, and the log may write. Any
 * other write would put the file ahead of the log: it throws.
 */
import type { BatchRun, Outcome, StoredWrite, Work } from './replicated-transactions.ts';
import type { TableKey } from './table.ts';

/** A batch takes no more works after these bytes; its last work may exceed them. */
const batchBytesMax = 524_288;
/** Bytes counted for a key; most are shorter. */
const keyBytes = 32;

export interface WrittenTable<K extends TableKey = TableKey> {
  readonly name: string;
  write(key: K, bytes: Uint8Array | undefined): void;
  /** The record was written or removed permanently. */
  repaired(key: K): void;
}

export class ReplicatedWrites {
  readonly #tables = new Map<string, WrittenTable>();
  #stage: 'closed' | 'trial' | 'applying' = 'closed';
  #writes: StoredWrite[] = [];
  #bytes = 0;
  /** A log decides what is committed. */
  isReplicated = false;

  add<K extends TableKey>(table: WrittenTable<K>): void {
    this.#tables.set(table.name, table);
  }

  /** @throws Error outside a transaction, if replicated */
  write<K extends TableKey>(table: WrittenTable<K>, key: K, bytes?: Uint8Array): void {
    if (this.isReplicated && this.#stage === 'closed') {
      throw new Error(`Cannot write to ${table.name}: no transaction runs, expected one`);
    }
    table.write(key, bytes);
    if (this.#stage !== 'trial') return table.repaired(key);
    // The encoder reuses its buffer, and the caller its key.
    const copied = copyOf(key);
    this.#writes.push(
      bytes === undefined ? [table.name, copied] : [table.name, copied, Buffer.from(bytes)],
    );
    this.#bytes += keyBytes + (bytes?.length ?? 0);
  }

  /** Runs works up to `batchBytesMax`, inside a transaction that the caller aborts. @param asChild can undo a work */
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

  /** Inside a transaction, which is undone if this throws. @throws Error naming a table that is not open */
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
