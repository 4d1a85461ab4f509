/**
 * The rollup: how often each value was seen in a day or month of one counter.
 *
 * Counts by (dimension, value) add and subtract across days and codes, and are stored as small integers. Small dimensions
 * are a flat array: as map entries they cost a third of a shard's time. Cities and referer hosts beyond `namesMax` count as
 * `other`. Bots count only in their own dimension, so each dimension of people sums to `scans`. Times count by quarter of the
 * UTC day, which gives the hours of every time zone; a sum of days has no times. Routes count scans that did not lead to the
 * code's target. Visits without a redirect are not part of `scans` (model/routing/labels.ts).
 */
import { dataDamaged } from '../../model/failure.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';

/** Stored numbers: add at the end, never renumber. */
export const Dimension = {
  platform: 1,
  device: 2,
  os: 3,
  browser: 4,
  country: 5,
  bot: 7,
  city: 8,
  referer: 9,
  route: 10,
  quarter: 11,
} as const;
export type Dimension = (typeof Dimension)[keyof typeof Dimension];
export type NamedDimension = typeof Dimension.city | typeof Dimension.referer;

const valueBits = 16;
const valueMask = (1 << valueBits) - 1;
const otherName = 'other';

/** A month has up to 31 days' names; four times a day's bound keeps nearly all. */
export const monthNamesFactor = 4;

/** Number of values of the small dimensions. */
const sizes: Readonly<Partial<Record<Dimension, number>>> = {
  [Dimension.platform]: 4,
  [Dimension.device]: 4,
  [Dimension.os]: 8,
  [Dimension.browser]: 32,
  [Dimension.bot]: 4,
};
const openDimensions: ReadonlySet<number> = new Set([
  Dimension.country,
  Dimension.route,
  Dimension.quarter,
]);
const keyOf = (dimension: number, value: number): number => (dimension << valueBits) | value;

/** `smallKeys`: what each index of the flat array counts, as (dimension << 16 | value). */
const { offsets, smallKeys } = layOut();
const smallCounts = smallKeys.length;
/** The keys of quarters are the highest. */
const quarterKeys = keyOf(Dimension.quarter, 0);
/** Index of a stored key in the flat array; -1 = the key is of an open dimension. @throws Failure data_damaged */
function smallIndexOf(key: number): number {
  const dimension = key >>> valueBits;
  const offset = offsets[dimension];
  if (offset === -1 && openDimensions.has(dimension)) return -1;
  const index = (offset ?? -1) + (key & valueMask);
  if (smallKeys[index] === key) return index;
  throw dataDamaged(`Cannot read rollup: key ${key} is unknown, expected a newer release`);
}
const noCounts: readonly number[] = Array.from({ length: smallCounts }, () => 0);

export class Rollup {
  scans = 0;
  /** Counts of the small dimensions, at `offsets[dimension] + value`. */
  readonly #small = noCounts.slice();
  /** Counts of the open dimensions, by (dimension << 16 | value). */
  readonly #open = new Map<number, number>();
  /** The current quarter and its scans that are not in the map yet. */
  #quarter = 0;
  #quarterScans = 0;
  readonly #cities: Names;
  readonly #referers: Names;

  /** @param namesMax 0 = all names count as `other` */
  constructor(namesMax: number) {
    this.#cities = new Names(namesMax);
    this.#referers = new Names(namesMax);
  }

  count(dimension: Dimension, value: number, times = 1): void {
    const offset = offsets[dimension]!;
    if (offset >= 0) {
      this.#small[offset + value]! += times;
    } else {
      const key = keyOf(dimension, value);
      this.#open.set(key, (this.#open.get(key) ?? 0) + times);
    }
  }

  /** As `count` of a quarter; without a map look-up for scans in order of time. */
  countQuarter(quarter: number): void {
    if (quarter !== this.#quarter) {
      this.#flushQuarter();
      this.#quarter = quarter;
    }
    this.#quarterScans++;
  }

