/**
 * The raw scans of a code, newest first: a walk along its chain of blocks, back to where they have expired.
 *
 *   newest block --previous--> block --previous--> … --> expired, or 0
 *
 * A cursor names a block and how much of it is done, so it stays valid while scans come in. A walk keeps no snapshot
 * between steps: a long one would keep the store from reusing pages. Each step reads few blocks, because it shares
 * the thread. A range ends when as many scans were found as the rollups count in it; time cannot end it, because
 * clocks step. A damaged block ends the walk: only it knows the block before, so the next step fails.
 */
import { dayOf } from '../../model/day.ts';
import { dataDamaged, readOr } from '../../model/failure.ts';
import type { ScanStore } from '../../store/scans/scans.ts';
import { ScanBlock } from '../counting/block.ts';
import { coresMsMax, lastBlockOf, storedBlocks } from '../counting/stored-blocks.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import type { Ranges } from './range.ts';
import { isWithin, spansOf } from './spans.ts';
import { Dimension, Rollup } from '../counting/rollup.ts';
import { type RawScan, rawScan, takeShown } from '../counting/scanned-event.ts';
import type { CodeNo } from '../../model/numbers.ts';
import type { RouteLabel } from '../../model/routing/labels.ts';

/** Bytes of blocks that a step reads: about 1 ms. */
const stepBytesMax = 524_288;
const blockCostBytes = 8_192;

export interface RawScanFilter extends LocalRange {
  readonly codeNo: CodeNo;
  readonly bots: 'without' | 'with';
  /** Labels of the code's routes; absent = it has never had any. */
  readonly labels?: readonly RouteLabel[];
}

/** Bounds of a search for a code's block before another one: about 20 ms. */
const lookedAtMax = 2_000;
const lookedAtBytesMax = 16_777_216;

export interface RawScanCursor {
  readonly sequence: number;
  /** Entries of it that are done, counted from its end. */
  readonly done: number;
  /** Scans of the range not found yet. */
  readonly left: number;
}

export interface RawStep {
  readonly scans: readonly RawScan[];
  readonly next: RawScanCursor | undefined;
}

export class RawScans {
  readonly #store: ScanStore;
  readonly #ranges: Ranges;

  constructor(store: ScanStore, ranges: Ranges) {
    this.#store = store;
    this.#ranges = ranges;
  }

  /** Starts at the newest scan; undefined when the range has none. @param timeMs of the block at which another core's page stopped */
  begin(filter: RawScanFilter, timeMs?: number): RawScanCursor | undefined {
    const { codeNo, bots } = filter;
    this.#ranges.refresh();
    let [left] = this.#ranges.scans(codeNo, spansOf(filter));
    if (bots === 'with') left += this.#bots(codeNo, filter);
    const { recent, summaries } = this.#ranges;
    const sequence = recent.newestOf(codeNo) || summaries.newestBlock(codeNo);
    if (left === 0 || sequence === 0) return undefined;
    const newest = timeMs === undefined ? sequence : lastBlockOf(this.#store, timeMs + coresMsMax);
    const begin = sequence <= newest ? sequence : this.#blockWith(codeNo, newest);
    return { sequence: begin ?? sequence, done: 0, left };
  }

  /** Bots of the UTC days that a range touches: if that is more than the range has, the walk ends later. */
  #bots(codeNo: CodeNo, range: LocalRange): number {
    const { fromMs, endMs } = spansOf(range);
    const rollup = new Rollup(0);
    const days = { fromDay: dayOf(fromMs), toDay: dayOf(endMs - 1) };
    this.#ranges.add(codeNo, spansOf(days), { rollup });
    let bots = 0;
    for (const { count } of rollup.values(Dimension.bot)) bots += count;
    return bots;
  }

  /** The last block up to `newest` with scans of the code; undefined when none is near. */
  #blockWith(codeNo: CodeNo, newest: number): number | undefined {
    let bytes = 0;
    const range = { start: newest, reverse: true, limit: lookedAtMax };
    for (const [sequence, block] of storedBlocks(this.#store, range)) {
      if (block !== undefined && block.find(codeNo) !== -1) return sequence;
      bytes += block?.length ?? 0;
      if (bytes >= lookedAtBytesMax) return undefined;
    }
    return undefined;
  }

  /** Up to `limit` scans; fewer, or none, do not mean the end. */
  step(filter: RawScanFilter, from: RawScanCursor, limit: number): RawStep {
    const { codeNo, bots, labels = [] } = filter;
    const scans: RawScan[] = [];
    let { sequence, done, left } = from;
    let bytes = 0;
    const spans = spansOf(filter);
    this.#ranges.refresh();
    while (sequence > 0 && left > 0) {
      const block = readOr(() => this.#block(sequence), 'damaged');
      if (block === 'damaged' && scans.length > 0) {
        return { scans, next: cursorAt(sequence, done, left) };
      }
      if (block === 'damaged') throw dataDamaged('A block of scans of this time is damaged');
      const group = block?.find(codeNo) ?? -1;
      if (block === undefined || group === -1) break;
      const first = block.first(group);
      for (let entry = first + block.count(group) - 1 - done; entry >= first; entry--) {
        if (left === 0 || scans.length === limit)
          return { scans, next: cursorAt(sequence, done, left) };
        done++;
        if (!isWithin(block.timeMs(entry), spans)) continue;
        const isListed = block.isScan(entry) || (bots === 'with' && block.bot(entry) !== 0);
        if (!isListed || !takeShown(block, entry)) continue;
        scans.push(rawScan(block, entry, labels));
        left--;
      }
      sequence = block.previous(group);
      done = 0;
      bytes += block.length + blockCostBytes;
      if (bytes >= stepBytesMax) return { scans, next: cursorAt(sequence, done, left) };
    }
    return { scans, next: undefined };
  }

  #block(sequence: number): ScanBlock | undefined {
    const bytes = this.#store.blocks.get(sequence);
    return bytes === undefined ? undefined : new ScanBlock(bytes);
  }
}

const cursorAt = (sequence: number, done: number, left: number): RawScanCursor | undefined =>
  sequence === 0 || left === 0 ? undefined : { sequence, done, left };
