/**
 * A range of days of one counter, put together: whole months, single days, what lies of a day at the edges, the summary's day,
 * and the blocks since the last checkpoint. All are read in one snapshot, so the parts never overlap and never miss one
 * another. The cost depends on the months in the range, not on the number of scans; a code without a summary, as most of a
 * long list are, costs one look-up.
 *
 * The edges of a range in a time zone lie within UTC days. Where a day is cut there (days/day.ts), its pieces are added as days
 * are. Where it is not, but all of its scans lie on one side, it is added or left out as a whole; else that part of it is left
 * to the caller, to be counted from raw scans (raw/raw-parts.ts).
 */
import { quarterMs } from '../../model/day.ts';
import { readOr } from '../../model/failure.ts';
import { Sketch } from '../../model/sketch/sketch.ts';
import type { Stretch } from '../../model/zones/local-range.ts';
import {
  countedBy,
  newestSequence,
  type ScanStore,
  spanKey,
  spanOf,
} from '../../store/scans/scans.ts';
import type { StoredPiece, Timed } from '../days/stored-piece.ts';
import { Dimension, Rollup } from '../rollup.ts';
import { storedBlocks } from '../stored-blocks.ts';
import { firstDayOf, namesPerDayMax, Summaries } from '../summaries.ts';
import type { KeptUnions } from './kept-unions.ts';
import { RecentBlocks } from './recent-blocks.ts';
import { clip, hoursAlone, isWithin, overlapOf, scansWithin, type Spans } from './spans.ts';

/** A part of a day that no record has by itself. */
export interface RawPart extends Stretch {
  /** Scans that it has. */
  readonly scans: number;
}

export interface Gathered {
  /** What it cost. */
  readonly records: number;
  /** Parts of the range that are not in what was gathered. */
  readonly rawParts: readonly RawPart[];
}

export interface Wanted {
  readonly rollup: Rollup;
  /** Absent = scanners are not united, which is most of the cost. */
  readonly sketch?: Sketch | undefined;
  /** Where those of closed days may be found; absent = they are united anew. */
  readonly unions?: KeptUnions | undefined;
  /** `all` = bots and people who came in vain too, of whom no hour is kept; default: scans. */
  readonly of?: 'scans' | 'all';
}

