/**
 * Places among the blocks of another store, found among those of this one. Both have the same scans, each in an order and
 * in blocks of its own: what tells where the one was is the marks of its blocks (store/scans/block-marks.ts).
 *
 *   onwards     every scan that the other has in its later blocks is in this one's blocks from `next` on, or comes there
 *   backwards   every scan that the other has in its blocks up to there, as far as it is counted here, is in this one's
 *               blocks up to `newest`
 *
 * Exact in that nothing is left out, whatever clocks say and however far one is behind the other: a mark names positions in
 * journals, which mean the same everywhere. What is repeated is less than what came between two marks of each of the two.
 */
import {
  type MarkPlace,
  type MarkRows,
  ownMarkRows,
  sharedMarkRows,
} from '../../store/scans/block-marks.ts';
import type { ScanStore } from '../../store/scans/scans.ts';
import type { Table } from '../../store/environment.ts';
import { ScanMarks } from '../../store/scans/scan-marks.ts';

/** On a machine alone there are none: its cursors name blocks, and nothing else. */
export interface StorePlaces {
  /** Which store blocks are numbered by here. */
  readonly store: string;
  /** The block to go on with, where those before `sequence` of another store are done; undefined = it is not known. */
  next(store: string, sequence: number): number | undefined;
  /** The newest block that may have what is in another's up to `sequence`; undefined = any may. */
  newest(store: string, sequence: number): number | undefined;
}

export interface MarkedPlacesOptions {
  readonly store: string;
  readonly scans: ScanStore;
  /** `cluster_identity` of management.mdb. */
  readonly identity: Table<string, string>;
}

export class MarkedPlaces implements StorePlaces {
  readonly #options: MarkedPlacesOptions;
  readonly #own: MarkRows;
  readonly store: string;

  constructor(options: MarkedPlacesOptions) {
    this.#options = options;
    this.#own = ownMarkRows(options.scans.environment);
    this.store = options.store;
  }

  next(store: string, sequence: number): number | undefined {
    const rows = this.#rowsOf(store);
    const known = rows.places().filter((place) => place.sequence < sequence);
    const done = marksAt(rows, known.toReversed());
    if (done === undefined) return undefined;
    const places = this.#ownPlaces();
    // Marks only rise.
    const first = firstTrue(places.length, (at) => !this.#isWithin(places[at]!, done));
    return (places[first - 1]?.sequence ?? 0) + 1;
  }

  newest(store: string, sequence: number): number | undefined {
    const rows = this.#rowsOf(store);
    const wanted = marksAt(
      rows,
      rows.places().filter((place) => place.sequence >= sequence),
    );
    if (wanted === undefined) return undefined;
    const places = this.#ownPlaces();
    return places[firstTrue(places.length, (at) => this.#hasReached(places[at]!, wanted))]
      ?.sequence;
  }

  #rowsOf(store: string): MarkRows {
    return sharedMarkRows(this.#options.identity, store);
  }

  #ownPlaces(): MarkPlace[] {
    this.#options.scans.environment.refresh();
    return this.#own.places();
  }

  #isWithin(place: MarkPlace, marks: ScanMarks): boolean {
    const own = this.#own.marksOf(place);
    return own !== undefined && marks.hasReached(new ScanMarks(own));
  }

  #hasReached(place: MarkPlace, marks: ScanMarks): boolean {
    const own = this.#own.marksOf(place);
    return own !== undefined && new ScanMarks(own).hasReached(marks);
  }
}

/** Of the first that can be read. */
function marksAt(rows: MarkRows, places: readonly MarkPlace[]): ScanMarks | undefined {
  for (const place of places) {
    const marks = rows.marksOf(place);
    if (marks !== undefined) return new ScanMarks(marks);
  }
  return undefined;
}

/** The first number below `count` for which it is true; `count` without one. True for all after a true one. */
function firstTrue(count: number, isTrue: (at: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
