/** Scans and blocks by their places in the journals, which mean the same on every machine. */
import { partitionOf } from '../../model/code.ts';
import type { ScanBlock } from '../../scans/block.ts';
import type { BlockMark, ScanOrder, ScanSpan } from '../../store/delivery/scan-numbering.ts';
import { hasPartition, wordBits } from '../../store/scans/scan-marks.ts';

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
