/**
 * One LMDB environment: a file with its own writer lock, opened by any number of threads and processes.
 *
 * A transaction's writes become visible together or not at all. A commit survives the death of the process at once, a
 * power loss after `flush()`. A full disk rejects with `storage_full` (space-guard.ts). If a log decides what is
 * committed, transactions run on trial, and `applyWrites` commits the log's writes (replicated-transactions.ts).
 */
import { existsSync, mkdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ABORT, open, type Database, type RootDatabase } from 'lmdb';
import { Signal } from '../model/signal.ts';
import { createCodec } from './codec.ts';
import { DamageLog, fileError } from './damage.ts';
import { CheckedTable, noRecords, type RecordStore } from './checked-table.ts';
import type {
  AuditedSlice,
  KeyEncoding,
  Table,
  TableEncodings,
  TableKey,
  ValueTable,
} from './table.ts';
import {
  type BatchRun,
  ReplicatedTransactions,
  type Replicator,
  type StoredWrite,
  type Work,
} from './replicated-transactions.ts';
import { ReplicatedWrites } from './replicated-writes.ts';
import { fullDisk, isRefusedWrite, SpaceGuard, WriteProbe } from './space-guard.ts';

export type { Range, Table, TableKey, ValueInPlace, ValueTable } from './table.ts';

/** lmdb's TransactionFlags ABORTABLE and NO_SYNC_FLUSH; its enum has no value at run time. */
const abortableWithoutFlush: number = 0x1 | 0x10000;

/** Passes bytes through. lmdb-js reads into one buffer, which its next read overwrites. */
const plainBytes = {
  encode: (bytes: Uint8Array): Uint8Array => bytes,
  decode: (bytes: Uint8Array): Uint8Array => bytes,
};

/** `create` makes a missing file and its folder; in `read` a missing table reads as empty and is not created. */
export type OpenMode = 'create' | 'existing' | 'read';

export class StoreEnvironment {
  readonly #root: RootDatabase;
  readonly #probe: WriteProbe;
  readonly #guard: SpaceGuard;
  #isBatchWatched = false;
  readonly path: string;
  readonly damage: DamageLog;
  readonly #mode: OpenMode;
  readonly #tables: Array<{ audit(): Generator<AuditedSlice> }> = [];
  readonly #writes = new ReplicatedWrites();
  #replicated: ReplicatedTransactions | undefined;
  #wasRefused = false;
  #underWay = 0;
  /** Fired after each commit of this thread until `close`: a commit that ends later cannot be read. */
  readonly committed = new Signal();
  /** Fired when the system or LMDB refuses a commit of this thread. */
  readonly refused = new Signal();

  /** @throws Error if the data file is missing in a mode that does not create it, or if LMDB cannot open it */
  constructor(path: string, mode: OpenMode = 'existing') {
    if (mode === 'create') mkdirSync(dirname(path), { recursive: true });
    else if (!existsSync(path)) {
      throw new Error(`Cannot open ${path}: it does not exist, expected a data file`);
    }
    this.path = path;
    this.#mode = mode;
    this.#probe = new WriteProbe(path);
    this.#guard = new SpaceGuard(() => this.#probe.takesWrites());
    this.damage = new DamageLog(basename(path));
    try {
      this.#root = open({ path, noSubdir: true, maxDbs, noMemInit: false });
    } catch (error) {
      throw fileError(path, error);
    }
  }

