/**
 * What an environment found damaged: each place once, counted by table, the newest by name.
 * A place leaves when its record is written or removed. It is bounded: beyond `placesMax` new places are not noted.
 */
import { Signal } from '../model/signal.ts';
import type { TableKey } from './table.ts';

/** Places noted; a disk that is worse than this needs a restore, not a longer list. */
const placesMax = 10_000;
/** Bytes of a binary key that are shown: of a day, a chunk and a count it is all. */
const shownBytesMax = 10;

/** A stored record that is damaged. */
export interface DamagedPlace {
  /** Name of the data file, without its folder. */
  readonly file: string;
  readonly table: string;
  /** Numbers and ids of the key, for the log: never an address or a text of a user. */
  readonly key: string;
}

/** Damaged places of a table since the environment was opened. */
export interface DamageCount {
  readonly file: string;
  readonly table: string;
  readonly count: number;
}

export class DamageLog {
  readonly #file: string;
  readonly #places = new Map<string, DamagedPlace>();
  readonly #counts = new Map<string, number>();
  #newest: DamagedPlace | undefined;
  /** Fired for each new place; `newest` is it. */
  readonly noticed = new Signal();

  constructor(file: string) {
    this.#file = file;
  }

  /** Places that are damaged now, as far as they were read. */
  get size(): number {
    return this.#places.size;
  }
  get newest(): DamagedPlace | undefined {
    return this.#newest;
  }
  /** Oldest first. */
  get places(): Iterable<DamagedPlace> {
    return this.#places.values();
  }
  /** Ever noticed, those that were written again included. */
  get counts(): readonly DamageCount[] {
    return [...this.#counts].map(([table, count]) => ({ file: this.#file, table, count }));
  }

  note(table: string, key: TableKey): void {
    const name = nameOf(table, key);
    if (this.#places.has(name) || this.#places.size >= placesMax) return;
    this.#newest = { file: this.#file, table, key: shownKey(key) };
    this.#places.set(name, this.#newest);
    this.#counts.set(table, (this.#counts.get(table) ?? 0) + 1);
    this.noticed.fire();
  }

  /** The record was written or removed. */
  mended(table: string, key: TableKey): void {
    if (this.#places.size > 0) this.#places.delete(nameOf(table, key));
  }
}

const nameOf = (table: string, key: TableKey): string =>
  `${table} ${key instanceof Uint8Array ? Buffer.from(key).toString('hex') : JSON.stringify(key)}`;

/** An id of ours: `qr_…`, `ws_…`. */
const id = /^[a-z]{2,4}_[0-9a-z]{20}$/;

function shownKey(key: TableKey): string {
  if (typeof key === 'number') return String(key);
  if (typeof key === 'string') return id.test(key) ? key : '…';
  if (Array.isArray(key)) return key.map(shownKey).join(' ');
  if (!(key instanceof Uint8Array)) return '…';
  const hex = Buffer.from(key.subarray(0, shownBytesMax)).toString('hex');
  return key.length > shownBytesMax ? `${hex}…` : hex;
}
