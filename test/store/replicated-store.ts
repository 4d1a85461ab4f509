/** An environment whose commits come from a log on this machine, and one that only replays it. */
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { Signal } from '../../src/model/signal.ts';
import { StoreEnvironment, type Table, type TableKey } from '../../src/store/environment.ts';
import type { Replicator, StoredWrite } from '../../src/store/replicated-transactions.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { temporaryFolder } from './temporary-management.ts';

export const notActive = (): Failure => new Failure('not_active', 'not now');

/** A log on one machine: keeps the batches as they came, and applies them; or says no. */
export class Log implements Replicator {
  readonly entries: Array<readonly StoredWrite[]> = [];
  readonly lapsed = new Signal();
  /** Before the entry is taken. */
  gate: () => Promise<void> | void = () => undefined;
  isActive = true;
  onCheck: () => void = () => undefined;
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
    store.environment.replicateWith(this);
  }

  check(): void {
    this.onCheck();
    if (!this.isActive) throw notActive();
  }

  lapse(): void {
    this.isActive = false;
    this.lapsed.fire();
  }

  /** No commit runs. */
  isIdle = true;

  async commit(writes: readonly StoredWrite[]): Promise<void> {
    this.isIdle = false;
    await this.gate();
    this.isIdle = true;
    this.entries.push(writes);
    await this.#store.replay(writes, this.entries.length);
  }
}

type AnyTable = Table<TableKey, unknown>;

/** Tables of every encoding. */
export class Store {
  readonly environment: StoreEnvironment;
  readonly tables: Record<'any' | 'numbers' | 'bytes' | 'texts' | 'set' | 'meta', AnyTable>;
  readonly #positions: Table<string, number>;

  constructor(path: string) {
    const environment = new StoreEnvironment(path, 'create');
    this.environment = environment;
    this.tables = {
      any: environment.table<TableKey, unknown>('any'),
      numbers: environment.table<TableKey, unknown>('numbers', { key: 'uint32', value: 'binary' }),
      bytes: environment.table<TableKey, unknown>('bytes', { key: 'binary' }),
      texts: environment.table<TableKey, unknown>('texts', { value: 'string' }),
      set: environment.set<TableKey>('set'),
      meta: environment.table<TableKey, unknown>('meta'),
    };
    this.#positions = environment.table('positions');
    onTestFinished(async () => await environment.close());
  }

  async replay(writes: readonly StoredWrite[], position: number): Promise<void> {
    await this.environment.applyWrites(writes, () => this.#positions.put('at', position));
  }

  get position(): number {
    return this.#positions.get('at') ?? 0;
  }
}

/** All records, as the file has them. */
async function recordsOf({ environment, tables }: Store): Promise<readonly string[]> {
  const file = new StoredBytes(environment.path);
  const records = file.tables.flatMap((name) =>
    file
      .records(name)
      .map(([key, bytes]) => `${name} ${key.toString('hex')} ${bytes.toString('hex')}`),
  );
  await file.close();
  return [...records, ...Array.from(tables.set.keys({}), nameOfKey)];
}

export function replicatedStore() {
  const folder = temporaryFolder();
  const store = new Store(join(folder, 'a.mdb'));
  return { store, log: new Log(store), replica: new Store(join(folder, 'b.mdb')) };
}

/** What a replica that replays the log has. */
export async function expectSameReplica(store: Store, log: Log, replica: Store): Promise<void> {
  await Promise.all(log.entries.map((writes, at) => replica.replay(writes, at + 1)));
  expect(replica.position).toBe(store.position);
  expect(await recordsOf(replica)).toEqual(await recordsOf(store));
}

export const nameOfKey = (key: TableKey): string =>
  key instanceof Uint8Array ? Buffer.from(key).toString('hex') : JSON.stringify(key);
