/**
 * Marks: how far something is in the journals, by journal and partition. A shard reads each journal in its order, so the
 * scans in its blocks up to any of them are those below a mark, on every machine.
 */
import { partitionCount, partitionOf } from '../../model/code.ts';
import type { ScanBlock } from '../../scans/block.ts';
import type { ScanStore } from '../../store/scans/scans.ts';
import type {
  BlockMark,
  PackedMarks,
  ScanOrder,
  ScanSpan,
} from '../../store/delivery/scan-numbering.ts';

const wordBits = 32;

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

/** Of the partitions that have scans in it: those of its shard without one have none below either. */
export function markOf(block: ScanBlock): BlockMark {
  const words: [low: number, high: number] = [0, 0];
  const journals = new Map<number, number>();
  for (let group = 0; group < block.groups; group++) {
    const partition = partitionOf(block.codeNo(group));
    const word = partition < wordBits ? 0 : 1;
    words[word] = (words[word] | (1 << (partition % wordBits))) >>> 0;
    const first = block.first(group);
    for (let entry = first; entry < first + block.count(group); entry++) {
      const end = block.position(entry) + 1;
      const journal = block.journal(entry);
      if (end > (journals.get(journal) ?? 0)) journals.set(journal, end);
    }
  }
  return [...words, [...journals]];
}

/** Whether a scan is in a block or in one before it, where it is in none before the block's journals begin. */
export function isUpToMark(
  mark: BlockMark,
  partition: number,
  [, journal, position]: ScanOrder,
): boolean {
  if ('all' in mark || !hasPartition(mark, partition)) return false;
  return mark[2].some(([known, end]) => known === journal && position < end);
}

const hasPartition = (
  [low, high]: Exclude<BlockMark, { readonly all: PackedMarks }>,
  partition: number,
): boolean => (((partition < wordBits ? low : high) >>> (partition % wordBits)) & 1) === 1;

/** Below 0 when `one` comes first. */
export const compareScans = (one: ScanOrder, other: ScanOrder): number =>
  one[0] - other[0] || one[1] - other[1] || one[2] - other[2];

export const isInSpan = (span: ScanSpan, scan: ScanOrder): boolean =>
  compareScans([span[0], span[1], span[2]], scan) <= 0 &&
  compareScans(scan, [span[0], span[3], span[4]]) <= 0;

/** The scan at an entry; undefined for an entry that the block has not. */
export function scanAt(block: ScanBlock, entry: number): ScanOrder | undefined {
  for (let group = 0; group < block.groups; group++) {
    const first = block.first(group);
    if (entry < first || entry >= first + block.count(group)) continue;
    return [block.codeNo(group), block.journal(entry), block.position(entry)];
  }
  return undefined;
}
