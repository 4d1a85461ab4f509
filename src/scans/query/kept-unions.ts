/**
 * Scanners of the closed days of a range, united once: most of the cost of an answer, and asked for again by every view of a
 * dashboard. A closed day, or a month, never gains a scanner without gaining a scan, so a union holds while every record of its
 * range has as many scans as it had; these are read for every answer anyway.
 */
import { LRUCache } from 'lru-cache';
import { Sketch } from '../../model/sketch/sketch.ts';
import { Rollup } from '../rollup.ts';
import type { Counted } from './days-before.ts';

/** Of 16 KB at most: 4 MB in all. */
const unionsMax = 256;
/** Fewer are united as fast as they are found. */
const recordsMin = 8;

/** Of the records of a range: which it is, by the number of its month or the time when it begins, and its scans. */
export type RecordScans = readonly number[];

export type ReadRecords = (rollup: Rollup, scanners: Sketch | undefined) => RecordScans;

interface Kept {
  readonly scans: RecordScans;
  readonly union: Sketch;
}

export class KeptUnions {
  readonly #unions = new LRUCache<string, Kept>({ max: unionsMax });

  /**
   * @param key of the counter and the range
   * @param read adds the records to a rollup, and their scanners to a sketch where it gets one
   */
  addTo({ rollup, sketch }: Counted, key: string, read: ReadRecords): void {
    const known = this.#unions.get(key);
    const union = Sketch.empty();
    const scans = read(rollup, known === undefined ? union : undefined);
    if (known !== undefined && isSame(known.scans, scans)) return sketch.merge(known.union);
    if (known !== undefined) read(new Rollup(0), union);
    sketch.merge(union);
    if (scans.length >= 2 * recordsMin) this.#unions.set(key, { scans, union });
  }
}

const isSame = (one: RecordScans, other: RecordScans): boolean =>
  one.length === other.length && one.every((scans, at) => scans === other[at]);
