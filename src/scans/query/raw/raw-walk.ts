/**
 * Reads the blocks that a query asks for, in slices of about 10 ms. Blocks are immutable and numbered, so a walk goes on by
 * number, and each slice has a snapshot of its own: one that was held for seconds would keep writers from using pages again.
 *
 *   blocks   all from the first that may have scans of the spans to the last that counts: of a workspace, of many codes;
 *            small ones as they were merged (merged-blocks.ts), or themselves where that one is damaged
 *   chains   from block to block of a code (block.ts), then all blocks since the last checkpoint: of codes with few scans
 *
 * Where it begins is found by time, with a slack for blocks of several shards beside each other. Nothing bounds how late a
 * scan is counted, after a crash or by a shard that had no disk, but later ones stand in later blocks: so the walk goes on
 * to the last block. It ends before that when as many scans were found as the rollups have (`expected`), and bots and people
 * in vain, of whom nothing is expected, have had the slack; where these are what is asked for, it does not (`readsAll`). Blocks
 * may also be earlier than their times say, where a clock ran ahead or a shard was behind for longer than the slack: a walk
 * that did not find what was expected goes on with the blocks before its beginning.
 *
 * A damaged block is passed over and counted. One that has nothing of the query's codes is not checked: that costs as much
 * as counting it, and a byte that hides the query's scans in it shows in what `expected` lacks.
 */
import { quarterMs } from '../../../model/day.ts';
import { partitionOf } from '../../../model/code.ts';
import { invalid, readOr } from '../../../model/failure.ts';
import type { ValueInPlace } from '../../../store/environment.ts';
import { newestSequence, readCheckpoints, type ScanStore } from '../../../store/scans/scans.ts';
import { findGroup } from '../../block.ts';
import { lastBlockBefore } from '../../stored-blocks.ts';
import { namesPerDayMax, Summaries } from '../../summaries.ts';
import { EntryCounter } from './entry-counter.ts';
import { mergeSizes } from './merged-blocks.ts';
import { type PackedRawAnswer, packRollup, packSketch, unpackAnswer } from './packed-answer.ts';
import type { RawAnswer, RawQuery } from './raw-query.ts';

/** What blocks of several shards may overlap without another walk. */
const slackMs = 600_000;
/** Bytes of blocks that a slice reads: with many scans to a block, 10 ms. */
const sliceBytesMax = 4_194_304;
/** What a block costs beside its bytes: a slice of blocks of one scan each are 25,000. */
const blockCostBytes = 32;
/** A block that is looked up by its number costs as much as so many that are read in order. */
const lookUpCost = 4;
const chainedCodesMax = 1_000;
/** A merged block costs as much as so many of the 1,024 that it is made of. */
const mergedCost = 160;
/** Eleven years: each takes 16 bytes. */
const quartersMax = 400_000;

type Share = number;

/**
 * @returns the answer; yields how much of the work is done, 0 to 1
 * @throws Failure data_damaged; validation_failed where the range is too long
 */
export function* walkRaw(store: ScanStore, query: RawQuery): Generator<Share, PackedRawAnswer> {
  checkLength(query);
  if (query.codes !== undefined) {
    const chained = new RawWalk(store, query);
    if (yield* chained.readChains()) return chained.answer();
  }
  const walk = new RawWalk(store, query);
  yield* walk.readBlocks();
  return walk.answer();
}

/** In one go. @throws as `walkRaw` */
export function countRaw(store: ScanStore, query: RawQuery): RawAnswer {
  const walk = walkRaw(store, query);
  let step = walk.next();
  while (step.done !== true) step = walk.next();
  return unpackAnswer(step.value, query.namesMax);
}

function checkLength({ spans }: RawQuery): void {
  const quarters = spans.reduce((sum, { fromMs, endMs }) => sum + (endMs - fromMs) / quarterMs, 0);
  if (quarters <= quartersMax) return;
  throw invalid('from', 'range_too_long', 'Expected a range of at most 11 years with a filter');
}

class RawWalk {
  readonly #store: ScanStore;
  readonly #query: RawQuery;
  readonly #toSequence: number;
  readonly #counter: EntryCounter;
  /** Blocks that end before are not read by time, nor is what follows those that end behind. */
  readonly #earliestMs: number;
  readonly #latestMs: number;
  /** A block behind all spans was read. */
  #isPast = false;
  #damagedBlocks = 0;
  /** Bytes that the slice still reads. */
  #sliceLeft = 0;

  constructor(store: ScanStore, query: RawQuery) {
    this.#store = store;
    this.#query = query;
    this.#counter = new EntryCounter(query);
    store.environment.refresh();
    this.#toSequence = query.toSequence ?? newestSequence(store);
    this.#earliestMs = (query.spans[0]?.fromMs ?? Infinity) - slackMs;
    this.#latestMs = (query.spans.at(-1)?.endMs ?? Infinity) + slackMs;
  }

  answer(): PackedRawAnswer {
    const counter = this.#counter;
    const { codes, scans } = counter.codes.filled();
    return {
      rollup: packRollup(counter.rollup()),
      ...packSketch(counter.sketch),
      quarters: counter.quarters(),
      codes,
      scansOfCodes: scans,
      all: counter.all(),
      damagedBlocks: this.#damagedBlocks,
    };
  }