  /** Call before reading the open dimensions. */
  #flushQuarter(): void {
    if (this.#quarterScans === 0) return;
    this.count(Dimension.quarter, this.#quarter, this.#quarterScans);
    this.#quarterScans = 0;
  }

  /** @param times negative = subtract what was counted before */
  countName(dimension: NamedDimension, name: string, times = 1): void {
    this.#named(dimension).count(name, times);
  }

  /** Adds another rollup without its quarters; -1 subtracts one that was added. */
  merge(other: Rollup, times: 1 | -1 = 1): void {
    this.scans += other.scans * times;
    for (let at = 0; at < smallCounts; at++) this.#small[at]! += other.#small[at]! * times;
    for (const [key, count] of other.#open) {
      if (key < quarterKeys) this.#open.set(key, (this.#open.get(key) ?? 0) + count * times);
    }
    for (const [name, count] of other.#cities.counts) this.#cities.count(name, count * times);
    for (const [name, count] of other.#referers.counts) this.#referers.count(name, count * times);
  }

  /** Merges a stored rollup in a third of the time; skips names when this rollup keeps none. */
  addStored(from: ByteReader): void {
    this.#addCounts(from, quarterKeys);
    for (const names of [this.#cities, this.#referers]) {
      if (names.max === 0) Names.skip(from);
      else names.addStored(from);
    }
  }

  /** @param endKey excluded */
  #addCounts(from: ByteReader, endKey: number): void {
    this.scans += from.integer();
    for (let left = from.integer(); left > 0; left--) {
      const key = from.integer();
      const count = from.integer();
      const index = smallIndexOf(key);
      if (index >= 0) this.#small[index]! += count;
      else if (key < endKey) this.#open.set(key, (this.#open.get(key) ?? 0) + count);
    }
  }

  get(dimension: Dimension, value: number): number {
    this.#flushQuarter();
    const offset = offsets[dimension]!;
    return offset >= 0
      ? this.#small[offset + value]!
      : (this.#open.get(keyOf(dimension, value)) ?? 0);
  }

  /** Values with counts, in no order. */
  *values(dimension: Dimension): Generator<{ value: number; count: number }> {
    const offset = offsets[dimension]!;
    this.#flushQuarter();
    if (offset < 0) {
      for (const [key, count] of this.#open) {
        if (key >>> valueBits === dimension && count > 0) yield { value: key & valueMask, count };
      }
      return;
    }
    for (let value = 0; value < (sizes[dimension] ?? 0); value++) {
      const count = this.#small[offset + value]!;
      if (count > 0) yield { value, count };
    }
  }

  isEmpty(dimension: Dimension): boolean {
    return this.values(dimension).next().done === true;
  }

  *names(dimension: NamedDimension): Generator<{ name: string; count: number }> {
    for (const [name, count] of this.#named(dimension).counts) {
      if (count > 0) yield { name, count };
    }
  }

  /** scans | n, n x (dimension << 16 | value, count) | for cities, then referers: n, n x (name, count) */
  write(to: ByteWriter): void {
    this.#flushQuarter();
    to.integer(this.scans);
    let seen = 0;
    for (let at = 0; at < smallCounts; at++) if (this.#small[at]! > 0) seen++;
    for (const count of this.#open.values()) if (count > 0) seen++;
    to.integer(seen);
    for (let at = 0; at < smallCounts; at++) {
      if (this.#small[at]! <= 0) continue;
      to.integer(smallKeys[at]!);
      to.integer(this.#small[at]!);
    }
    for (const [key, count] of this.#open) {
      if (count <= 0) continue;
      to.integer(key);
      to.integer(count);
    }
    this.#cities.write(to);
    this.#referers.write(to);
  }

  static read(from: ByteReader, namesMax: number): Rollup {
    const rollup = Rollup.readCounts(from, namesMax);
    rollup.#cities.addStored(from);
    rollup.#referers.addStored(from);
    return rollup;
  }

  /** All but the names, which are the larger part. */
  static readCounts(from: ByteReader, namesMax: number): Rollup {
    const rollup = new Rollup(namesMax);
    rollup.#addCounts(from, Infinity);
    return rollup;
  }

  /** Only the quarters of the day: a year of days has 35,000. */
  static eachQuarter(from: ByteReader, visit: (quarter: number, count: number) => void): void {
    from.integer();
    for (let left = from.integer(); left > 0; left--) {
      const key = from.integer();
      const count = from.integer();
      if (key >= quarterKeys) visit(key & valueMask, count);
    }
  }

  #named(dimension: NamedDimension): Names {
    return dimension === Dimension.city ? this.#cities : this.#referers;
  }
}

/** Counts by name, bounded: new names beyond the bound count as `other`. */
class Names {
  readonly counts = new Map<string, number>();
  readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  count(name: string, times: number): void {
    const before = this.counts.get(name);
    if (before !== undefined) this.counts.set(name, before + times);
    else if (this.counts.size < this.max || name === otherName) this.counts.set(name, times);
    else this.count(otherName, times);
  }

  write(to: ByteWriter): void {
    to.integer(this.counts.size);
    for (const [name, count] of this.counts) {
      to.text(name);
      to.integer(count);
    }
  }

  addStored(from: ByteReader): void {
    for (let left = from.integer(); left > 0; left--) {
      const name = from.text();
      this.count(name, from.integer());
    }
  }

  static skip(from: ByteReader): void {
    for (let left = from.integer(); left > 0; left--) {
      from.skip();
      from.integer();
    }
  }
}

/** Lays the small dimensions end to end; an offset of -1 = open. */
function layOut(): { offsets: readonly number[]; smallKeys: readonly number[] } {
  const begins: number[] = Array.from({ length: Dimension.quarter + 1 }, () => -1);
  const keys: number[] = [];
  for (const [name, size] of Object.entries(sizes)) {
    const dimension = Number(name);
    begins[dimension] = keys.length;
    for (let value = 0; value < size; value++) keys.push(keyOf(dimension, value));
  }
  return { offsets: begins, smallKeys: keys };
}
