/**
 * Counts the entries of a query block by block, in slices of about 10 ms: from the first block that may have scans of the
 * range to the newest. Blocks are immutable and numbered, so a walk continues by number, and each slice has its own snapshot:
 * one held for seconds would keep writers from reusing pages.
 *
 * The first block is found by time, with a slack because blocks of different shards overlap. A scan may be counted late,
 * after a crash or by a shard without a disk. So the walk ends before the newest block only if it is past the slack and has
 * found as many scans as the rollups have (`expected`); bots and visits without a redirect have no such number (`readsAll`).
 * If a clock ran ahead, blocks before the first one may have the rest: they are read last.
 *
 * A damaged block is skipped and counted. Checking a block costs as much as counting it, so blocks without the query's
 * codes are not checked: if damage hides the query's scans in one, the answer has fewer than `expected`.
 */
import { quarterMs } from '../../../model/day.ts';
import { invalid, readOr } from '../../../model/failure.ts';
import type { ValueInPlace } from '../../../store/environment.ts';
import { newestSequence, type ScanStore } from '../../../store/scans/scans.ts';
import { ScanBlock } from '../../counting/block.ts';
import { firstBlockOf } from '../../counting/stored-blocks.ts';
import { EntryCounter } from './entry-counter.ts';
import type { RawAnswer, RawQuery } from './raw-query.ts';

/** Overlap of blocks of different shards that needs no second walk. */
const slackMs = 600_000;
/** Bytes of blocks in a slice: 10 ms for blocks of many scans. */
const sliceBytesMax = 4_194_304;
/** Cost of a block in addition to its bytes: a slice has 25,000 blocks of one scan. */
const blockCostBytes = 32;
/** Eleven years, 8 bytes each. */
const quartersMax = 400_000;

/**
 * @returns the answer; yields after each slice
 * @throws Failure data_damaged; validation_failed when the range is too long
 */
export function* walkRaw(store: ScanStore, query: RawQuery): Generator<void, RawAnswer> {
  const { fromMs, endMs } = query;
  if ((endMs - fromMs) / quarterMs > quartersMax) {
    throw invalid('from', 'range_too_long', 'Expected a range of at most 11 years with a filter');
  }
  const walk = new RawWalk(store, query);
  if (fromMs < endMs) yield* walk.read();
  return walk.answer();
}

export function countRaw(store: ScanStore, query: RawQuery): RawAnswer {
  const walk = walkRaw(store, query);
  let step = walk.next();
  while (step.done !== true) step = walk.next();
  return step.value;
}

class RawWalk {
  readonly #store: ScanStore;
  readonly #query: RawQuery;
  readonly #counter: EntryCounter;
  readonly #block = new ScanBlock();
  /** Blocks that end before this are skipped. */
  readonly #earliestMs: number;
  readonly #latestMs: number;
  #isPast = false;
  #damagedBlocks = 0;

  constructor(store: ScanStore, query: RawQuery) {
    this.#store = store;
    this.#query = query;
    this.#counter = new EntryCounter(query);
    this.#earliestMs = query.fromMs - slackMs;
    this.#latestMs = query.endMs + slackMs;
  }

  answer(): RawAnswer {
    const { rollup, sketch, quarters, codes, all } = this.#counter;
    return { rollup, sketch, quarters, codes, all, damagedBlocks: this.#damagedBlocks };
  }

  *read(): Generator<void> {
    this.#store.environment.refresh();
    const begin = firstBlockOf(this.#store, this.#earliestMs);
    yield* this.#readBlocks(begin, newestSequence(this.#store));
    if (this.#query.expected === undefined || this.#isComplete()) return;
    const [oldest = begin] = this.#store.blocks.keys({ limit: 1 });
    yield* this.#readBlocks(oldest, begin - 1);
  }

  *#readBlocks(from: number, to: number): Generator<void> {
    let next: number | undefined = from;
    while (next !== undefined && next <= to) {
      this.#store.environment.refresh();
      next = this.#readSlice(next, to);
      if (this.#isPast && this.#isComplete()) return;
      if (next !== undefined) yield;
    }
  }

  /** @returns the next block; undefined at the end */
  #readSlice(from: number, to: number): number | undefined {
    const walk = this.#store.blocks.walkInPlace({ start: from, end: to + 1 });
    let left = sliceBytesMax;
    try {
      for (let sequence = walk.next(); sequence !== undefined; sequence = walk.next()) {
        left -= walk.value.end - walk.value.start + blockCostBytes;
        this.#countBlock(sequence, walk.value);
        if (left <= 0) return sequence + 1;
      }
      return undefined;
    } finally {
      walk.close();
    }
  }

  #isComplete(): boolean {
    const { expected = Infinity, readsAll = false } = this.#query;
    return !readsAll && this.#counter.all >= expected;
  }

  #countBlock(sequence: number, value: ValueInPlace): void {
    const block = this.#block;
    const isBlock = readOr(() => {
      block.open(value);
      return true;
    }, false);
    const wanted = isBlock ? this.#firstWanted() : 0;
    if (wanted === -1) return;
    if (this.#store.blocks.isSound(sequence, value) && isBlock) {
      this.#counter.count(block, wanted);
    } else this.#damagedBlocks++;
  }

  /** The first wanted group of the open block; -1 = none. */
  #firstWanted(): number {
    const { newestMs } = this.#block;
    if (newestMs >= this.#latestMs) this.#isPast = true;
    return newestMs < this.#earliestMs ? -1 : this.#counter.firstWanted(this.#block);
  }
}
