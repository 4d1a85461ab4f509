/**
 * One LMDB environment: a file with its own writer lock, opened by any number of threads and processes.
 *
 * Every change goes through a transaction: its writes become visible together or not at all. A commit
 * survives the death of the process at once and the loss of power after `flush()`.
 * A full disk rejects with `Failure('storage_full')`; committed data stays intact, and the guard keeps
 * lmdb-js away from the disk until it takes writes again (space-guard.ts).
 * Where a log decides what is committed, transactions are only tried here, and `applyWrites` commits what the log has
 * (replicated-transactions.ts).
 */
import { existsSync, mkdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ABORT, open, type Database, type RootDatabase } from 'lmdb';
import { Failure } from '../model/failure.ts';
import { Signal } from '../model/signal.ts';
import { createCodec } from './codec.ts';
import { DamageLog } from './damage.ts';
import {
  CheckedTable,
  type Checking,
  EmptyTable,
  SetTable,
  type TableUpgrade,
} from './checked-table.ts';
import type { AuditedSlice, AuditedTable } from './audit.ts';
import { fileError } from './data-file-error.ts';
import { maxDbs } from './kept-environment.ts';
import { type BatchRun, ReplicatedTransactions, type Work } from './replicated-transactions.ts';
import { ReplicatedWrites } from './replicated-writes.ts';
import type { Replicator, StoredWrite } from './replication.ts';
import { fullDisk, isRefusedWrite, SpaceGuard, WriteProbe } from './space-guard.ts';
import type { KeyEncoding, Table, TableEncodings, TableKey, ValueTable } from './table.ts';

export type { Range, Table, TableKey, ValueInPlace, ValueTable, ValueWalk } from './table.ts';

/**
 * lmdb's TransactionFlags ABORTABLE (undo the writes when the work throws) and NO_SYNC_FLUSH (commit
 * without waiting for the disk); its enum has no value at run time.
 */
const abortableWithoutFlush: number = 0x1 | 0x10000;

export interface EnvironmentStats {
  /** Bytes of the data file in use (pages that were ever allocated). */
  readonly bytes: number;
}

/** Bytes as they are; those that are read stand in a buffer of lmdb-js that its next read overwrites. */
const plainBytes = {
  encode: (bytes: Uint8Array): Uint8Array => bytes,
  decode: (bytes: Uint8Array): Uint8Array => bytes,
};

/**
 * `create` makes the data file, with its folder, where it is missing; `existing` fails there. `read` makes no table
 * either: one that is not there yet reads as empty.
 */
export type OpenMode = 'create' | 'existing' | 'read';

export class StoreEnvironment {
  readonly #root: RootDatabase;
  readonly #probe: WriteProbe;
  readonly #guard: SpaceGuard;
  #isBatchWatched = false;
  readonly path: string;
  readonly #checking: Checking;
  readonly #upgrades = new Map<string, () => TableUpgrade>();
  readonly #mode: OpenMode;
  readonly #tables: AuditedTable[] = [];
  readonly #writes = new ReplicatedWrites();
  #replicated: ReplicatedTransactions | undefined;
  #wasRefused = false;
  /** What a change is refused with, while this process may write nothing. */
  #held: (() => Failure) | undefined;
  /** Transactions of `transaction` that have not ended. */
  #underWay = 0;
  #onEnded: (() => void) | undefined;
  /** Fired after each commit of this thread until `close`: one under way ends later, when nothing can be read. */
  readonly committed = new Signal();
  /** Fired when the system or LMDB refused a commit of this thread. */
  readonly refused = new Signal();

  /** @throws Error when the data file is missing, and not to be created; naming the file where LMDB cannot open it */
  constructor(path: string, mode: OpenMode = 'existing') {
    if (mode === 'create') mkdirSync(dirname(path), { recursive: true });
    else if (!existsSync(path)) {
      throw new Error(`Cannot open ${path}: it does not exist, expected a data file`);
    }
    this.path = path;
    this.#mode = mode;
    this.#probe = new WriteProbe(path);
    this.#guard = new SpaceGuard(() => this.#probe.takesWrites());
    this.#checking = { isComplete: false, damage: new DamageLog(basename(path)) };
    try {
      this.#root = open({ path, noSubdir: true, maxDbs, noMemInit: false });
    } catch (error) {
      throw fileError(path, error);
    }
  }

