/**
 * A table of small marks that a start needs. Each is stored twice, in two tables, by one transaction; each copy has its own
 * checksum. A read returns an intact copy; the next `put` replaces both.
 */
import { dataDamaged } from '../model/failure.ts';
import type { StoreEnvironment } from './environment.ts';
import type { Range, Table, TableEncodings } from './table.ts';

export const openTwinTable = <K extends number | string, V>(
  environment: StoreEnvironment,
  name: string,
  encodings?: TableEncodings,
): Table<K, V> =>
  new TwinTable(
    environment.table<K, V>(name, encodings),
    environment.table<K, V>(`${name}_copy`, encodings),
  );

class TwinTable<K extends number | string, V> implements Table<K, V> {
  readonly #first: Table<K, V>;
  readonly #copy: Table<K, V>;

  constructor(first: Table<K, V>, copy: Table<K, V>) {
    this.#first = first;
    this.#copy = copy;
  }

  get<D = never>(key: K, instead: (key: K) => D = refuse): V | D | undefined {
    const found = { isDamaged: false };
    const note = (): undefined => {
      found.isDamaged = true;
      return undefined;
    };
    const value = this.#first.get(key, note) ?? this.#copy.get(key, note);
    return value === undefined && found.isDamaged ? instead(key) : value;
  }

  has(key: K): boolean {
    return this.#first.has(key) || this.#copy.has(key);
  }

  put(key: K, value: V): void {
    this.#first.put(key, value);
    this.#copy.put(key, value);
  }

  remove(key: K): void {
    this.#first.remove(key);
    this.#copy.remove(key);
  }

  /** In the order of the first table, then what only the copy has. */
  *range(range: Range<K>, onDamaged: (key: K) => void = refuse): Iterable<{ key: K; value: V }> {
    const skip = (key: K): undefined => {
      onDamaged(key);
      return undefined;
    };
    for (const key of this.keys(range)) {
      const value = this.get(key, skip);
      if (value !== undefined) yield { key, value };
    }
  }

  keys(range: Range<K>): Set<K> {
    return new Set([...this.#first.keys(range), ...this.#copy.keys(range)]);
  }

  count(range: Range<K>): number {
    return this.keys(range).size;
  }
}

const refuse = (): never => {
  throw dataDamaged('Both copies of a stored record are damaged');
};
