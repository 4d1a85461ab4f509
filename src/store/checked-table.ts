/** Tables over lmdb-js, whose values have checksums. A damaged record is reported and never decoded. */
import { crc32 } from 'node:zlib';
import { dataDamaged, messageOf } from '../model/failure.ts';
import type { Codec } from './codec.ts';
import { type DamageLog, isDamagedFile } from './damage.ts';
import {
  checksumBytes,
  checksumMark,
  hasChecksum,
  hasChecksumInPlace,
  keySeed,
  writeChecksum,
} from './checksum.ts';
import type { ReplicatedWrites, WrittenTable } from './replicated-writes.ts';
import type {
  AuditedSlice,
  Range,
  TableKey,
  ValueInPlace,
  ValueTable,
  ValueWalk,
} from './table.ts';

interface CheckedTableOptions<V> {
  readonly name: string;
  readonly codec: Codec<V>;
  readonly damage: DamageLog;
  readonly writes: ReplicatedWrites;
  /** LMDB failed to read: its transaction reads nothing anymore. */
  readonly onFailedRead: () => void;
}

const damaged = Symbol('damaged');
const sliceRecords = 2_000;

export class CheckedTable<K extends TableKey, V> implements ValueTable<K, V>, WrittenTable<K> {
  readonly name: string;
  readonly #database: RecordStore<K>;
  readonly #options: CheckedTableOptions<V>;
  readonly #codec: Codec<V>;
  readonly #seed: number;
  readonly #placed = new ReusedValue();

  constructor(database: RecordStore<K>, options: CheckedTableOptions<V>) {
    this.name = options.name;
    this.#database = database;
    this.#options = options;
    this.#codec = options.codec;
    this.#seed = crc32(options.name);
  }

  get<D = never>(key: K, instead: (key: K) => D = refuse): V | D | undefined {
    const value = this.#read(key);
    return value === damaged ? instead(key) : value;
  }

  #read(key: K): V | undefined | typeof damaged {
    try {
      const bytes = this.#database.get(key);
      return bytes && this.#open(key, bytes);
    } catch (error) {
      return this.#failedRead(key, error);
    }
  }

  /** A page of the record, or one that leads to it, is damaged. */
  #failedRead(key: TableKey, error: unknown): typeof damaged {
    if (!isDamagedFile(error)) throw error;
    this.#options.onFailedRead();
    // A page stays damaged until a backup is restored.
    this.#options.damage.note(this.name, key, () => false);
    return damaged;
  }

  has(key: K): boolean {
    return this.#database.doesExist(key);
  }

  put(key: K, value: V): void {
    const bytes = this.#codec.encode(value);
    writeChecksum(bytes, this.#seedOf(key));
    this.#options.writes.write(this, key, bytes);
  }

  remove(key: K): void {
    this.#options.writes.write(this, key);
  }

  write(key: K, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) this.#database.removeSync(key);
    else this.#database.putSync(key, bytes);
  }

  repaired(key: K): void {
    this.#options.damage.repaired(this.name, key);
  }

  *range(range: Range<K>, onDamaged: (key: K) => void = refuse): Iterable<{ key: K; value: V }> {
    for (const { key, value: bytes } of this.#walk(this.#database.getRange(range))) {
      const value = this.#open(key, bytes);
      if (value !== damaged) yield { key, value };
      else onDamaged(key);
    }
  }

  keys(range: Range<K>): Iterable<K> {
    return this.#walk(this.#database.getKeys(range));
  }

  /** @throws Failure data_damaged where a page is damaged: the rest of the table is out of reach */
  *#walk<T>(entries: Iterable<T>): Iterable<T> {
    const iterator = entries[Symbol.iterator]();
    try {
      for (let next = this.#nextOf(iterator); next.done !== true; next = this.#nextOf(iterator)) {
        yield next.value;
      }
    } finally {
      iterator.return?.();
    }
  }

  count(range: Range<K>): number {
    return this.#database.getKeysCount(range);
  }

  walkInPlace(range: Range<K>): ValueWalk<K> {
    // Not by `#walk`: a generator costs a fifth of the read of a small value.
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
      // Its cursor would keep the transaction, which reads nothing anymore, in use.
      iterator.return?.();
      this.#failedRead('page', error);
      return refuse();
    }
  }

  getInPlace(key: K): ValueInPlace | undefined {
    try {
      const bytes = this.#database.get(key);
      return bytes && this.#placed.at(bytes);
    } catch (error) {
      this.#failedRead(key, error);
      return refuse();
    }
  }

  isSound(key: K, value: ValueInPlace): boolean {
    const isSound = value.start === checksumBytes && hasChecksumInPlace(value, this.#seedOf(key));
    if (!isSound) this.#noteDamage(key);
    return isSound;
  }

  *audit(): Generator<AuditedSlice> {
    const table = this.name;
    let [records, bytes] = [0, 0];
    try {
      for (const { key, value } of this.#database.getRange({})) {
        records++;
        bytes += value.length;
        this.#open(key, value);
        if (records < sliceRecords) continue;
        yield { table, records, bytes };
        [records, bytes] = [0, 0];
      }
      yield { table, records, bytes };
    } catch (error) {
      yield { table, records, bytes, fault: messageOf(error) };
    }
  }

  #seedOf(key: K): number {
    return (keySeed(key) ^ this.#seed) >>> 0;
  }

  #open(key: K, bytes: Uint8Array): V | typeof damaged {
    // lmdb-js reads into one buffer and sets its length; the native length is larger.
    const end = bytes.length;
    if (hasChecksum(bytes, end, this.#seedOf(key))) {
      return this.#codec.decode(bytes, checksumBytes, end);
    }
    this.#noteDamage(key);
    return damaged;
  }

  #noteDamage(key: K): void {
    this.#options.damage.note(this.name, key, () => this.#read(key) !== damaged);
  }
}