  /** Damaged records that this thread has come upon. */
  get damage(): DamageLog {
    return this.#checking.damage;
  }

  /** Every record has a checksum: one without is damaged. */
  get hasChecksums(): boolean {
    return this.#checking.isComplete;
  }

  /** From here on a record without a checksum is damaged. */
  requireChecksums(): void {
    this.#checking.isComplete = true;
  }

  /** What gives the records of each table their checksums, by the table's name; those that were opened so far. */
  get upgrades(): ReadonlyMap<string, () => TableUpgrade> {
    return this.#upgrades;
  }

  /** A table whose values have checksums. */
  table<K extends TableKey, V>(name: string, encodings: TableEncodings = {}): ValueTable<K, V> {
    if (this.#isMissing(name)) return new EmptyTable();
    const table = new CheckedTable<K, V>(this.#openDatabase(name, encodings.key), {
      name,
      codec: createCodec<V>(encodings.value ?? 'msgpack'),
      checking: this.#checking,
      writes: this.#writes,
      plainKeys: new Set<TableKey>(encodings.plainKeys),
      uncheckedBytes: encodings.uncheckedBytes,
      onFailedRead: () => this.refresh(),
    });
    this.#upgrades.set(name, () => table.upgrade());
    if (encodings.isDerived !== true) this.#tables.push(table);
    this.#writes.add(table);
    return table;
  }

  /** A table whose keys are all it says: its values read as 1, and need no checksum. */
  set<K extends TableKey>(name: string, key?: KeyEncoding): Table<K, 1> {
    if (this.#isMissing(name)) return new EmptyTable();
    const table = new SetTable(name, this.#openDatabase<K>(name, key), this.#writes);
    this.#tables.push(table);
    this.#writes.add(table);
    return table;
  }

  #isMissing(name: string): boolean {
    return this.#mode === 'read' && !this.hasTable(name);
  }

  /**
   * Reads every record of every table that is open, some thousands a slice; damaged ones are noted in `damage`. Tables that
   * are made of others are left out. A running service may write meanwhile.
   */
  *audit(): Generator<AuditedSlice> {
    for (const table of this.#tables) yield* table.audit();
  }

  #openDatabase<K extends TableKey>(
    name: string,
    keyEncoding: KeyEncoding = 'ordered-binary',
  ): Database<Uint8Array, K> {
    // The types of lmdb-js do not know `encoder`.
    const options = { name, keyEncoding, encoder: plainBytes };
    return this.#root.openDB<Uint8Array, K>(options);
  }

  /** Removes all records of a table but some, which stay as they are, damaged or not. Inside a transaction. */
  clear(name: string, kept: readonly TableKey[] = []): void {
    this.#assertSingle('clear a table');
    const database = this.#openDatabase<TableKey>(name);
    const records = kept.flatMap((key) => {
      const bytes = database.get(key);
      return bytes === undefined
        ? []
        : [{ key, bytes: Buffer.concat([bytes.subarray(0, bytes.length)]) }];
    });
    database.clearSync();
    for (const { key, bytes } of records) database.putSync(key, bytes);
  }

  /** Whether a table was ever made, in any process. */
  hasTable(name: string): boolean {
    return [...this.#root.getKeys()].includes(name);
  }

  /**
   * Runs `work` in a write transaction, batched with others that wait; resolves once committed.
   * `work` is synchronous and must not touch anything but this environment before it returns.
   * A child transaction within the batch: what throws is undone, others of the batch stand. It costs 2 to 3 us, and a
   * damaged record that is met after the first write leaves nothing half done.
   * @throws Failure storage_full, overloaded; of a replicated environment also not_active
   */
  async transaction<T>(work: () => T): Promise<T> {
    this.#check();
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
      if (this.#underWay === 0) this.#onEnded?.();
    }
  }

  /**
   * From here on a log decides what is committed. A transaction runs on the data as it is and is undone; its writes go
   * to the replicator, which applies them when they are in the log, and then its promise resolves.
   * @throws Error while transactions are under way
   */
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
   * Commits writes of the log, byte for byte, in one transaction with `also`, which may write more. Resolves once
   * committed: this thread reads it then. Several at once are committed in the order of the calls, with one flush; one
   * that fails does not keep the next from being committed.
   * @throws what `also` threw; Failure storage_full; Error naming a table that is not open: nothing of it was done
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

  /**
   * This process writes nothing more here, until `release`: another one does. What comes meanwhile is refused, and so is
   * what a replicated environment has not begun. Resolves when what is under way has ended.
   */
  async hold(refusal = heldFailure): Promise<void> {
    this.#held = refusal;
    this.#replicated?.refuse(refusal());
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      this.#onEnded = resolve;
    });
    this.#onEnded = undefined;
  }