  *readBlocks(): Generator<Share> {
    const begin = this.#begin();
    yield* this.#read(begin, this.#toSequence);
    if (this.#query.expected === undefined || this.#isComplete()) return;
    const [oldest = begin] = this.#store.blocks.keys({ limit: 1 });
    yield* this.#read(oldest, begin - 1);
  }

  #begin(): number {
    return lastBlockBefore(this.#store, this.#earliestMs) + 1;
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

  /** @returns the block to go on with; undefined at the end */
  #readSlice(from: number, to: number): number | undefined {
    this.#sliceLeft = sliceBytesMax;
    let next = from;
    while (next <= to) {
      const merged = this.#nextMerged(next, to) ?? to + 1;
      const countedTo = merged === next ? this.#countMerged(merged, to) : undefined;
      // One that is of no use: its first block is read, and the next look finds the one behind it.
      next =
        countedTo === undefined ? this.#readEach(next, Math.max(next, merged - 1)) : countedTo + 1;
      if (this.#sliceLeft <= 0) return next;
    }
    return undefined;
  }

  /** @returns the block to go on with */
  #readEach(from: number, to: number): number {
    let next = to + 1;
    this.#store.blocks.eachInPlace({ start: from, end: to + 1 }, (sequence, value) => {
      this.#sliceLeft -= value.end - value.start + blockCostBytes;
      this.#countBlock(sequence, value);
      if (this.#sliceLeft <= 0) next = sequence + 1;
      return this.#sliceLeft > 0;
    });
    return next;
  }

  #nextMerged(from: number, to: number): number | undefined {
    const range = { start: from, end: to + 1, limit: 1 };
    return readOr(() => [...this.#store.mergedBlocks.keys(range)][0], undefined);
  }

  /**
   * Counts the blocks of a merged one.
   * @returns the last of them; undefined where it is damaged, or has blocks behind `to`: nothing is counted then
   */
  #countMerged(first: number, to: number): number | undefined {
    const { mergedBlocks } = this.#store;
    const { reader } = this.#counter;
    const value = readOr(() => mergedBlocks.getInPlace(first), undefined);
    if (value === undefined || !mergedBlocks.isSound(first, value)) return undefined;
    if (!reader.open(value) || reader.sequence > to) return undefined;
    const last = reader.sequence;
    this.#sliceLeft -= value.end - value.start + blockCostBytes;
    const wanted = this.#firstWanted();
    if (wanted !== -1 && !this.#counter.countGroups(wanted, reader.groups)) this.#damagedBlocks++;
    return last;
  }

  #isComplete(): boolean {
    const { expected, readsAll = false } = this.#query;
    if (expected === undefined || readsAll) return false;
    const all = this.#counter.all();
    return expected.every((scans, span) => all[span]! >= scans);
  }

  #countBlock(sequence: number, value: ValueInPlace): void {
    const { blocks } = this.#store;
    const { reader } = this.#counter;
    if (!reader.open(value)) {
      this.#damagedBlocks++;
      blocks.isSound(sequence, value);
      return;
    }
    const wanted = this.#firstWanted();
    if (wanted === -1) return;
    const isRead =
      blocks.isSound(sequence, value) && this.#counter.countGroups(wanted, reader.groups);
    if (!isRead) this.#damagedBlocks++;
  }

  /** The first group of the open block that the query may count; -1 = it has nothing for it. */
  #firstWanted(): number {
    const { newestMs } = this.#counter.reader;
    if (newestMs >= this.#latestMs) this.#isPast = true;
    return newestMs < this.#earliestMs ? -1 : this.#counter.firstWanted();
  }

  /**
   * Reads what few codes have along their chains.
   * @returns false when that would take longer than reading all blocks, or cannot be done: then the answer is of no use
   */
  *readChains(): Generator<Share, boolean> {
    const chains = this.#chains();
    if (chains === undefined) return false;
    yield* this.#read(chains.recentFrom, this.#toSequence);
    for (const [at, { codeNo, newest }] of chains.codes.entries()) {
      let cost = 0;
      for (let sequence = newest; sequence > 0;) {
        const value = readOr(() => this.#store.blocks.getInPlace(sequence), 'damaged');
        // It has expired, and so have those before it.
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

  /** @returns the block before in the chain, 0 = none that is needed; undefined where it cannot be told */
  #countChained(
    sequence: number,
    value: ValueInPlace,
    codeNo: number,
    recentFrom: number,
  ): number | undefined {
    const { reader } = this.#counter;
    if (!reader.open(value) || !this.#store.blocks.isSound(sequence, value)) return undefined;
    const group = findGroup(reader, codeNo);
    if (group === -1) return undefined;
    if (sequence < recentFrom && !this.#counter.countGroups(group, group + 1)) return undefined;
    const isBefore = reader.newestMs < this.#earliestMs;
    return isBefore && this.#isComplete() ? 0 : reader.previous(group);
  }

  /** Where chains begin, and the first block that none of them has; undefined where they are no shorter way. */
  #chains():
    | { readonly codes: ReadonlyArray<{ codeNo: number; newest: number }>; recentFrom: number }
    | undefined {
    const { codes } = this.#query;
    const toSequence = this.#toSequence;
    if (codes === undefined || codes.length > chainedCodesMax) return undefined;
    const begin = this.#begin();
    const merged = this.#store.mergedBlocks.count({ start: begin, end: toSequence + 1 });
    // Some have fewer blocks than that.
    const blocks = Math.max(
      toSequence - begin - merged * (mergeSizes.blocksMax - mergedCost),
      ((toSequence - begin) * mergedCost) / mergeSizes.blocksMax,
    );
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
