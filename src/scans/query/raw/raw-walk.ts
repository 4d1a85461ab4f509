/**
 * Reads the blocks of a query in slices of about 10 ms. Blocks are immutable and numbered, so a walk continues by
 * number, and each slice has its own snapshot: one held for seconds would keep writers from reusing pages.
 *
 *   blocks   all from the first that may have scans of the range to the newest: for a workspace, or many codes
 *   chains   from block to block of a code (block.ts), then all since the last checkpoint: for codes with few scans
 *
 * The first block is found by time, with a slack because blocks of different shards overlap. A scan may be counted
 * late, after a crash or by a shard without a disk, so the walk continues to the newest block. It ends earlier when
 * it has found as many scans as the rollups have (`expected`) and is past the slack, unless it wants bots and visits
 * without a redirect, which have no expected number (`readsAll`). If a clock ran ahead or a shard was behind, blocks
 * may also lie before the first one: a walk that has not found `expected` then reads the blocks before.
 *
 * It skips and counts a damaged block. Checking a block costs as much as counting it, so blocks without the query's
 * codes are not checked: if damage hides the query's scans in one, the answer has fewer than `expected`.
 */
import { quarterMs } from '../../../model/day.ts';
import { partitionOf } from '../../../model/code.ts';
import { invalid, readOr } from '../../../model/failure.ts';
import type { ValueInPlace } from '../../../store/environment.ts';
import { newestSequence, readCheckpoints, type ScanStore } from '../../../store/scans/scans.ts';
import { ScanBlock } from '../../block.ts';
import { firstBlockOf } from '../../stored-blocks.ts';
import { namesPerDayMax, Summaries } from '../../summaries.ts';
import { EntryCounter } from './entry-counter.ts';
import type { RawAnswer, RawQuery } from './raw-query.ts';

/** Overlap of blocks of different shards that needs no second walk. */
const slackMs = 600_000;
/** Bytes of blocks in a slice: 10 ms for blocks of many scans. */
const sliceBytesMax = 4_194_304;
/** Cost of a block in addition to its bytes: a slice has 25,000 blocks of one scan. */
const blockCostBytes = 32;
/** Cost of a look-up by number, in blocks read in order. */
const lookUpCost = 4;
const chainedCodesMax = 1_000;
/** Eleven years, 8 bytes each. */
const quartersMax = 400_000;

type Share = number;

/**
 * @returns the answer; yields the share done, 0 to 1
 * @throws Failure data_damaged; validation_failed when the range is too long
 */
export function* walkRaw(store: ScanStore, query: RawQuery): Generator<Share, RawAnswer> {
  checkLength(query);
  const isEmpty = query.fromMs === query.endMs;
  if (query.codes !== undefined && !isEmpty) {
    const chained = new RawWalk(store, query);
    if (yield* chained.readChains()) return chained.answer();
  }
  const walk = new RawWalk(store, query);
  if (!isEmpty) yield* walk.readBlocks();
  return walk.answer();
}

export function countRaw(store: ScanStore, query: RawQuery): RawAnswer {
  const walk = walkRaw(store, query);
  let step = walk.next();
  while (step.done !== true) step = walk.next();
  return step.value;
}

function checkLength({ fromMs, endMs }: RawQuery): void {
  if ((endMs - fromMs) / quarterMs <= quartersMax) return;
  throw invalid('from', 'range_too_long', 'Expected a range of at most 11 years with a filter');
}

class RawWalk {
  readonly #store: ScanStore;
  readonly #query: RawQuery;
  readonly #toSequence: number;
  readonly #counter: EntryCounter;
  readonly #block = new ScanBlock();
  /** A walk by time skips blocks that end before this. */
  readonly #earliestMs: number;
  readonly #latestMs: number;
  #isPast = false;
  #damagedBlocks = 0;

  constructor(store: ScanStore, query: RawQuery) {
    this.#store = store;
    this.#query = query;
    this.#counter = new EntryCounter(query);
    store.environment.refresh();
    this.#toSequence = newestSequence(store);
    this.#earliestMs = query.fromMs - slackMs;
    this.#latestMs = query.endMs + slackMs;
  }

