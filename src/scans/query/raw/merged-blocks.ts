/**
 * Many small blocks in one, for queries over raw scans. On a quiet installation a window has one scan, and opening a block
 * costs a query seven times as much as the scan in it.
 *
 *   blocks         … | 7 | 8 | 9 | … | 1,030 | 1,031 | …   stay as they are: all but these queries read them alone
 *   merged_blocks    |  7: their scans in one block  |     its `sequence` is that of the last; codes have no `previous`
 *
 * One is made of a thousand blocks at a time, once these are counted: 2 µs and 70 bytes a scan. Those with more than a few
 * scans are read fast enough and left alone, and so are damaged ones. It leaves with the first of its blocks that expires.
 */
import { readOr } from '../../../model/failure.ts';
import type { ValueInPlace } from '../../../store/environment.ts';
import type { ScanStore } from '../../../store/scans/scans.ts';
import { ScanBlock } from '../../block.ts';
import { setBlockSequence, Window } from '../../window.ts';

export interface MergeSizes {
  /** Blocks that one call looks at, and that there must be for it. */
  readonly blocksMax: number;
  /** Blocks of a merged one: fewer are not worth it. */
  readonly blocksMin: number;
  /** Entries of a block that is merged. */
  readonly entriesMax: number;
  /** Bytes that one call looks at: about 2 ms. */
  readonly bytesMax: number;
}

export const mergeSizes: MergeSizes = {
  blocksMax: 1_024,
  blocksMin: 16,
  entriesMax: 16,
  bytesMax: 4_194_304,
};

/**
 * Merges the next blocks where they are small. Inside a transaction.
 * @param countedTo sequence of the newest block that may be merged
 */
export function mergeBlocks(store: ScanStore, countedTo: number, sizes = mergeSizes): void {
  // Where it is damaged they are merged again: one that begins within another is never read.
  const mergedTo = store.meta.get('mergedTo', () => 0) ?? 0;
  if (countedTo - mergedTo < sizes.blocksMax) return;
  new Merge(store, sizes).run(mergedTo + 1, countedTo);
}

/** Removes those that have expired blocks. Inside a transaction. @param last sequence of the last that has expired */
export function expireMergedBlocks({ mergedBlocks }: ScanStore, last: number): void {
  const expired = Array.from(mergedBlocks.keys({ end: last + 1 }));
  for (const first of expired) mergedBlocks.remove(first);
}

class Merge {
  readonly #store: ScanStore;
  readonly #sizes: MergeSizes;
  /** The small blocks that follow one another: their scans, and their sequences. */
  readonly #window = new Window();
  #sequences: number[] = [];
  /** Bytes by the first sequence: to put them while blocks are read would move what is read. */
  readonly #made = new Map<number, Buffer>();

  constructor(store: ScanStore, sizes: MergeSizes) {
    this.#store = store;
    this.#sizes = sizes;
  }

  run(start: number, countedTo: number): void {
    const { blocks, mergedBlocks, meta } = this.#store;
    const { blocksMax, bytesMax } = this.#sizes;
    const range = { start, end: countedTo + 1, limit: blocksMax };
    let mergedTo = 0;
    let bytes = 0;
    blocks.eachInPlace(range, (sequence, value) => {
      if (!this.#add(sequence, value)) this.#close();
      mergedTo = sequence;
      bytes += value.end - value.start;
      return bytes < bytesMax;
    });
    this.#close();
    for (const [first, merged] of this.#made) mergedBlocks.put(first, merged);
    if (mergedTo > 0) meta.put('mergedTo', mergedTo);
  }

  /** @returns false for a block that is not to be merged */
  #add(sequence: number, value: ValueInPlace): boolean {
    const { bytes, start, end } = value;
    const block = readOr(() => new ScanBlock(bytes.subarray(start, end)), undefined);
    if (block === undefined || block.entries > this.#sizes.entriesMax) return false;
    if (!this.#store.blocks.isSound(sequence, value)) return false;
    for (let group = 0; group < block.groups; group++) this.#window.addGroup(block, group);
    this.#sequences.push(sequence);
    return true;
  }

  #close(): void {
    const sequences = this.#sequences;
    if (sequences.length >= this.#sizes.blocksMin) {
      const merged = this.#window.close(0, () => 0);
      setBlockSequence(merged, sequences.at(-1)!);
      this.#made.set(sequences[0]!, merged);
    }
    this.#sequences = [];
    this.#window.clear();
  }
}
