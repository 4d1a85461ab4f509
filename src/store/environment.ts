/**
 * One LMDB environment: a file with its own writer lock, opened by any number of threads and processes.
 *
 * Every change goes through a transaction: its writes become visible together or not at all. A commit
 * survives the death of the process at once and the loss of power after `flush()`.
 * A full disk rejects with `Failure('storage_full')`; committed data stays intact, and the guard keeps
 * lmdb-js away from the disk until it takes writes again (space-guard.ts). lmdb-js fires an extra
 * rejection per failed commit, `commitError`, which is silenced here and nowhere else.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { open, type Database, type Key, type RootDatabase } from 'lmdb';
import { Failure } from '../model/failure.ts';
import { Signal } from '../model/signal.ts';
import { fullDisk, SpaceGuard, WriteProbe } from './space-guard.ts';

/**
 * lmdb's TransactionFlags ABORTABLE (undo the writes when the work throws) and NO_SYNC_FLUSH (commit
 * without waiting for the disk); its enum has no value at run time.
 */
const abortableWithoutFlush: number = 0x1 | 0x10000;

export type TableKey = Key;
export type KeyEncoding = 'ordered-binary' | 'uint32' | 'binary';
export type ValueEncoding = 'msgpack' | 'binary' | 'string' | 'ordered-binary';

/** `start` included, `end` excluded; with `reverse` the walk goes from `start` down to above `end`. */
export interface Range<K> {
  readonly start?: K;
  readonly end?: K;
  readonly reverse?: boolean;
  readonly limit?: number;
  readonly offset?: number;
}

/** A named table. `put` and `remove` are only lawful inside a transaction of its environment. */
export interface Table<K extends TableKey, V> {
  get(key: K): V | undefined;
  has(key: K): boolean;
  put(key: K, value: V): void;
  remove(key: K): void;
  range(range: Range<K>): Iterable<{ key: K; value: V }>;
  keys(range: Range<K>): Iterable<K>;
  count(range: Range<K>): number;
}

export interface EnvironmentStats {
  /** Bytes of the data file in use (pages that were ever allocated). */
  readonly bytes: number;
}

export class StoreEnvironment {
  readonly #root: RootDatabase;
  readonly #probe: WriteProbe;
  readonly #guard: SpaceGuard;
  #isBatchWatched = false;
  readonly path: string;
  /** Fired after each commit of this thread. */
  readonly committed = new Signal();

  /** @param path the data file, created with its folder when absent */
  constructor(path: string) {
    mkdirSync(dirname(path), { recursive: true });
    this.path = path;
    this.#probe = new WriteProbe(path);
    this.#guard = new SpaceGuard(() => this.#probe.takesWrites());
    this.#root = open({ path, noSubdir: true, maxDbs: 64, noMemInit: false });
  }

  table<K extends TableKey, V>(
    name: string,
    encodings: { readonly key?: KeyEncoding; readonly value?: ValueEncoding } = {},
  ): Table<K, V> {
    const database = this.#root.openDB<V, K>({
      name,
      keyEncoding: encodings.key ?? 'ordered-binary',
      encoding: encodings.value ?? 'msgpack',
    });
    return new LmdbTable(database);
  }

  /** Whether a table was ever made, in any process. */
  hasTable(name: string): boolean {
    return [...this.#root.getKeys()].includes(name);
  }

  /**
   * Runs `work` in a write transaction, batched with others that wait; resolves once committed.
   * `work` is synchronous and must not touch anything but this environment before it returns.
   * It may throw only before its first write: lmdb-js does not undo a member of a batch.
   */
  async transaction<T>(work: () => T): Promise<T> {
    this.#guard.check();
    try {
      const committed = this.#root.transaction(work);
      this.#watchBatch();
      const result = await committed;
      this.committed.fire();
      return result;
    } catch (error) {
      throw this.#refusal(error);
    }
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

  /** The same, on this thread, now: for threads whose only work is to write. */
  transactionSync<T>(work: () => T): T {
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

  /** What a caller gets for an error of lmdb-js. */
  #refusal(error: unknown): unknown {
    if (!isRefusedWrite(error)) return error;
    this.#guard.trip();
    return fullDisk();
  }

  /** No write is possible now; asking may try one, so that space which came back is seen. */
  get isFull(): boolean {
    return this.#guard.isFull;
  }

  /** Resolves when everything committed so far has reached the disk. */
  async flush(): Promise<void> {
    await this.#root.flushed;
  }

  /** Copies a snapshot to a new file beside running writers; never compacting, which can corrupt. */
  async copyTo(path: string): Promise<void> {
    await this.#root.backup(path, false);
    await keepNewest(path);
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

  async close(): Promise<void> {
    await this.#root.close();
    this.#probe.close();
  }
}

/**
 * Makes the newest transaction of a copied file the one that every machine opens.
 *
 * A commit that the disk has not confirmed stands only until the machine boots again: lmdb-js compares the boot's
 * id in the file, and goes back to the newest confirmed commit. A copy has the same marks, so on another machine
 * it went back to commits whose pages the writer may have used again while it was copied. One more commit,
 * confirmed and without content, makes the copied ones stand.
 */
export async function keepNewest(path: string): Promise<void> {
  const root = open({ path, noSubdir: true, overlappingSync: false });
  try {
    root.transactionSync(() => {
      root.putSync(emptyName, 0);
      root.removeSync(emptyName);
    });
  } finally {
    await root.close();
    rmSync(`${path}-lock`, { force: true });
  }
}

/** No table has it. */
const emptyName = 'copied';

class LmdbTable<K extends TableKey, V> implements Table<K, V> {
  readonly #database: Database<V, K>;

  constructor(database: Database<V, K>) {
    this.#database = database;
  }
  get(key: K): V | undefined {
    return this.#database.get(key);
  }
  has(key: K): boolean {
    return this.#database.doesExist(key);
  }
  put(key: K, value: V): void {
    this.#database.putSync(key, value);
  }
  remove(key: K): void {
    this.#database.removeSync(key);
  }
  range(range: Range<K>): Iterable<{ key: K; value: V }> {
    return this.#database.getRange(range);
  }
  keys(range: Range<K>): Iterable<K> {
    return this.#database.getKeys(range);
  }
  count(range: Range<K>): number {
    return this.#database.getKeysCount(range);
  }
}

/**
 * Texts of a write that the system or LMDB refuses: no space (ENOSPC), over a limit or quota (EFBIG, EDQUOT),
 * a bad disk (EIO), the map's bound, and what LMDB says of a transaction in which one of these came before.
 */
const refusedWrite =
  /no space|ENOSPC|file too large|quota exceeded|Input\/output|MAP_FULL|BAD_TXN|PANIC|Commit failed/i;

function isRefusedWrite(error: unknown): boolean {
  if (error instanceof Failure) return false;
  const commitError: unknown =
    error instanceof Error && 'commitError' in error ? error.commitError : undefined;
  silence(commitError);
  const text = error instanceof Error ? error.message : String(error);
  return commitError !== undefined || refusedWrite.test(text);
}

const ignore = (): void => undefined;

/** The rejection that lmdb-js fires beside the one we answer: it must not become an unhandled one. */
function silence(commitError: unknown): void {
  if (commitError instanceof Promise) void commitError.catch(() => undefined);
}
