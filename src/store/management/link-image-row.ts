/**
 * Which image of the link table (links/image.ts, a file in the folder's cache) belongs to this store: rows in `meta`.
 *
 *   image:token    of the file, random
 *   image:number   of the last link change that is in the file
 *   image:from     the oldest number in `link_changes` when the rows were written
 *
 * They are written after the file is on the disk, in the file that has the links: whatever becomes of management.mdb (a
 * loss of power, an older copy, a backup), links are as they were when the file was made, and changed by the numbers
 * since. That holds as long as every change is numbered. A service of an older release numbers none of its own, and
 * removes the numbers, oldest first, before its first change: so the image counts only while the oldest number is there
 * that should be. The rows add a number of no code (0), so that there is one.
 */
import type { StoreEnvironment } from '../environment.ts';
import { linkChangesKept, numberLinkChange } from './link-changes.ts';
import type { Management } from './management.ts';

export interface ImageRow {
  readonly token: number;
  readonly number: number;
}

type Tables = Pick<Management, 'bulk' | 'meta' | 'last' | 'next'> & {
  readonly environment: StoreEnvironment;
};

const tokenKey = 'image:token';
const numberKey = 'image:number';
const fromKey = 'image:from';
const noCode = 0;

/** Undefined where no row is written, or where links may have changed without a number, or too often. */
export function readImageRow(store: Tables): ImageRow | undefined {
  const { meta, bulk } = store;
  store.environment.refresh();
  const [token, number, from] = [tokenKey, numberKey, fromKey].map((key) =>
    meta.get(key, () => undefined),
  );
  if (token === undefined || number === undefined || from === undefined) return undefined;
  const last = store.last('link');
  const oldest = Math.max(from, last - linkChangesKept + 1);
  if (last < number || !bulk.linkChanges.has(oldest)) return undefined;
  const since = bulk.linkChanges.count({ start: number + 1, end: last + 1 });
  return since === last - number ? { token, number } : undefined;
}

/** A transaction of this machine alone, in a store that follows another one's. */
export type LocalTransaction = (work: () => boolean) => Promise<boolean>;

/**
 * @param local where the changes are numbered by another machine: none is numbered here, so there must be one
 * @returns whether it counts: not while numbers of an older release are still to be removed
 */
export async function writeImageRow(
  store: Tables,
  row: ImageRow,
  local?: LocalTransaction,
): Promise<boolean> {
  if (local !== undefined) return await local(() => putImageRow(store, row, store.last('link')));
  return await store.environment.transaction(() =>
    putImageRow(store, row, numberLinkChange(store, noCode)),
  );
}

function putImageRow({ meta, bulk }: Tables, row: ImageRow, last: number): boolean {
  const [from] = bulk.linkChanges.keys({ start: 0, limit: 1 });
  if (from === undefined || from <= last - linkChangesKept) return false;
  meta.put(tokenKey, row.token);
  meta.put(numberKey, row.number);
  meta.put(fromKey, from);
  return true;
}

/** No image belongs to the links from here on. Inside a transaction. */
export function removeImageRow({ meta }: Pick<Tables, 'meta'>): void {
  meta.remove(tokenKey);
}
