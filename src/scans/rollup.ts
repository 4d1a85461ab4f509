/**
 * The rollup: how often each thing was seen in a day (or a month) of one code.
 *
 * One flat map from (dimension, value) to a count serves every breakdown, adds and subtracts across
 * days and codes, and stores as a list of small integers. Cities and referer hosts are names that
 * visitors choose, so each is bounded: beyond `namesMax` they count as `other`.
 * Bots count under their own dimension and nowhere else, so every dimension of people sums to `scans`.
 */
import type { ByteReader, ByteWriter } from './bytes.ts';

/** Stored numbers: add at the end, never renumber. */
export const Dimension = {
  platform: 1,
  device: 2,
  os: 3,
  browser: 4,
  country: 5,
  hour: 6,
  bot: 7,
  city: 8,
  referer: 9,
} as const;
export type Dimension = (typeof Dimension)[keyof typeof Dimension];
export type NamedDimension = typeof Dimension.city | typeof Dimension.referer;

const valueBits = 16;
/** What names beyond the bound count as. */
export const otherName = 'other';

/** A month unites up to 31 days' names; four times a day's bound keeps all but wild ones. */
export const monthNamesFactor = 4;

export class Rollup {
  scans = 0;
  readonly #counts = new Map<number, number>();
  readonly #names = new Map<string, number>();
  readonly #namesUsed = { [Dimension.city]: 0, [Dimension.referer]: 0 };
  readonly #namesMax: number;

  constructor(namesMax: number) {
    this.#namesMax = namesMax;
  }

  count(dimension: Dimension, value: number, times = 1): void {
    const key = (dimension << valueBits) | value;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + times);
  }

  /** Counts a name; a negative `times` takes back what was counted before. */
  countName(dimension: NamedDimension, name: string, times = 1): void {
    const key = String.fromCharCode(dimension) + name;
    const before = this.#names.get(key);
    if (before !== undefined) {
      this.#names.set(key, before + times);
    } else if (this.#namesUsed[dimension] < this.#namesMax || name === otherName) {
      this.#names.set(key, times);
      this.#namesUsed[dimension]++;
    } else {
      this.countName(dimension, otherName, times);
    }
  }

  /** Adds another rollup, or with -1 takes away one that was added before. */
  merge(other: Rollup, times: 1 | -1 = 1): void {
    this.scans += other.scans * times;
    for (const [key, count] of other.#counts) {
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + count * times);
    }
    for (const [key, count] of other.#names) {
      this.countName(namedDimension(key), key.slice(1), count * times);
    }
  }

  get(dimension: Dimension, value: number): number {
    return this.#counts.get((dimension << valueBits) | value) ?? 0;
  }

  /** The values of a dimension that were seen, in no order. */
  *values(dimension: Dimension): Generator<{ value: number; count: number }> {
    for (const [key, count] of this.#counts) {
      if (key >>> valueBits === dimension && count > 0) {
        yield { value: key & ((1 << valueBits) - 1), count };
      }
    }
  }

  *names(dimension: NamedDimension): Generator<{ name: string; count: number }> {
    for (const [key, count] of this.#names) {
      if (key.charCodeAt(0) === dimension && count > 0) yield { name: key.slice(1), count };
    }
  }

  write(to: ByteWriter): void {
    to.integer(this.scans);
    to.integer(this.#counts.size);
    for (const [key, count] of this.#counts) {
      to.integer(key);
      to.integer(count);
    }
    to.integer(this.#names.size);
    for (const [key, count] of this.#names) {
      to.text(key);
      to.integer(count);
    }
  }

  static read(from: ByteReader, namesMax: number): Rollup {
    const rollup = new Rollup(namesMax);
    rollup.scans = from.integer();
    for (let left = from.integer(); left > 0; left--) {
      const key = from.integer();
      rollup.#counts.set(key, from.integer());
    }
    for (let left = from.integer(); left > 0; left--) {
      const key = from.text();
      rollup.#names.set(key, from.integer());
      rollup.#namesUsed[namedDimension(key)]++;
    }
    return rollup;
  }
}

/** Two capital letters as one number, for the country dimension. */
export const countryValue = (code: string): number =>
  (code.charCodeAt(0) << 8) | code.charCodeAt(1);
export const countryCode = (value: number): string =>
  String.fromCharCode(value >>> 8, value & 0xff);

/** A name's key begins with its dimension. */
const namedDimension = (key: string): NamedDimension =>
  key.charCodeAt(0) === Dimension.city ? Dimension.city : Dimension.referer;
