/**
 * A range of days of one counter: whole months, single days, partial days at the edges, the summary's day, and the blocks
 * since the last checkpoint, all in one snapshot. The cost depends on the months in the range, not on the scans; a code
 * without a summary costs one look-up.
 *
 * In a time zone, the edges of a range lie within UTC days. If the day is cut there (counting/days/day.ts), its pieces are
 * added. If not, but all of its scans lie on one side, it is added or left out; else the caller counts that part from raw
 * scans.
 */
import { quarterMs } from '../../model/day.ts';
import { readOr } from '../../model/failure.ts';
import { Sketch } from '../../model/sketch/sketch.ts';
import type { TimeRange } from '../../model/zones/local-range.ts';
import {
  type CounterKind,
  counterKindOf,
  newestSequence,
  type ScanStore,
} from '../../store/scans/scans.ts';
import type { ScanBlock } from '../counting/block.ts';
import type { Timed, VisitQuarter } from '../counting/days/stored-piece.ts';
import { Dimension, Rollup } from '../counting/rollup.ts';
import { storedBlocks } from '../counting/stored-blocks.ts';
import { firstDayOf, namesPerDayMax, Summaries } from '../counting/summaries.ts';
import { RecentBlocks } from './recent-blocks.ts';
import { clip, isWithin, overlapOf, scansWithin, type Spans } from './spans.ts';

export interface RawPart extends TimeRange {
  readonly scans: number;
}

export interface Gathered {
  readonly records: number;
  /** Parts of the range that were not added. */
  readonly rawParts: readonly RawPart[];
}

export interface Wanted {
  readonly rollup: Rollup;
  /** Absent = skip scanners, which are most of the cost. */
  readonly sketch?: Sketch | undefined;
  /** `all` = also bots and visits without a redirect, whose hours are not stored; default: scans. */
  readonly of?: 'scans' | 'all';
}

/** Rollups cannot answer: they have one count for a day. */
export class NeedsRawScans extends Error {
  override readonly name = 'NeedsRawScans';
}

export class Ranges {
  readonly #store: ScanStore;
  readonly summaries: Summaries;
  readonly recent: RecentBlocks;

  constructor(store: ScanStore) {
    this.#store = store;
    this.summaries = new Summaries(store, namesPerDayMax);
    this.recent = new RecentBlocks(store);
  }

  /** Moves reads to the newest commit, until the next event-loop cycle. */
  refresh(): void {
    this.#store.environment.refresh();
    this.recent.refresh();
  }

