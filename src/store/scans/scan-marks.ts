/**
 * Marks: how far something is in the journals, by journal and partition. A shard reads each journal in its order, so the
 * scans in its blocks up to any of them are those below a mark, on every machine.
 */
import { partitionCount } from '../../model/code.ts';
import type { BlockMark, PackedMarks } from '../delivery/scan-numbering.ts';
import type { ScanStore } from './scans.ts';

export const wordBits = 32;

export class ScanMarks {
  readonly #marks = new Map<number, Float64Array>();

  constructor(packed: PackedMarks = []) {
    this.#raiseAll(packed);
  }

  /** Of everything that is in blocks now. */
  static counted({ watermarks }: Pick<ScanStore, 'watermarks'>): ScanMarks {
    const marks = new ScanMarks();
    for (const { key, value } of watermarks.range({}, () => undefined)) {
      marks.#of(Math.floor(key / partitionCount))[key % partitionCount] = value;
    }
    return marks;
  }

  isBelow(journal: number, partition: number, position: number): boolean {
    return position < (this.#marks.get(journal)?.[partition] ?? 0);
  }

  raise(mark: BlockMark): void {
    if ('all' in mark) return this.#raiseAll(mark.all);
    for (const [journal, position] of mark[2]) {
      const marks = this.#of(journal);
      for (let partition = 0; partition < partitionCount; partition++) {
        if (hasPartition(mark, partition) && marks[partition]! < position) {
          marks[partition] = position;
        }
      }
    }
  }

  /** This scan is not below: what is behind it is not, either. */
  lower(journal: number, partition: number, position: number): void {
    const marks = this.#of(journal);
    marks[partition] = Math.min(marks[partition]!, position);
  }

  /** Whether none of another's is above. */
  hasReached(other: ScanMarks): boolean {
    for (const [journal, marks] of other.#marks) {
      const own = this.#marks.get(journal);
      if (marks.some((position, partition) => position > (own?.[partition] ?? 0))) return false;
    }
    return true;
  }

  copy(): ScanMarks {
    return new ScanMarks(this.pack());
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

  #raiseAll(packed: PackedMarks): void {
    for (const [journal, positions] of packed) {
      const marks = this.#of(journal);
      for (let at = 0; at < partitionCount; at++) {
        marks[at] = Math.max(marks[at]!, positions[at % positions.length] ?? 0);
      }
    }
  }

  #of(journal: number): Float64Array {
    let marks = this.#marks.get(journal);
    if (marks === undefined) this.#marks.set(journal, (marks = new Float64Array(partitionCount)));
    return marks;
  }
}

/** Whether a block has scans of a partition. */
export const hasPartition = (
  [low, high]: Exclude<BlockMark, { readonly all: PackedMarks }>,
  partition: number,
): boolean => (((partition < wordBits ? low : high) >>> (partition % wordBits)) & 1) === 1;
