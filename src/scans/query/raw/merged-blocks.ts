/**
 * Many small blocks in one, for queries over raw scans. On a quiet installation a window has one scan, and opening a block
 * costs a query seven times as much as the scan in it.
 *
 *   blocks         … | 7 | 8 | 9 | … | 1,030 | 1,031 | …   stay as they are; everything else reads these alone
 *   merged_blocks    |  7: their scans in one block  |     its `sequence` is that of the last; codes have no `previous`
 *
 * One is made of a thousand blocks at a time, once these are counted: 2 µs and 50 to 70 bytes a scan. Blocks with more than
 * a few scans are read fast enough and left alone, and so are damaged ones. A merged block leaves with the first of its
 * blocks that expires.
 */
import { Failure, isDamage, readOr } from '../../../model/failure.ts';
import type { ValueInPlace } from '../../../store/environment.ts';
import { readCheckpoints, type ScanStore } from '../../../store/scans/scans.ts';
import { ScanBlock } from '../../block.ts';
import { setBlockSequence, Window } from '../../window.ts';

export interface MergeSizes {
  /** Blocks that are counted and not merged before any are looked at, and that are looked at in one go. */
  readonly blocksMax: number;
  /** Blocks of a merged one: fewer are not worth it. */
  readonly blocksMin: number;
  /** Entries of a block that is merged. */
  readonly entriesMax: number;
  /** Bytes that are looked at in one go: about 2 ms. */
  readonly bytesMax: number;
}

export const mergeSizes: MergeSizes = {
  blocksMax: 1_024,
  blocksMin: 16,
  entriesMax: 16,
  bytesMax: 4_194_304,
};

/** What a shard does between two windows. */
export class BlockMerger {
  readonly #store: ScanStore;
  #isRunning: boolean;

  /** @param rawRetentionDays 0 = nobody can ask for raw scans: nothing is merged */
  constructor(store: ScanStore, rawRetentionDays: number) {
    this.#store = store;
    this.#isRunning = rawRetentionDays > 0;
  }

  /** Merges the next small blocks, in a transaction of its own: what is counted does not depend on it. */
  run(): void {
    if (!this.#isRunning) return;
    try {
      const counted = (['codes', 'workspaces'] as const).flatMap((of) => [
        ...readCheckpoints(this.#store, of),
      ]);
      mergeBlocks(this.#store, Math.min(...counted));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      // A full disk may have space the next time. Behind a damaged page no block can be found.
      this.#isRunning = !isDamage(error);
    }
  }
}

/**
 * Merges the next blocks where they are small; outside of transactions.
 * @param countedTo sequence of the newest block that may be merged
 * @throws Failure storage_full; data_damaged where a page is damaged
 */
export function mergeBlocks(store: ScanStore, countedTo: number, sizes = mergeSizes): void {
  // Where it is damaged they are merged once more: a query goes on behind what it has read.
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
  /** By the first sequence. */
  readonly #made = new Map<number, Buffer>();

  constructor(store: ScanStore, sizes: MergeSizes) {
    this.#store = store;
    this.#sizes = sizes;
  }

  run(start: number, countedTo: number): void {
    const { environment, blocks, mergedBlocks, meta } = this.#store;
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
    if (mergedTo === 0) return;
    environment.transactionSync(() => {
      for (const [first, merged] of this.#made) mergedBlocks.put(first, merged);
      meta.put('mergedTo', mergedTo);
    });
  }

  /** @returns false for a block that is not to be merged */
  #add(sequence: number, value: ValueInPlace): boolean {
    const { bytes, start, end } = value;
    const block = readOr(() => new ScanBlock(bytes.subarray(start, end)), undefined);
    if (block === undefined || block.entries > this.#sizes.entriesMax) return false;
    if (!this.#store.blocks.isSound(sequence, value) || !block.isWhole()) return false;
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
