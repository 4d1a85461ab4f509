/**
 * Tables over lmdb-js: of values with checksums (checksum.ts), and sets.
 *
 * A value without a checksum is one of a release that wrote none, until all of the environment have theirs; from then
 * on it is damaged. A damaged record is refused, never read: what it says may be anything.
 */
import { crc32 } from 'node:zlib';
import type { Database } from 'lmdb';
import { dataDamaged, type Failure } from '../model/failure.ts';
import { type AuditedSlice, type AuditedTable, auditOf } from './audit.ts';
import type { Codec } from './codec.ts';
import type { DamageLog } from './damage.ts';
import { isDamagedFile } from './data-file-error.ts';
import {
  checksumBytes,
  checksumMark,
  hasChecksum,
  hasChecksumInPlace,
  keySeed,
  writeChecksum,
} from './checksum.ts';
import type { ReplicatedWrites, WrittenTable } from './replicated-writes.ts';
import type { Range, Table, TableKey, ValueInPlace, ValueTable, ValueWalk } from './table.ts';
import { PlacedValue } from './placed-value.ts';

/** Of an environment, for all its tables. */
export interface Checking {
  isComplete: boolean;
  readonly damage: DamageLog;
}

interface CheckedTableOptions<V> {
  readonly name: string;
  readonly codec: Codec<V>;
  readonly checking: Checking;
  readonly writes: ReplicatedWrites;
  readonly plainKeys: ReadonlySet<TableKey>;
  readonly uncheckedBytes: number | undefined;
  /** LMDB could not read on: its transaction reads nothing any more. */
  readonly onFailedRead: () => void;
}

const damaged = Symbol('damaged');

/** Records of one transaction of an upgrade: 2 ms, and those that it only reads: 1 ms. */
const upgradeSliceMax = 500;
const readSliceMax = 2_000;
/** Blocks of scans are large. */
const upgradeSliceBytes = 262_144;
const emptyHead = Buffer.alloc(checksumBytes);

/** One slice, inside a transaction. */
export type TableUpgrade = () => {
  /** How many records got their checksums, of how many that were read. */
  readonly records: number;
  readonly read: number;
  /** The table has no more. */
  readonly isEnd: boolean;
};