  oldestRawMs(): number | undefined {
    for (const [, block] of storedBlocks(this.#store, {})) if (block) return block.newestMs;
    return undefined;
  }

  /** Raw scans before this time have expired; -Infinity = none has, Infinity = none is kept. */
  expiredBeforeMs(): number {
    const [oldest = newestSequence(this.#store) + 1] = this.#store.blocks.keys({ limit: 1 });
    return oldest === 1 ? -Infinity : (this.oldestRawMs() ?? Infinity);
  }

  add(counter: number, spans: Spans, wanted: Wanted): Gathered {
    let records = 0;
    const rawParts: Array<TimeRange & { scans: number }> = [];
    for (const piece of this.pieces(counter, spans, 'months')) {
      records++;
      // Raw scans include those since the checkpoint.
      const part = rawParts.find((one) => overlapOf(piece, one) === 'inside');
      if (part !== undefined) {
        part.scans += piece.scans;
        continue;
      }
      const left = addOrLeave(piece, spans, wanted);
      if (left !== undefined) rawParts.push(left);
    }
    return { records, rawParts };
  }

  /** @returns scans, records read */
  scans(counter: number, spans: Spans): [scans: number, records: number] {
    let scans = 0;
    let records = 0;
    for (const piece of this.pieces(counter, spans, 'months')) {
      records++;
      scans += clip(piece, spans).scans;
    }
    return [scans, records];
  }

  /**
   * The summary's day, the days at the edges, the other days (or months and the days around them), the scans since. A piece
   * may lie partly in the range; a time may come twice. Read a piece before you ask for the next: the store reuses its bytes.
   */
  *pieces(counter: number, spans: Spans, by: 'days' | 'months'): Generator<CountedPiece> {
    const { fromDay, endDay, firstMonth, endMonth, edgeDays } = spans;
    const { summaries } = this;
    const newest = summaries.newestPieces(counter);
    if (newest !== undefined) {
      const edges = edgeDays.map((day) => summaries.closedPieces(counter, day, day + 1));
      for (const pieces of [newest, ...edges]) {
        for (const piece of pieces) if (overlapOf(piece, spans) !== 'outside') yield piece;
      }
      const hasMonths = by === 'months' && firstMonth < endMonth;
      const readMonths = () => summaries.monthPieces(counter, firstMonth, endMonth);
      // If a month is damaged, its days are read.
      const months = hasMonths ? readOr(readMonths, undefined) : undefined;
      if (months === undefined) yield* summaries.closedPieces(counter, fromDay, endDay);
      else {
        yield* months;
        yield* summaries.closedPieces(counter, fromDay, firstDayOf(firstMonth));
        yield* summaries.closedPieces(counter, firstDayOf(endMonth), endDay);
      }
    }
    yield* this.#recent(counter, spans);
  }

  /** By quarter of an hour. */
  #recent(counter: number, spans: Spans): Iterable<CountedPiece> {
    const of = counterKindOf(counter);
    const quarters = new Map<number, RecentPiece>();
    this.recent.each(counter, (block, entry) => {
      const timeMs = block.timeMs(entry);
      if (!isWithin(timeMs, spans)) return;
      const quarter = Math.floor(timeMs / quarterMs);
      let piece = quarters.get(quarter);
      if (piece === undefined) quarters.set(quarter, (piece = new RecentPiece(quarter, spans, of)));
      piece.take(block, entry);
    });
    return quarters.values();
  }
}

export interface CountedPiece extends Timed {
  /** Without names. */
  counts(): Rollup;
  /** Call no other method afterwards. @param sketch undefined = skip scanners */
  addTo(rollup: Rollup, sketch: Sketch | undefined): void;
}

class RecentPiece implements CountedPiece {
  readonly fromMs: number;
  readonly endMs: number;
  scans = 0;
  readonly #of: CounterKind;
  readonly #blocks: ScanBlock[] = [];
  readonly #entries: number[] = [];

  constructor(quarter: number, { fromMs, endMs }: TimeRange, of: CounterKind) {
    this.fromMs = Math.max(quarter * quarterMs, fromMs);
    this.endMs = Math.min((quarter + 1) * quarterMs, endMs);
    this.#of = of;
  }

  take(block: ScanBlock, entry: number): void {
    this.#blocks.push(block);
    this.#entries.push(entry);
    if (block.isScan(entry)) this.scans++;
  }

  eachQuarter(visit: VisitQuarter): void {
    visit(this.fromMs, this.scans);
  }

  counts(): Rollup {
    const rollup = new Rollup(0);
    this.addTo(rollup);
    return rollup;
  }

  addTo(rollup: Rollup, sketch = Sketch.empty()): void {
    for (const [at, entry] of this.#entries.entries()) {
      this.#blocks[at]!.countInto(entry, rollup, sketch, this.#of);
    }
  }
}

/** @returns the part that needs raw scans */
function addOrLeave(
  piece: CountedPiece,
  timeRange: TimeRange,
  { rollup, sketch, of = 'scans' }: Wanted,
): RawPart | undefined {
  const overlap = overlapOf(piece, timeRange);
  if (overlap === 'inside') piece.addTo(rollup, sketch);
  if (overlap !== 'partly') return undefined;
  const scans = scansWithin(piece, timeRange);
  const isWhole = of === 'scans' || !hasOthers(piece.counts());
  if (isWhole && scans === piece.scans) piece.addTo(rollup, sketch);
  else if (!isWhole || scans > 0) {
    const fromMs = Math.max(piece.fromMs, timeRange.fromMs);
    return { fromMs, endMs: Math.min(piece.endMs, timeRange.endMs), scans };
  }
  return undefined;
}

function hasOthers(counts: Rollup): boolean {
  return [Dimension.bot, Dimension.route].some((dimension) => !counts.isEmpty(dimension));
}
