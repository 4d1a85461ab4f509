/** Marks: the journal positions that the blocks of a store reach. On every core, blocks have exactly the scans below them. */
import { partitionCount } from '../../model/code.ts';
import type { ScanStore } from './scans.ts';

/** The position of a partition is `positions[partition % length]`. */
export type PackedMarks = ReadonlyArray<readonly [journal: number, positions: readonly number[]]>;

export class ScanMarks {
  readonly #marks = new Map<number, Float64Array>();

  constructor(packed: PackedMarks = []) {
    for (const [journal, positions] of packed) {
      const marks = this.#of(journal);
      for (let at = 0; at < partitionCount; at++) marks[at] = positions[at % positions.length] ?? 0;
    }
  }

  /** The marks of all current blocks. */
  static counted({ watermarks }: Pick<ScanStore, 'watermarks'>): ScanMarks {
    const marks = new ScanMarks();
    for (const { key, value } of watermarks.range({}, () => undefined)) {
      marks.#of(Math.floor(key / partitionCount))[key % partitionCount] = value;
    }
    return marks;
  }

  /** Whether no mark of `other` is higher. */
  hasReached(other: ScanMarks): boolean {
    for (const [journal, marks] of other.#marks) {
      const own = this.#marks.get(journal);
      if (marks.some((position, partition) => position > (own?.[partition] ?? 0))) return false;
    }
    return true;
  }

  /** The partitions of a shard have the same position, so positions repeat with the number of shards. */
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
