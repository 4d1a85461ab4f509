/**
 * What an environment found damaged: each place once.
 * A place leaves when its record is written or removed, by another thread too. The list is bounded: beyond
 * `placesMax` new places are not noted.
 */
import { Signal } from '../model/signal.ts';
import type { TableKey } from './table.ts';

/** Places noted; a disk that is worse than this needs a restore, not a longer list. */
const placesMax = 10_000;
/** Bytes of a binary key that are shown: of a day, a chunk and a count it is all. */
const shownBytesMax = 10;
/** Places that one review reads again: it runs when somebody asks for the health. */
const reviewedMax = 100;

/** A stored record that is damaged. */
export interface DamagedPlace {
  /** Tells it from all other places: for comparing, not for people. */
  readonly name: string;
  /** Name of the data file, without its folder. */
  readonly file: string;
  readonly table: string;
  /** Numbers and ids of the key, for the log: never an address or a text of a user. */
  readonly key: string;
}

export class DamageLog {
  readonly #file: string;
  readonly #places = new Map<
    string,
    { readonly place: DamagedPlace; readonly isSound: () => boolean }
  >();
  #newest: DamagedPlace | undefined;
  /** Fired for each new place; `newest` is it. */
  readonly noticed = new Signal();

  constructor(file: string) {
    this.#file = file;
  }

  get newest(): DamagedPlace | undefined {
    return this.#newest;
  }
  /** Damaged now, as far as they were read; oldest first. */
  get places(): readonly DamagedPlace[] {
    return Array.from(this.#places.values(), ({ place }) => place);
  }
  /** @param isSound reads the record again */
  note(table: string, key: TableKey, isSound: () => boolean): void {
    const name = this.#nameOf(table, key);
    if (this.#places.has(name) || this.#places.size >= placesMax) return;
    const place = { name, file: this.#file, table, key: shownKey(key) };
    this.#newest = place;
    this.#places.set(name, { place, isSound });
    this.noticed.fire();
  }

  /** The record was written or removed. */
  mended(table: string, key: TableKey): void {
    if (this.#places.size > 0) this.#places.delete(this.#nameOf(table, key));
  }

  #nameOf(table: string, key: TableKey): string {
    const text = key instanceof Uint8Array ? Buffer.from(key).toString('hex') : JSON.stringify(key);
    return `${this.#file} ${table} ${text}`;
  }

  /** Reads the oldest places again, and lets go those that another thread has mended. */
  review(): void {
    let left = reviewedMax;
    for (const [name, { isSound }] of this.#places) {
      if (left-- === 0) return;
      if (isSound()) this.#places.delete(name);
    }
  }
}

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