export class CheckedTable<K extends TableKey, V>
  implements ValueTable<K, V>, AuditedTable, WrittenTable<K>
{
  readonly name: string;
  readonly #database: Database<Uint8Array, K>;
  readonly #options: CheckedTableOptions<V>;
  readonly #codec: Codec<V>;
  readonly #seed: number;
  readonly #placed = new PlacedValue();

  constructor(database: Database<Uint8Array, K>, options: CheckedTableOptions<V>) {
    this.name = options.name;
    this.#database = database;
    this.#options = options;
    this.#codec = options.codec;
    this.#seed = crc32(options.name);
  }

  get(key: K): V | undefined;
  get<D>(key: K, instead: (key: K) => D): V | D | undefined;
  get<D>(key: K, instead?: (key: K) => D): V | D | undefined {
    const value = this.#read(key);
    if (value !== damaged) return value;
    if (instead === undefined) throw damagedRecord();
    return instead(key);
  }

  #read(key: K): V | undefined | typeof damaged {
    try {
      const bytes = this.#database.get(key);
      return bytes && this.#open(key, bytes);
    } catch (error) {
      return this.#failedRead(key, error);
    }
  }

  /** A page that leads to the record, or has it, is damaged. */
  #failedRead(key: TableKey, error: unknown): typeof damaged {
    if (!isDamagedFile(error)) throw error;
    this.#options.onFailedRead();
    // A page stays damaged until a backup is restored.
    this.#options.checking.damage.note(this.#options.name, key, () => false);
    return damaged;
  }

  has(key: K): boolean {
    return this.#database.doesExist(key);
  }

  put(key: K, value: V): void {
    const { plainKeys, writes } = this.#options;
    const bytes = this.#codec.encode(value);
    if (plainKeys.has(key)) return writes.write(this, key, bytes.subarray(checksumBytes));
    writeChecksum(bytes, this.#seedOf(key));
    writes.write(this, key, bytes);
  }

  remove(key: K): void {
    this.#options.writes.write(this, key);
  }

  write(key: K, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) this.#database.removeSync(key);
    else this.#database.putSync(key, bytes);
  }

  mended(key: K): void {
    this.#options.checking.damage.mended(this.name, key);
  }

  *range(range: Range<K>, onDamaged?: (key: K) => void): Iterable<{ key: K; value: V }> {
    for (const { key, value: bytes } of this.#walk(this.#database.getRange(range))) {
      const value = this.#open(key, bytes);
      if (value !== damaged) yield { key, value };
      else if (onDamaged === undefined) throw damagedRecord();
      else onDamaged(key);
    }
  }

  keys(range: Range<K>): Iterable<K> {
    return this.#walk(this.#database.getKeys(range));
  }

  /** @throws Failure data_damaged where a page is damaged: what follows it cannot be found */
  *#walk<T>(entries: Iterable<T>): Iterable<T> {
    const iterator = entries[Symbol.iterator]();
    try {
      for (let next = iterator.next(); next.done !== true; next = iterator.next()) yield next.value;
    } catch (error) {
      // Its cursor would keep the transaction, which reads nothing any more, in use.
      iterator.return?.();
      this.#failedRead('page', error);
      throw damagedRecord();
    } finally {
      iterator.return?.();
    }
  }

  count(range: Range<K>): number {
    return this.#database.getKeysCount(range);
  }

  eachInPlace(range: Range<K>, visit: (key: K, value: ValueInPlace) => boolean): void {
    const walk = this.walkInPlace(range);
    try {
      for (let key = walk.next(); key !== undefined; key = walk.next()) {
        if (!visit(key, walk.value)) break;
      }
    } finally {
      walk.close();
    }
  }

  walkInPlace(range: Range<K>): ValueWalk<K> {
    // Not by `#walk`: a generator costs a fifth of all that reading a small value does.
    const iterator = this.#database.getRange(range)[Symbol.iterator]();
    return {
      value: this.#placed,
      next: () => {
        const entry = this.#nextOf(iterator);
        if (entry.done === true) return undefined;
        this.#placed.at(entry.value.value);
        return entry.value.key;
      },
      close: () => void iterator.return?.(),
    };
  }

  #nextOf<T>(iterator: Iterator<T>): IteratorResult<T> {
    try {
      return iterator.next();
    } catch (error) {
      // Its cursor would keep the transaction, which reads nothing any more, in use.
      iterator.return?.();
      this.#failedRead('page', error);
      throw damagedRecord();
    }
  }

  getInPlace(key: K): ValueInPlace | undefined {
    try {
      const bytes = this.#database.get(key);
      return bytes && this.#placed.at(bytes);
    } catch (error) {
      this.#failedRead(key, error);
      throw damagedRecord();
    }
  }

  isSound(key: K, value: ValueInPlace): boolean {
    const isKnown =
      value.start === checksumBytes
        ? hasChecksumInPlace(value, this.#seedOf(key))
        : this.#mayBeOlder(key, value.bytes[0], value.end);
    if (!isKnown) this.#noteDamage(key);
    return isKnown;
  }

  /** Gives the records of an older release their checksums, slice by slice. */
  upgrade(): TableUpgrade {
    let after: K | undefined;
    return () => {
      const { older, last, read, isEnd } = this.#olderAfter(after);
      for (const { key, bytes } of older) {
        writeChecksum(bytes, this.#seedOf(key));
        this.#options.writes.write(this, key, bytes);
      }
      after = last;
      return { records: older.length, read, isEnd };
    };
  }

  /** Copies of them: a put would move what the walk stands on. */
  #olderAfter(after: K | undefined) {
    const older: Array<{ readonly key: K; readonly bytes: Buffer }> = [];
    const range = { limit: readSliceMax, ...(after === undefined ? {} : { start: after }) };
    let last = after;
    let read = 0;
    let written = 0;
    for (const { key, value } of this.#database.getRange(range)) {
      read++;
      last = key;
      const bytes = value.subarray(0, value.length);
      if (this.#options.plainKeys.has(key) || hasChecksum(bytes, bytes.length, this.#seedOf(key)))
        continue;
      if (!this.#isOlder(key, bytes)) {
        this.#noteDamage(key);
        continue;
      }
      older.push({ key, bytes: Buffer.concat([emptyHead, bytes]) });
      written += bytes.length;
      if (older.length === upgradeSliceMax || written > upgradeSliceBytes) break;
    }
    const isEnd =
      read < readSliceMax && older.length < upgradeSliceMax && written <= upgradeSliceBytes;
    return { older, last, read, isEnd };
  }

  *audit(): Generator<AuditedSlice> {
    const { name, plainKeys } = this.#options;
    yield* auditOf(name, this.#database, (key, bytes) => {
      const isRead = this.#open(key, bytes) !== damaged;
      return isRead && bytes[0] !== checksumMark && !plainKeys.has(key);
    });
  }

  #seedOf(key: K): number {
    return (keySeed(key) ^ this.#seed) >>> 0;
  }

  #open(key: K, bytes: Uint8Array): V | typeof damaged {
    // lmdb-js reads into one buffer and sets its length: natively it is longer.
    const end = bytes.length;
    if (hasChecksum(bytes, end, this.#seedOf(key))) {
      return this.#codec.decode(bytes, checksumBytes, end);
    }
    if (this.#mayBeOlder(key, bytes[0], end)) {
      try {
        return this.#codec.decode(bytes, 0, end);
      } catch {
        // No record of an older release: damaged in its first byte.
      }
    }
    this.#noteDamage(key);
    return damaged;
  }

  #noteDamage(key: K): void {
    const { checking, name } = this.#options;
    checking.damage.note(name, key, () => this.#read(key) !== damaged);
  }

  /** A record of an older release that can be read. */
  #isOlder(key: K, bytes: Uint8Array): boolean {
    if (!this.#mayBeOlder(key, bytes[0], bytes.length)) return false;
    try {
      this.#codec.decode(bytes, 0, bytes.length);
      return true;
    } catch {
      return false;
    }
  }

  #mayBeOlder(key: K, first: number | undefined, length: number): boolean {
    const { checking, plainKeys, uncheckedBytes } = this.#options;
    if (plainKeys.has(key)) return true;
    if (checking.isComplete) return false;
    return first !== checksumMark || length === uncheckedBytes;
  }
}

