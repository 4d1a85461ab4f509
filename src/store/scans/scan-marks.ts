/**
 * Marks: how far the scans in the blocks of a store go, by journal and partition. A shard reads each journal in order, so
 * these blocks have exactly the scans below the marks, on every core.
 */
import { partitionCount } from '../../model/code.ts';
import type { ScanStore } from './scans.ts';

/** Of journals: positions by partition, `positions[partition % length]`. */
export type PackedMarks = ReadonlyArray<readonly [journal: number, positions: readonly number[]]>;

export class ScanMarks {
  readonly #marks = new Map<number, Float64Array>();

  constructor(packed: PackedMarks = []) {
    for (const [journal, positions] of packed) {
      const marks = this.#of(journal);
      for (let at = 0; at < partitionCount; at++) marks[at] = positions[at % positions.length] ?? 0;
    }
  }

  /** Of everything that is in blocks now. */
  static counted({ watermarks }: Pick<ScanStore, 'watermarks'>): ScanMarks {
    const marks = new ScanMarks();
    for (const { key, value } of watermarks.range({}, () => undefined)) {
      marks.#of(Math.floor(key / partitionCount))[key % partitionCount] = value;
    }
    return marks;
  }

  /** Whether none of another's is above. */
  hasReached(other: ScanMarks): boolean {
    for (const [journal, marks] of other.#marks) {
      const own = this.#marks.get(journal);
      if (marks.some((position, partition) => position > (own?.[partition] ?? 0))) return false;
    }
    return true;
  }

  /** Of a shard all partitions are alike, and it has every so-many-th. */
  pack(): PackedMarks {
    return [...this.#marks].map(([journal, marks]) => {
      let period = 1;
      const isPeriod = (position: number, at: number): boolean => position === marks[at % period];
      while (!marks.every(isPeriod)) period++;
      return [journal, [...marks.subarray(0, period)]] as const;
    });
  }

  #of(journal: number): Float64Array {
    let marks = this.#marks.get(journal);
    if (marks === undefined) this.#marks.set(journal, (marks = new Float64Array(partitionCount)));
    return marks;
  }
}
