/**
 * A table of small marks that a start needs. Each is stored in two tables by one transaction. A read returns an intact copy;
 * the next `put` replaces both.
 */
import { dataDamaged } from '../model/failure.ts';
import type { StoreEnvironment } from './environment.ts';
import type { Range, Table, TableEncodings } from './table.ts';

export function openTwinTable<K extends number | string, V>(
  environment: StoreEnvironment,
  name: string,
  encodings?: TableEncodings,
): Table<K, V> {
  const first = environment.table<K, V>(name, encodings);
  const copy = environment.table<K, V>(`${name}_copy`, encodings);
  const get = <D = never>(key: K, instead: (key: K) => D = refuse): V | D | undefined => {
    const found = { isDamaged: false };
    const note = (): undefined => {
      found.isDamaged = true;
      return undefined;
    };
    const value = first.get(key, note) ?? copy.get(key, note);
    return value === undefined && found.isDamaged ? instead(key) : value;
  };
  /** In the order of the first table, then what only the copy has. */
  const keys = (range: Range<K>): Set<K> => new Set([...first.keys(range), ...copy.keys(range)]);
  return {
    get,
    keys,
    has: (key) => first.has(key) || copy.has(key),
    count: (range) => keys(range).size,
    put(key, value) {
      first.put(key, value);
      copy.put(key, value);
    },
    remove(key) {
      first.remove(key);
      copy.remove(key);
    },
    *range(range, onDamaged = refuse) {
      const skip = (key: K): undefined => {
        onDamaged(key);
        return undefined;
      };
      for (const key of keys(range)) {
        const value = get(key, skip);
        if (value !== undefined) yield { key, value };
      }
    },
  };
}

const refuse = (): never => {
  throw dataDamaged('Both copies of a stored record are damaged');
};
