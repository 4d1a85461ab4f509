/** Scans and blocks by their places in the journals, which mean the same on every machine. */
import { partitionOf } from '../../model/code.ts';
import type { ScanBlock } from '../../scans/block.ts';
import { storedBlocks } from '../../scans/stored-blocks.ts';
import type { BlockMark, ScanOrder, ScanSpan } from '../../store/delivery/scan-numbering.ts';
import { hasPartition, type ScanMarks, wordBits } from '../../store/scans/scan-marks.ts';
import type { ScanStore } from '../../store/scans/scans.ts';

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
const compareScans = (one: ScanOrder, other: ScanOrder): number =>
  one[0] - other[0] || one[1] - other[1] || one[2] - other[2];

export const isInSpan = (span: ScanSpan, scan: ScanOrder): boolean =>
  compareScans([span[0], span[1], span[2]], scan) <= 0 &&
  compareScans(scan, [span[0], span[3], span[4]]) <= 0;

/**
 * The scans of a delivery, a span for each code and journal: within a journal they stand together, so a span has no scan of
 * another block, as one over several journals would. Undefined where the block has no such entries.
 */
export function spansOf(block: ScanBlock, first: number, last: number): ScanSpan[] | undefined {
  const [from, until] = [groupAt(block, first), groupAt(block, last)];
  if (from === undefined || until === undefined) return undefined;
  const found: ScanSpan[] = [];
  for (let group = from; group <= until; group++) {
    const codeNo = block.codeNo(group);
    const end = Math.min(last + 1, block.first(group) + block.count(group));
    const spans = new Map<number, [first: number, last: number]>();
    for (let entry = Math.max(first, block.first(group)); entry < end; entry++) {
      const [journal, position] = [block.journal(entry), block.position(entry)];
      const [low, high] = spans.get(journal) ?? [position, position];
      spans.set(journal, [Math.min(low, position), Math.max(high, position)]);
    }
    for (const [journal, [low, high]] of spans) found.push([codeNo, journal, low, journal, high]);
  }
  return found;
}

/** Of one walk over blocks: some milliseconds. */
const blocksMax = 256;
const bytesMax = 4_194_304;

/** The last block in a row whose scans are all below the marks. @param from begins behind this one */
export function endBelow(
  scans: Pick<ScanStore, 'blocks'>,
  from: number,
  marks: ScanMarks,
): { readonly block: number; readonly isCut: boolean } {
  let block = from;
  let [count, bytes] = [0, 0];
  for (const [sequence, stored] of storedBlocks(scans, { start: from + 1 })) {
    // What a damaged one had is in no other.
    if (stored !== undefined && !areBelow(stored, marks)) break;
    block = sequence;
    bytes += stored?.length ?? 0;
    if (++count === blocksMax || bytes >= bytesMax) return { block, isCut: true };
  }
  return { block, isCut: false };
}

function areBelow(block: ScanBlock, marks: ScanMarks): boolean {
  for (let group = 0; group < block.groups; group++) {
    const partition = partitionOf(block.codeNo(group));
    const first = block.first(group);
    for (let entry = first; entry < first + block.count(group); entry++) {
      if (!marks.isBelow(block.journal(entry), partition, block.position(entry))) return false;
    }
  }
  return true;
}

/** Behind all scans of a code. */
const codeEnd = Number.MAX_SAFE_INTEGER;

/**
 * The first entries of a block: all scans up to a code, without the rest of that code's. Which of two journals comes first
 * differs from core to core and from block to block, so no single scan tells where they end. Undefined where the block has
 * no such entries. @param count at least 1
 */
export function partOf(
  block: ScanBlock,
  count: number,
): { readonly last: ScanOrder; readonly rest: readonly ScanSpan[] } | undefined {
  const group = groupAt(block, count - 1);
  if (group === undefined) return undefined;
  const end = block.first(group) + block.count(group);
  const rest = count === end ? [] : spansOf(block, count, end - 1);
  return rest && { last: [block.codeNo(group), codeEnd, codeEnd], rest };
}

/** Whether a scan is in the part before `last`. An earlier release named a single scan: it tells nothing of other journals. */
export function isInPart(last: ScanOrder, [codeNo, journal, position]: ScanOrder): boolean {
  if (codeNo !== last[0]) return codeNo < last[0];
  return last[1] === codeEnd || (journal === last[1] && position <= last[2]);
}

/** The group of an entry; undefined for an entry that the block has not. */
function groupAt(block: ScanBlock, entry: number): number | undefined {
  for (let group = 0; group < block.groups; group++) {
    const first = block.first(group);
    if (entry >= first && entry < first + block.count(group)) return group;
  }
  return undefined;
}
