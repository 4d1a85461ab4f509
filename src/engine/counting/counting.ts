/**
 * Whether each scan answered before a moment is in the numbers: the watermarks have passed the journals' ends of that moment.
 * In a cluster other nodes report their ends too (cluster/scans/cluster-counting.ts).
 */
import { partitionCount } from '../../model/code.ts';
import type { ScanStore } from '../../store/scans/scans.ts';
import type { JournalPositions } from '../journal/positions.ts';

export class Counting {
  readonly #store: ScanStore;
  readonly #tails: JournalPositions;

  constructor(store: ScanStore, tails: JournalPositions) {
    this.#store = store;
    this.#tails = tails;
  }

  mark(): CountingMark {
    const { journals } = this.#tails;
    const tails = journals.map((journal) => [journal, this.#tails.position(journal)] as const);
    return new CountingMark(this.#store, tails);
  }
}

/** The ends of journals at a moment. */
export class CountingMark {
  readonly #store: ScanStore;
  readonly #positions = new Map<number, number>();

  constructor(store: ScanStore, tails: Iterable<readonly [journal: number, position: number]>) {
    this.#store = store;
    this.add(tails);
  }

  /** Adds ends that other nodes report; a lower position changes nothing. */
  add(tails: Iterable<readonly [journal: number, position: number]>): void {
    for (const [journal, position] of tails) {
      const known = this.#positions.get(journal) ?? 0;
      this.#positions.set(journal, Math.max(known, position));
    }
  }

  isPast(): boolean {
    const { environment, watermarks } = this.#store;
    environment.refresh();
    for (const [journal, position] of this.#positions) {
      for (let partition = 0; partition < partitionCount; partition++) {
        const counted = watermarks.get(journal * partitionCount + partition) ?? 0;
        if (counted < position) return false;
      }
    }
    return true;
  }
}
