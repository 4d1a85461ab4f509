/**
 * How far counting has come: whether every scan that was answered by a moment is in the numbers. A scan
 * is in its journal before it is answered and below a watermark once it is counted, so it is enough to
 * compare where the journals ended then with where the watermarks are now.
 */
import { partitionCount } from '../model/code.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import type { JournalPositions } from './journal/positions.ts';

/** Where every journal ended at a moment: position by journal. */
type JournalMark = ReadonlyMap<number, number>;

export class Counting {
  readonly #store: ScanStore;
  readonly #tails: JournalPositions;

  constructor(store: ScanStore, tails: JournalPositions) {
    this.#store = store;
    this.#tails = tails;
  }

  mark(): JournalMark {
    const { journals } = this.#tails;
    return new Map(journals.map((journal) => [journal, this.#tails.position(journal)]));
  }

  /** Whether every scan below the mark is counted. */
  isPast(mark: JournalMark): boolean {
    const { environment, watermarks } = this.#store;
    environment.refresh();
    for (const [journal, position] of mark) {
      for (let partition = 0; partition < partitionCount; partition++) {
        const counted = watermarks.get(journal * partitionCount + partition) ?? 0;
        if (counted < position) return false;
      }
    }
    return true;
  }
}
