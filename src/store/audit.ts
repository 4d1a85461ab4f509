/** Reading a table from its first record to its last, to find what is damaged. */
import type { Database } from 'lmdb';
import { messageOf } from '../model/failure.ts';
import type { TableKey } from './table.ts';

const sliceRecords = 2_000;

/** Some of a table's records, read. */
export interface AuditedSlice {
  readonly table: string;
  readonly records: number;
  /** Of their values. */
  readonly bytes: number;
  /** Records of an older release, which have no checksum. */
  readonly unchecked: number;
  /** Why the rest of the table cannot be read. */
  readonly fault?: string;
}

export interface AuditedTable {
  audit(): Generator<AuditedSlice>;
}

/** @param check notes a damaged record; returns whether it has no checksum */
export function* auditOf<K extends TableKey>(
  table: string,
  database: Database<Uint8Array, K>,
  check: (key: K, bytes: Uint8Array) => boolean,
): Generator<AuditedSlice> {
  let [records, bytes, unchecked] = [0, 0, 0];
  try {
    for (const { key, value } of database.getRange({})) {
      records++;
      // A damaged set may have no value.
      bytes += value?.length ?? 0;
      if (check(key, value)) unchecked++;
      if (records < sliceRecords) continue;
      yield { table, records, bytes, unchecked };
      [records, bytes, unchecked] = [0, 0, 0];
    }
    yield { table, records, bytes, unchecked };
  } catch (error) {
    const fault = messageOf(error);
    yield { table, records, bytes, unchecked, fault };
  }
}
