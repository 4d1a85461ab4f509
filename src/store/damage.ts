/** The damaged records of an environment, until they are rewritten, at most `recordsMax`; and LMDB's own errors. */
import { Signal } from '../model/signal.ts';
import type { TableKey } from './table.ts';

/** A disk that is worse than this needs a restore, not a longer list. */
const recordsMax = 10_000;
/** Bytes of a binary key that are shown: all of a day's, a chunk's or a count's. */
const shownBytesMax = 10;
/** Records that one review reads again; each health request runs a review. */
const reviewedMax = 100;

export interface DamagedRecord {
  /** Unique; for comparison, not for display. */
  readonly name: string;
  /** Name of the data file, without its folder. */
  readonly file: string;
  readonly table: string;
  /** Numbers and ids of the key, for the log; never a user's address or text. */
  readonly key: string;
}

export class DamageLog {
  readonly #file: string;
  readonly #records = new Map<
    string,
    { readonly record: DamagedRecord; readonly isSound: () => boolean }
  >();
  #newest: DamagedRecord | undefined;
  /** Fired for each new record, which is `newest`. */
  readonly noticed = new Signal();

  constructor(file: string) {
    this.#file = file;
  }

  get newest(): DamagedRecord | undefined {
    return this.#newest;
  }
  /** Records found damaged and not repaired yet; oldest first. */
  get records(): readonly DamagedRecord[] {
    return Array.from(this.#records.values(), ({ record }) => record);
  }
  /** @param isSound reads the record again */
  note(table: string, key: TableKey, isSound: () => boolean): void {
    const name = this.#nameOf(table, key);
    if (this.#records.has(name) || this.#records.size >= recordsMax) return;
    const record = { name, file: this.#file, table, key: shownKey(key) };
    this.#newest = record;
    this.#records.set(name, { record, isSound });
    this.noticed.fire();
  }

  repaired(table: string, key: TableKey): void {
    if (this.#records.size > 0) this.#records.delete(this.#nameOf(table, key));
  }

  #nameOf(table: string, key: TableKey): string {
    const text = key instanceof Uint8Array ? Buffer.from(key).toString('hex') : JSON.stringify(key);
    return `${this.#file} ${table} ${text}`;
  }

  /** Reads the oldest records again and removes those that another thread has repaired. */
  review(): void {
    let left = reviewedMax;
    for (const [name, { isSound }] of this.#records) {
      if (left-- === 0) return;
      if (isSound()) this.#records.delete(name);
    }
  }
}

/** A Quietzone id: `qr_…`, `ws_…`. */
const id = /^[a-z]{2,4}_[0-9a-z]{20}$/;

function shownKey(key: TableKey): string {
  if (typeof key === 'number') return String(key);
  if (typeof key === 'string') return id.test(key) ? key : '…';
  if (Array.isArray(key)) return key.map(shownKey).join(' ');
  if (!(key instanceof Uint8Array)) return '…';
  const hex = Buffer.from(key.subarray(0, shownBytesMax)).toString('hex');
  return key.length > shownBytesMax ? `${hex}…` : hex;
}

/** A data file that LMDB finds damaged, or whose data is newer. The message names the file. */
export class DataFileError extends Error {
  override readonly name = 'DataFileError';
}

/** MDB_PAGE_NOTFOUND, MDB_CORRUPTED, MDB_VERSION_MISMATCH, MDB_INVALID and MDB_INCOMPATIBLE. */
const damagedCodes: ReadonlySet<unknown> = new Set([-30_797, -30_796, -30_794, -30_793, -30_784]);

export const isDamagedFile = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && damagedCodes.has(error.code);

/** Adds the file and the remedy to such an error; returns any other error unchanged. */
export function fileError(path: string, error: unknown): unknown {
  if (!isDamagedFile(error)) return error;
  return new DataFileError(
    `Cannot read ${path}: ${error.message}; restore a backup (\`quietzone restore\`)`,
    { cause: error },
  );
}
