/** Tables of an environment: keys, values, and the ways to read them. */
import type { Key } from 'lmdb';

export type TableKey = Key;
export type KeyEncoding = 'ordered-binary' | 'uint32' | 'binary';
export type ValueEncoding = 'msgpack' | 'binary' | 'string' | 'present';

export interface TableEncodings {
  readonly key?: KeyEncoding;
  readonly value?: ValueEncoding;
}

/** `start` included, `end` excluded; `reverse` reads from `start` down to `end`. */
export interface Range<K> {
  readonly start?: K;
  readonly end?: K;
  readonly reverse?: boolean;
  readonly limit?: number;
  readonly offset?: number;
}

/**
 * `put` and `remove` need a transaction. A damaged record is noted in the environment's `damage` and never returned; `has`,
 * `keys` and `count` do not check values.
 */
export interface Table<K extends TableKey, V> {
  /** @param instead returns the result for a damaged record; without it @throws Failure data_damaged */
  get<D = never>(key: K, instead?: (key: K) => D): V | D | undefined;
  has(key: K): boolean;
  put(key: K, value: V): void;
  remove(key: K): void;
  /** @param onDamaged gets each damaged record; without it @throws Failure data_damaged */
  range(range: Range<K>, onDamaged?: (key: K) => void): Iterable<{ key: K; value: V }>;
  keys(range: Range<K>): Iterable<K>;
  count(range: Range<K>): number;
}

/** An unchecked value in LMDB's buffer, which the next read of this thread overwrites. */
export interface ValueInPlace {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly start: number;
  readonly end: number;
  readonly content: Uint8Array;
}

export interface ValueWalk<K> {
  /** The value of the last key; valid until the next read. */
  readonly value: ValueInPlace;
  /** @returns the next key, undefined at the end @throws Failure data_damaged where a page is damaged */
  next(): K | undefined;
  close(): void;
}

/** A table that also reads values without copying them and checks them one by one: for readers of millions. */
export interface ValueTable<K extends TableKey, V> extends Table<K, V> {
  /**
   * Each value in one reused object. The caller closes the walk unless it reaches the end.
   * @throws Failure data_damaged where a page is damaged: the rest of the table is out of reach
   */
  walkInPlace(range: Range<K>): ValueWalk<K>;
  /** @throws Failure data_damaged where a page is damaged */
  getInPlace(key: K): ValueInPlace | undefined;
  /** Whether the value passes its checksum; notes the damage if not. */
  isSound(key: K, value: ValueInPlace): boolean;
}

export interface AuditedSlice {
  readonly table: string;
  readonly records: number;
  readonly bytes: number;
  /** Why the rest of the table cannot be read. */
  readonly fault?: string;
}