const damagedRecord = (): Failure => dataDamaged('A record that this needs is damaged on the disk');

const present = new Uint8Array(0);

export class SetTable<K extends TableKey> implements Table<K, 1>, AuditedTable, WrittenTable<K> {
  readonly name: string;
  readonly #database: Database<Uint8Array, K>;
  readonly #writes: ReplicatedWrites;

  constructor(name: string, database: Database<Uint8Array, K>, writes: ReplicatedWrites) {
    this.name = name;
    this.#database = database;
    this.#writes = writes;
  }
  audit(): Generator<AuditedSlice> {
    return auditOf(this.name, this.#database, () => false);
  }
  get(key: K): 1 | undefined {
    return this.has(key) ? 1 : undefined;
  }
  has(key: K): boolean {
    return this.#database.doesExist(key);
  }
  put(key: K): void {
    this.#writes.write(this, key, present);
  }
  remove(key: K): void {
    this.#writes.write(this, key);
  }
  write(key: K, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) this.#database.removeSync(key);
    else this.#database.putSync(key, bytes);
  }
  mended(): void {
    // Keys have no checksum.
  }
  *range(range: Range<K>): Iterable<{ key: K; value: 1 }> {
    for (const key of this.keys(range)) yield { key, value: 1 };
  }
  keys(range: Range<K>): Iterable<K> {
    return this.#database.getKeys(range);
  }
  count(range: Range<K>): number {
    return this.#database.getKeysCount(range);
  }
}

/** A table that is not there yet, where none may be made. */
export class EmptyTable<K extends TableKey, V> implements ValueTable<K, V> {
  get(): undefined {
    return undefined;
  }
  has(): boolean {
    return false;
  }
  put(): never {
    throw new Error('Cannot write: the environment is open for reading');
  }
  remove(): never {
    throw new Error('Cannot write: the environment is open for reading');
  }
  range(): Iterable<{ key: K; value: V }> {
    return [];
  }
  keys(): Iterable<K> {
    return [];
  }
  count(): number {
    return 0;
  }
  eachInPlace(): void {
    // Nothing to visit.
  }
  walkInPlace(): ValueWalk<K> {
    return { value: new PlacedValue(), next: () => undefined, close: () => undefined };
  }
  getInPlace(): undefined {
    return undefined;
  }
  isSound(): boolean {
    return false;
  }
}
