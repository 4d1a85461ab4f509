/** What a table of an environment is: keys, values, and how they are walked. */
import type { Key } from 'lmdb';

export type TableKey = Key;
export type KeyEncoding = 'ordered-binary' | 'uint32' | 'binary';
export type ValueEncoding = 'msgpack' | 'binary' | 'string';

export interface TableEncodings {
  readonly key?: KeyEncoding;
  readonly value?: ValueEncoding;
  /** Keys whose values never have a checksum: what an older program must be able to read. */
  readonly plainKeys?: readonly string[];
  /** It is made of other tables, and who reads it passes over a damaged record: `audit` does not look. */
  readonly isDerived?: boolean;
  /** Of every value of a release without checksums, where such a value may begin with the checksum's mark. */
  readonly uncheckedBytes?: number;
}

/** `start` included, `end` excluded; with `reverse` the walk goes from `start` down to above `end`. */
export interface Range<K> {
  readonly start?: K;
  readonly end?: K;
  readonly reverse?: boolean;
  readonly limit?: number;
  readonly offset?: number;
}

/**
 * A named table. `put` and `remove` are only lawful inside a transaction of its environment.
 * A damaged record is noted in the environment's `damage`, and never read: `has`, `keys` and `count` do not look.
 */
export interface Table<K extends TableKey, V> {
  /** @throws Failure data_damaged */
  get(key: K): V | undefined;
  /** @param instead gives what is returned for a damaged record */
  get<D>(key: K, instead: (key: K) => D): V | D | undefined;
  has(key: K): boolean;
  put(key: K, value: V): void;
  remove(key: K): void;
  /**
   * @param onDamaged is called for a damaged record, and the walk goes on with the next
   * @throws Failure data_damaged at a damaged record, without `onDamaged`
   */
  range(range: Range<K>, onDamaged?: (key: K) => void): Iterable<{ key: K; value: V }>;
  keys(range: Range<K>): Iterable<K>;
  count(range: Range<K>): number;
}

/** A value where it stands, unchecked: in a buffer that the next read of this thread overwrites. */
export interface ValueInPlace {
  readonly bytes: Buffer;
  /** Of the same bytes. */
  readonly view: DataView;
  readonly start: number;
  /** Excluded. */
  readonly end: number;
  /** From `start` to `end`, by themselves: a view. */
  readonly content: Uint8Array;
}

export interface ValueWalk<K> {
  /** Where `next` has put the value, until anything else is read. */
  readonly value: ValueInPlace;
  /** @returns the next key; undefined = the end @throws Failure data_damaged where a page is damaged */
  next(): K | undefined;
  close(): void;
}

/** A table whose values can be read without a copy each, and checked one by one: by what reads millions. */
export interface ValueTable<K extends TableKey, V> extends Table<K, V> {
  /**
   * Hands over each value, one object for all of them, until `visit` returns false.
   * @throws Failure data_damaged where a page is damaged: what follows it cannot be found
   */
  eachInPlace(range: Range<K>, visit: (key: K, value: ValueInPlace) => boolean): void;
  /** The same, pulled one by one. To be closed where it is not walked to its end. */
  walkInPlace(range: Range<K>): ValueWalk<K>;
  /** @throws Failure data_damaged where a page is damaged */
  getInPlace(key: K): ValueInPlace | undefined;
  /** Whether a value is what was put under this key; notes the damage where it is not. */
  isSound(key: K, value: ValueInPlace): boolean;
}