/** Thrown where rollups cannot answer: they have one count for a day. */
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

  /** Sees the newest commit: all reads until the next event-loop cycle are of that snapshot. */
  refresh(): void {
    this.#store.environment.refresh();
    this.recent.refresh();
  }

  /** When the oldest raw scans were made that are kept, epoch ms. */
  oldestRawMs(): number | undefined {
    for (const [, block] of storedBlocks(this.#store, {})) if (block) return block.newestMs;
    return undefined;
  }

  /** Raw scans of before this time have expired; -Infinity = none has, Infinity = none is kept. */
  expiredBeforeMs(): number {
    const [oldest = newestSequence(this.#store) + 1] = this.#store.blocks.keys({ limit: 1 });
    return oldest === 1 ? -Infinity : (this.oldestRawMs() ?? Infinity);
  }

  /** Adds what was counted in a range, apart from what is left to be counted from raw scans. */
  add(counter: number, spans: Spans, wanted: Wanted): Gathered {
    const { rollup, sketch, unions } = wanted;
    const newest = this.summaries.newestPieces(counter);
    let records = 0;
    let rawParts: RawPart[] = [];
    if (newest !== undefined) {
      const addPiece = (piece: StoredPiece): void => {
        const part = addOrLeave(piece, spans, wanted);
        if (part !== undefined) rawParts.push(part);
      };
      newest.forEach(addPiece);
      records = 1 + this.#eachEdge(counter, spans, addPiece);
      const read = (into: Rollup, scanners: Sketch | undefined): number[] => {
        const scans: number[] = [];
        records += this.#eachClosed(
          counter,
          spans,
          (month, bytes) => {
            scans.push(month, this.summaries.monthScans(bytes));
            this.summaries.addMonth(counter, month, bytes, into, scanners);
          },
          (piece) => {
            scans.push(piece.fromMs, piece.scans);
            piece.addTo(into, scanners);
          },
        );
        return scans;
      };
      if (sketch === undefined || unions === undefined) read(rollup, sketch);
      else {
        const key = `${counter} ${spans.fromDay} ${spans.endDay}`;
        unions.addTo({ rollup, sketch }, key, read);
      }
    }
    const seen = sketch ?? Sketch.empty();
    const of = countedBy(counter);
    this.recent.each(counter, (block, entry) => {
      const timeMs = block.timeMs(entry);
      if (!isWithin(timeMs, spans)) return;
      if (!rawParts.some((part) => isWithin(timeMs, part))) {
        block.countInto(entry, rollup, seen, of);
      } else if (block.isScan(entry)) {
        rawParts = rawParts.map((part) =>
          isWithin(timeMs, part) ? { ...part, scans: part.scans + 1 } : part,
        );
      }
    });
    return { records, rawParts };
  }

  /** Scans in a range, their number alone. @returns scans, records read @throws Failure validation_failed */
  scans(counter: number, spans: Spans): [scans: number, records: number] {
    let scans = 0;
    let records = 0;
    const newest = this.summaries.newestPieces(counter);
    if (newest !== undefined) {
      const add = (piece: Timed): void => {
        scans += piece.scans;
      };
      const addEdge = clipped(spans, add);
      newest.forEach(addEdge);
      records = 1 + this.#eachEdge(counter, spans, addEdge);
      const addMonth = (_month: number, bytes: Uint8Array): void => {
        scans += this.summaries.monthScans(bytes);
      };
      records += this.#eachClosed(counter, spans, addMonth, add);
    }
    this.recent.each(counter, (block, entry) => {
      if (block.isScan(entry) && isWithin(block.timeMs(entry), spans)) scans++;
    });
    return [scans, records];
  }

  /**
   * Visits what a range has, piece by piece, in no order; a stretch of time may come twice.
   * @returns records read @throws Failure validation_failed
   */
  eachPiece(counter: number, spans: Spans, visit: (piece: Timed) => void): number {
    let records = 0;
    const newest = this.summaries.newestPieces(counter);
    if (newest !== undefined) {
      const visitEdge = clipped(spans, visit);
      newest.forEach(visitEdge);
      records = 1 + this.#eachEdge(counter, spans, visitEdge);
      records += this.#pieces(counter, spans.fromDay, spans.endDay, visit);
    }
    for (const piece of this.#recentQuarters(counter, spans)) visit(piece);
    return records;
  }

  /**
   * Visits the counts of a range, piece by piece, without names; a stretch of time may come twice.
   * @returns records read @throws NeedsRawScans where a piece has only a part of the range
   */
  eachCounts(
    counter: number,
    spans: Spans,
    visit: (stretch: Stretch, counts: Rollup) => void,
  ): number {
    const newest = this.summaries.newestPieces(counter);
    let records = 0;
    if (newest !== undefined) {
      const visitPiece = (piece: StoredPiece): void => {
        const overlap = overlapOf(piece, spans);
        if (overlap === 'partly' && piece.scans > 0) throw new NeedsRawScans();
        if (overlap === 'inside') visit(piece, piece.counts());
      };
      newest.forEach(visitPiece);
      records = 1 + this.#eachEdge(counter, spans, visitPiece);
      records += this.#pieces(counter, spans.fromDay, spans.endDay, visitPiece);
    }
    const of = countedBy(counter);
    const scanners = Sketch.empty();
    const quarters = new Map<number, Rollup>();
    this.recent.each(counter, (block, entry) => {
      const timeMs = block.timeMs(entry);
      if (!isWithin(timeMs, spans)) return;
      const quarter = Math.floor(timeMs / quarterMs);
      const counts = quarters.get(quarter) ?? new Rollup(0);
      quarters.set(quarter, counts);
      block.countInto(entry, counts, scanners, of);
    });
    for (const [quarter, counts] of quarters) visit(stretchOfQuarter(quarter), counts);
    return records;
  }

  #recentQuarters(counter: number, spans: Spans): Timed[] {
    const quarters = new Map<number, number>();
    this.recent.each(counter, (block, entry) => {
      const timeMs = block.timeMs(entry);
      if (!block.isScan(entry) || !isWithin(timeMs, spans)) return;
      const quarter = Math.floor(timeMs / quarterMs);
      quarters.set(quarter, (quarters.get(quarter) ?? 0) + 1);
    });
    return Array.from(quarters, ([quarter, scans]) => {
      const { fromMs, endMs } = stretchOfQuarter(quarter);
      return { fromMs, endMs, scans, eachTime: (visit) => visit(fromMs, endMs, scans) };
    });
  }

  /** Closed pieces of the days at the edges. @returns records read */
  #eachEdge(counter: number, { edgeDays }: Spans, visit: (piece: StoredPiece) => void): number {
    let records = 0;
    for (const day of edgeDays) records += this.#pieces(counter, day, day + 1, visit);
    return records;
  }

  /** Visits the whole months of a range and the whole days that none of them has: all of its days where a month is damaged. */
  #eachClosed(
    counter: number,
    { fromDay, endDay, firstMonth, endMonth }: Spans,
    visitMonth: (month: number, bytes: Uint8Array) => void,
    visitPiece: (piece: StoredPiece) => void,
  ): number {
    const months = firstMonth < endMonth ? this.#months(counter, firstMonth, endMonth) : undefined;
    if (months === undefined) return this.#pieces(counter, fromDay, endDay, visitPiece);
    for (const { key, value } of months) visitMonth(spanOf(key), value);
    return (
      months.length +
      this.#pieces(counter, fromDay, firstDayOf(firstMonth), visitPiece) +
      this.#pieces(counter, firstDayOf(endMonth), endDay, visitPiece)
    );
  }

  /** Undefined when one is damaged. */
  #months(
    counter: number,
    from: number,
    end: number,
  ): ReadonlyArray<{ readonly key: Uint8Array; readonly value: Uint8Array }> | undefined {
    const range = { start: spanKey(counter, from), end: spanKey(counter, end) };
    return readOr(() => [...this.#store.months.range(range)], undefined);
  }

  #pieces(counter: number, from: number, end: number, visit: (piece: StoredPiece) => void): number {
    return this.summaries.eachClosedPiece(counter, from, end, visit);
  }
}

