/**
 * Maps positions in the blocks of another store to this one. Both have the same scans, in their own order and blocks;
 * the marks of the blocks relate them (store/scans/block-marks.ts).
 *
 *   next      later blocks of the other store: all their scans are in this store's blocks from here on, now or later
 *   newest    blocks of the other store up to a sequence: all their scans that are counted here are in blocks up to here
 *
 * Both are complete, whatever the clocks say and however far one store is behind: a mark names journal positions.
 * The scans between two marks of each store may repeat.
 */
import { type MarkPlace, type MarkRows, ownMarkRows, sharedMarkRows } from './block-marks.ts';
import type { ScanStore } from './scans.ts';
import type { Management } from '../management/management.ts';
import { ScanMarks } from './scan-marks.ts';

/** A single machine has none: its cursors name blocks alone. */
export interface StorePlaces {
  /** The store whose block numbers this machine uses. */
  readonly store: string;
  /** The next block to read after all blocks of another store before `sequence`; undefined = unknown. */
  next(store: string, sequence: number): number | undefined;
  /** The newest block that may have a scan of another store's blocks up to `sequence`; undefined = any may. */
  newest(store: string, sequence: number): number | undefined;
  /** Flushes this store and publishes the blocks' marks. @throws Failure storage_full, not_active */
  share(blocks: readonly number[]): Promise<void>;
}

interface MarkedPlacesOptions {
  readonly store: string;
  readonly scans: ScanStore;
  readonly management: Pick<Management, 'cluster' | 'environment'>;
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
    // Marks only increase.
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

  async share(blocks: readonly number[]): Promise<void> {
    const { scans, management } = this.#options;
    const places = this.#ownPlaces();
    const known = blocks.flatMap(
      (block) => places.findLast(({ sequence }) => sequence <= block) ?? [],
    );
    await scans.environment.flush();
    await management.environment.transaction(() => {
      for (const place of known) {
        const marks = this.#own.marksOf(place);
        if (marks !== undefined) this.#rowsOf(this.store).put(place, marks);
      }
    });
  }

  #rowsOf(store: string): MarkRows {
    return sharedMarkRows(this.#options.management.cluster.identity, store);
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

function marksAt(rows: MarkRows, places: readonly MarkPlace[]): ScanMarks | undefined {
  for (const place of places) {
    const marks = rows.marksOf(place);
    if (marks !== undefined) return new ScanMarks(marks);
  }
  return undefined;
}

/** The first number below `count` for which `isTrue` holds; `count` without one. It holds for every later number. */
function firstTrue(count: number, isTrue: (at: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