  table<K extends TableKey, V>(name: string, encodings: TableEncodings = {}): ValueTable<K, V> {
    const table = new CheckedTable<K, V>(this.#recordsOf(name, encodings.key), {
      name,
      codec: createCodec<V>(encodings.value ?? 'msgpack'),
      damage: this.damage,
      writes: this.#writes,
      onFailedRead: () => this.refresh(),
    });
    this.#tables.push(table);
    this.#writes.add(table);
    return table;
  }

  /** A table of keys, each of which reads as 1. */
  set<K extends TableKey>(name: string, key: KeyEncoding = 'ordered-binary'): Table<K, 1> {
    return this.table(name, { key, value: 'present' });
  }

  #recordsOf<K extends TableKey>(name: string, key?: KeyEncoding): RecordStore<K> {
    const isMissing = this.#mode === 'read' && !this.hasTable(name);
    return isMissing ? noRecords : this.#openDatabase(name, key);
  }

  /** Reads every record of every open table and notes damaged ones in `damage`. */
  *audit(): Generator<AuditedSlice> {
    for (const table of this.#tables) yield* table.audit();
  }

  #openDatabase<K extends TableKey>(
    name: string,
    keyEncoding: KeyEncoding = 'ordered-binary',
  ): Database<Uint8Array, K> {
    const options = { name, keyEncoding, encoder: plainBytes };
    return this.#root.openDB<Uint8Array, K>(options);
  }

  /** Removes all records of a table. Inside a transaction. */
  clear(name: string): void {
    this.#assertSingle('clear a table');
    this.#openDatabase<TableKey>(name).clearSync();
  }

  hasTable(name: string): boolean {
    return [...this.#root.getKeys()].includes(name);
  }

  /**
   * Runs `work`, which is synchronous, in a write transaction; resolves once committed. It is undone alone if it throws.
   * @throws Failure storage_full; in a replicated environment also not_active, overloaded
   */
  async transaction<T>(work: () => T): Promise<T> {
    this.#guard.check();
    this.#underWay += 1;
    try {
      if (this.#replicated !== undefined) return await this.#replicated.add(work);
      const result = await this.#begin(work);
      this.committed.fire();
      return result;
    } catch (error) {
      throw this.#refusal(error);
    } finally {
      this.#underWay -= 1;
    }
  }

  /** From now on a log decides what is committed. @throws Error while transactions are running */
  replicateWith(replicator: Replicator): void {
    this.#assertSingle('replicate twice');
    if (this.#underWay > 0) throw new Error(`Cannot replicate ${this.path}: it is written`);
    const run = async (works: readonly Work[]): Promise<BatchRun> => await this.#try(works);
    this.#replicated = new ReplicatedTransactions({ run, replicator });
    this.#writes.isReplicated = true;
  }

  #assertSingle(action: string): void {
    if (this.#replicated === undefined) return;
    throw new Error(`Cannot ${action}: ${this.path} is replicated`);
  }

  async #try(works: readonly Work[]): Promise<BatchRun> {
    this.#guard.check();
    let run!: BatchRun;
    await this.#begin(() => {
      run = this.#writes.try(works, (work) => void this.#root.childTransaction(work));
      return ABORT;
    });
    return run;
  }

  /**
   * Commits the log's writes in one transaction with `also`; resolves when this thread can read them. Concurrent calls
   * commit in call order; a failed call does not stop the next one.
   * @throws what `also` threw; Failure storage_full; Error naming a table that is not open, without any write
   */
  async applyWrites(writes: readonly StoredWrite[], also: () => void): Promise<void> {
    this.#guard.check();
    try {
      await this.#begin(() => this.#writes.apply(writes, also));
      this.committed.fire();
    } catch (error) {
      throw this.#refusal(error);
    }
  }

  /** A child of the batch of this event loop cycle. Another thread waits for the writer's lock and the disk. */
  #begin<T>(work: () => T): Promise<T> {
    const committed = this.#root.childTransaction(work);
    this.#watchBatch();
    return committed;
  }

  /** The promise of lmdb-js's batch rejects too and needs a handler. An earlier immediate closes the batch. */
  #watchBatch(): void {
    if (this.#isBatchWatched) return;
    this.#isBatchWatched = true;
    setImmediate(() => {
      this.#isBatchWatched = false;
      this.#root.committed.then(ignore, ignore);
    });
  }

  /** Runs a transaction on this thread at once: for threads that only write. Not in a replicated environment. */
  transactionSync<T>(work: () => T): T {
    this.#assertSingle('commit at once');
    this.#guard.check();
    try {
      // oxlint-disable-next-line typescript/no-unsafe-enum-assignment
      const result = this.#root.transactionSync(work, abortableWithoutFlush);
      this.committed.fire();
      return result;
    } catch (error) {
      throw this.#refusal(error);
    }
  }

  #refusal(error: unknown): unknown {
    if (!isRefusedWrite(error)) return fileError(this.path, error);
    this.#guard.trip();
    this.#wasRefused = true;
    this.refused.fire();
    return fullDisk();
  }

  /** Reading this may probe the disk. */
  get isFull(): boolean {
    return this.#guard.isFull;
  }

  /** LMDB refuses this file until the process restarts: a meta page could not be written (MDB_PANIC). */
  get isLost(): boolean {
    try {
      this.refresh();
      this.#root.doesExist('no table');
      return false;
    } catch (error) {
      return error instanceof Error && error.message.includes('MDB_PANIC');
    }
  }

  /** Resolves when all commits so far have reached the disk. */
  async flush(): Promise<void> {
    await this.#root.flushed;
  }

  /** Preserves the current snapshot's pages, so the file may grow. @returns releases them */
  holdSnapshot(): () => void {
    this.refresh();
    const transaction = this.#root.useReadTransaction();
    return () => transaction.done();
  }

  /** The next read of this thread sees the newest commit of other threads and processes. */
  refresh(): void {
    this.#root.resetReadTxn();
  }

  /** @returns bytes of all pages that were ever allocated */
  stats(): { readonly bytes: number } {
    const stats = this.#root.getStats() as { lastPageNumber?: number; pageSize?: number };
    return { bytes: (stats.lastPageNumber ?? 0) * (stats.pageSize ?? 4_096) };
  }

  /** Waiting replicated transactions fail with `not_active`. The owner ends the replicator first. */
  async close(): Promise<void> {
    this.committed.end();
    this.#replicated?.close();
    const closed = this.#root.close();
    await (this.#wasRefused ? Promise.race([closed, pause(refusedCloseMsMax)]) : closed);
    this.#probe.close();
  }
}

/** Opens a data file while `work` runs. */
export async function withEnvironment<T>(
  path: string,
  mode: OpenMode,
  work: (environment: StoreEnvironment) => T | Promise<T>,
): Promise<T> {
  const environment = new StoreEnvironment(path, mode);
  try {
    return await work(environment);
  } finally {
    await environment.close();
  }
}

/** Tables that a process may open in one file: management.mdb has 92. Each takes 61 bytes in each transaction. */
const maxDbs = 112;
/** After a refused commit the `close` of lmdb-js never ends, and the process would exit before it reports what is lost. */
const refusedCloseMsMax = 1_000;

const ignore = (): void => undefined;