const stretchOfQuarter = (quarter: number): Stretch => ({
  fromMs: quarter * quarterMs,
  endMs: (quarter + 1) * quarterMs,
});

/** Passes a piece on as far as it lies in a stretch. */
function clipped(stretch: Stretch, visit: (piece: Timed) => void): (piece: Timed) => void {
  return (piece) => {
    const overlap = overlapOf(piece, stretch);
    if (overlap === 'outside' || piece.scans === 0) return;
    visit(overlap === 'inside' ? piece : clip(piece, stretch));
  };
}

/** @returns the part that the piece cannot give @throws Failure validation_failed */
function addOrLeave(
  piece: StoredPiece,
  stretch: Stretch,
  { rollup, sketch, of = 'scans' }: Wanted,
): RawPart | undefined {
  const overlap = overlapOf(piece, stretch);
  if (overlap === 'inside') piece.addTo(rollup, sketch);
  if (overlap !== 'partly') return undefined;
  const scans = scansWithin(piece, stretch);
  if (scans === undefined) throw hoursAlone();
  const isWhole = of === 'scans' || !hasOthers(piece.counts());
  if (isWhole && scans === piece.scans) piece.addTo(rollup, sketch);
  else if (!isWhole || scans > 0) {
    const fromMs = Math.max(piece.fromMs, stretch.fromMs);
    return { fromMs, endMs: Math.min(piece.endMs, stretch.endMs), scans };
  }
  return undefined;
}

/** Whether it has more than scans. */
function hasOthers(counts: Rollup): boolean {
  return [Dimension.bot, Dimension.route].some((dimension) => !counts.isEmpty(dimension));
}