  release(): void {
    this.#held = undefined;
  }

  /** Runs `work` while no thread and no process commits here; it writes nothing itself. */
  holdWriters(work: () => void): void {
    const holding = (): unknown => {
      work();
      return ABORT;
    };
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment
    this.#root.transactionSync(holding, abortableWithoutFlush);
  }

  #check(): void {
    if (this.#held !== undefined) throw this.#held();
    this.#guard.check();
  }

  /** A child of the cycle's batch. Waiting for the writer's lock and for the disk is not this thread's. */
  #begin<T>(work: () => T): Promise<T> {
    const committed = this.#root.childTransaction(work);
    this.#watchBatch();
    return committed;
  }

  /**
   * lmdb-js opens a batch in each cycle of the event loop that has a transaction, and closes it in an immediate of
   * its own, queued before ours; the batch has a promise that rejects beside those of its members.
   */
  #watchBatch(): void {
    if (this.#isBatchWatched) return;
    this.#isBatchWatched = true;
    setImmediate(() => {
      this.#isBatchWatched = false;
      this.#root.committed.then(ignore, ignore);
    });
  }

  /** `transaction`, on this thread, now: for threads whose only work is to write. Not where it is replicated. */
  transactionSync<T>(work: () => T): T {
    this.#assertSingle('commit at once');
    this.#check();
    try {
      // oxlint-disable-next-line typescript/no-unsafe-enum-assignment
      const result = this.#root.transactionSync(work, abortableWithoutFlush);
      this.committed.fire();
      return result;
    } catch (error) {
      throw this.#refusal(error);
    }
  }

  /** What a caller gets for an error of lmdb-js. */
  #refusal(error: unknown): unknown {
    if (!isRefusedWrite(error)) return fileError(this.path, error);
    this.#guard.trip();
    this.#wasRefused = true;
    this.refused.fire();
    return fullDisk();
  }

  /** No write is possible now; asking may try one, so that space which came back is seen. */
  get isFull(): boolean {
    return this.#guard.isFull;
  }

  /** LMDB refuses the file to this process for good, because a meta page could not be written (MDB_PANIC). */
  get isLost(): boolean {
    try {
      this.refresh();
      this.#root.doesExist('no table');
      return false;
    } catch (error) {
      return error instanceof Error && error.message.includes('MDB_PANIC');
    }
  }

  /** Resolves when everything committed so far has reached the disk. */
  async flush(): Promise<void> {
    await this.#root.flushed;
  }

  /**
   * Keeps the pages of this moment's snapshot as they are, also those that writers no longer need, so that the file
   * may grow. @returns lets them go
   */
  holdSnapshot(): () => void {
    this.refresh();
    const transaction = this.#root.useReadTransaction();
    return () => transaction.done();
  }

  /** Makes the next read of this thread see the newest commit of other threads and processes. */
  refresh(): void {
    this.#root.resetReadTxn();
  }

  stats(): EnvironmentStats {
    const stats = this.#root.getStats() as {
      mapSize?: number;
      lastPageNumber?: number;
      pageSize?: number;
    };
    return { bytes: (stats.lastPageNumber ?? 0) * (stats.pageSize ?? 4_096) };
  }

  /**
   * Of a replicated environment, what waits is refused with `not_active`; what is being written to the log is answered as
   * the log decides. Its owner ends the replicator first.
   */
  async close(): Promise<void> {
    this.committed.end();
    this.#replicated?.close();
    const closed = this.#root.close();
    await (this.#wasRefused ? Promise.race([closed, pause(refusedCloseMsMax)]) : closed);
    this.#probe.close();
  }
}

/**
 * After a refused commit. lmdb-js closes when every commit is flushed, and one that the disk refused never is: nothing
 * would keep the process alive, which ended with 0 before it had said what is lost.
 */
const refusedCloseMsMax = 1_000;

const heldFailure = (): Failure =>
  new Failure('overloaded', 'Cannot change anything now: another process is taking over', {
    retryAfterSeconds: 1,
  });

const ignore = (): void => undefined;