  answer(): RawAnswer {
    const { rollup, sketch, quarters, codes, all } = this.#counter;
    return { rollup, sketch, quarters, codes, all, damagedBlocks: this.#damagedBlocks };
  }

  *readBlocks(): Generator<Share> {
    const begin = firstBlockOf(this.#store, this.#earliestMs);
    yield* this.#read(begin, this.#toSequence);
    if (this.#query.expected === undefined || this.#isComplete()) return;
    const [oldest = begin] = this.#store.blocks.keys({ limit: 1 });
    yield* this.#read(oldest, begin - 1);
  }

  *#read(from: number, to: number): Generator<Share> {
    let next: number | undefined = from;
    while (next !== undefined && next <= to) {
      this.#store.environment.refresh();
      next = this.#readSlice(next, to);
      if (this.#isPast && this.#isComplete()) return;
      if (next !== undefined) yield (next - from) / (to - from + 1);
    }
  }

  /** @returns the next block; undefined at the end */
  #readSlice(from: number, to: number): number | undefined {
    let left = sliceBytesMax;
    let next: number | undefined;
    this.#store.blocks.eachInPlace({ start: from, end: to + 1 }, (sequence, value) => {
      left -= value.end - value.start + blockCostBytes;
      this.#countBlock(sequence, value);
      if (left <= 0) next = sequence + 1;
      return left > 0;
    });
    return next;
  }

  #isComplete(): boolean {
    const { expected = Infinity, readsAll = false } = this.#query;
    return !readsAll && this.#counter.all >= expected;
  }

  #countBlock(sequence: number, value: ValueInPlace): void {
    const block = this.#block;
    const isBlock = this.#open(value);
    const wanted = isBlock ? this.#firstWanted() : 0;
    if (wanted === -1) return;
    if (this.#store.blocks.isSound(sequence, value) && isBlock) {
      this.#counter.count(block, wanted, block.groups);
    } else this.#damagedBlocks++;
  }

  #open(value: ValueInPlace): boolean {
    return readOr(() => {
      this.#block.open(value);
      return true;
    }, false);
  }

  /** The first wanted group of the open block; -1 = none. */
  #firstWanted(): number {
    const { newestMs } = this.#block;
    if (newestMs >= this.#latestMs) this.#isPast = true;
    return newestMs < this.#earliestMs ? -1 : this.#counter.firstWanted(this.#block);
  }

  /**
   * Reads the scans of few codes along their chains.
   * @returns false when reading all blocks is faster, or a block is damaged: discard the counts
   */
  *readChains(): Generator<Share, boolean> {
    const chains = this.#chains();
    if (chains === undefined) return false;
    yield* this.#read(chains.recentFrom, this.#toSequence);
    for (const [at, { codeNo, newest }] of chains.codes.entries()) {
      let cost = 0;
      for (let sequence = newest; sequence > 0;) {
        const value = readOr(() => this.#store.blocks.getInPlace(sequence), 'damaged');
        // Expired, as are all before it.
        if (value === undefined) break;
        if (value === 'damaged') return false;
        const previous = this.#countChained(sequence, value, codeNo, chains.recentFrom);
        if (previous === undefined) return false;
        sequence = previous;
        cost += value.end - value.start + blockCostBytes * lookUpCost;
        if (cost < sliceBytesMax) continue;
        cost = 0;
        yield at / chains.codes.length;
        this.#store.environment.refresh();
      }
    }
    return true;
  }

  /** @returns the previous block of the chain, 0 = none needed; undefined = damaged */
  #countChained(
    sequence: number,
    value: ValueInPlace,
    codeNo: number,
    recentFrom: number,
  ): number | undefined {
    const block = this.#block;
    if (!this.#open(value) || !this.#store.blocks.isSound(sequence, value)) return undefined;
    const group = block.find(codeNo);
    if (group === -1) return undefined;
    if (sequence < recentFrom) this.#counter.count(block, group, group + 1);
    const isBefore = block.newestMs < this.#earliestMs;
    return isBefore && this.#isComplete() ? 0 : block.previous(group);
  }

  /** The newest block of each chain, and the first block after all checkpoints; undefined when chains are not shorter. */
  #chains():
    | { readonly codes: ReadonlyArray<{ codeNo: number; newest: number }>; recentFrom: number }
    | undefined {
    const { codes } = this.#query;
    const toSequence = this.#toSequence;
    if (codes === undefined || codes.length > chainedCodesMax) return undefined;
    const blocks = toSequence - firstBlockOf(this.#store, this.#earliestMs);
    const summaries = new Summaries(this.#store, namesPerDayMax);
    return readOr(() => {
      const checkpoints = readCheckpoints(this.#store);
      const found: Array<{ codeNo: number; newest: number }> = [];
      let recentFrom = toSequence + 1;
      let scans = 0;
      for (const codeNo of codes) {
        recentFrom = Math.min(recentFrom, checkpoints[partitionOf(codeNo)]! + 1);
        scans += summaries.total(codeNo);
        if (scans * lookUpCost > blocks) return undefined;
        found.push({ codeNo, newest: summaries.newestBlock(codeNo) });
      }
      return { codes: found, recentFrom };
    }, undefined);
  }
}