const refuse = (): never => {
  throw dataDamaged('A record that this needs is damaged on the disk');
};

/** What a table uses of lmdb-js. */
export interface RecordStore<K> {
  get(key: K): Uint8Array | undefined;
  doesExist(key: K): boolean;
  getRange(range: Range<K>): Iterable<{ key: K; value: Uint8Array }>;
  getKeys(range: Range<K>): Iterable<K>;
  getKeysCount(range: Range<K>): number;
  putSync(key: K, bytes: Uint8Array): unknown;
  removeSync(key: K): unknown;
}

const readOnly = (): never => {
  throw new Error('Cannot write: the environment is open for reading');
};

/** Of a table that does not exist yet, in an environment that is open for reading. */
export const noRecords: RecordStore<never> = {
  get: () => undefined,
  doesExist: () => false,
  getRange: () => [],
  getKeys: () => [],
  getKeysCount: () => 0,
  putSync: readOnly,
  removeSync: readOnly,
};

/** One view for all values that are read in place. A view for each would cost as much as reading a small value. */
class ReusedValue implements ValueInPlace {
  bytes: Buffer = Buffer.alloc(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  start = 0;
  end = 0;
  #found: Uint8Array | undefined;
  #content: Uint8Array = new Uint8Array(0);

  /** @param found the buffer of lmdb-js: `length` is the value's, the native buffer may be longer */
  at(found: Uint8Array): this {
    if (found !== this.#found) {
      this.#found = found;
      this.bytes = Buffer.from(found.buffer, found.byteOffset);
      this.view = new DataView(found.buffer, found.byteOffset);
    }
    const hasHead = found.length >= checksumBytes && found[0] === checksumMark;
    this.start = hasHead ? checksumBytes : 0;
    this.end = found.length;
    return this;
  }

  get content(): Uint8Array {
    const { bytes, start, end } = this;
    const known = this.#content;
    const byteOffset = bytes.byteOffset + start;
    const isKnown = known.buffer === bytes.buffer && known.byteOffset === byteOffset;
    if (!isKnown || known.length !== end - start) {
      this.#content = new Uint8Array(bytes.buffer, byteOffset, end - start);
    }
    return this.#content;
  }
}
