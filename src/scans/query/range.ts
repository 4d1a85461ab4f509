/**
 * A range of days of one counter, put together: whole months, single days at the edges, the summary's day,
 * and the blocks since the last checkpoint. All are read in one snapshot, so the parts never overlap and
 * never miss one another. The cost depends on the months in the range, not on the number of scans; a code
 * without a summary, as most of a long list are, costs one look-up.
 */
import type { DayRange } from '../../model/day.ts';
import { readOr } from '../../model/failure.ts';
import { Sketch } from '../../model/sketch/sketch.ts';
import {
  countedBy,
  dayStoredMax,
  type ScanStore,
  spanKey,
  spanOf,
} from '../../store/scans/scans.ts';
import { RecentBlocks } from './recent-blocks.ts';
import { Rollup } from '../rollup.ts';
import { firstDayOf, monthOf, namesPerDayMax, Summaries } from '../summaries.ts';

/** A range of days, and the whole months in it, of which the end is excluded. */
export interface Spans extends DayRange {
  readonly firstMonth: number;
  readonly endMonth: number;
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

  /**
   * Adds what was counted in a range. Without a sketch the scanners are not united, which is most of the
   * cost.
   * @returns records read: what it cost
   */
  add(counter: number, range: DayRange, rollup: Rollup, sketch: Sketch | undefined): number {
    const spans = spansOf(range);
    let records = 0;
    if (this.summaries.addSummary(counter, spans.fromDay, spans.toDay, rollup, sketch)) {
      records = 1;
      records += this.#eachClosed(
        counter,
        spans,
        (month, bytes) => this.summaries.addMonth(counter, month, bytes, rollup, sketch),
        (day, bytes) => this.summaries.addDay(counter, day, bytes, rollup, sketch),
      );
    }
    const seen = sketch ?? Sketch.empty();
    const of = countedBy(counter);
    this.recent.each(counter, (block, entry) => {
      if (isWithin(block.day(entry), spans)) block.countInto(entry, rollup, seen, of);
    });
    return records;
  }

  /** Scans in a range, their number alone. @returns scans, records read */
  scans(counter: number, range: DayRange): [scans: number, records: number] {
    const spans = spansOf(range);
    let scans = 0;
    let records = 0;
    const newest = this.summaries.newestDayCounts(counter);
    if (newest !== undefined) {
      if (isWithin(newest.day, spans)) scans += newest.rollup.scans;
      records = 1;
      records += this.#eachClosed(
        counter,
        spans,
        (_month, bytes) => {
          scans += this.summaries.monthScans(bytes);
        },
        (_day, bytes) => {
          scans += this.summaries.countsOf(bytes).scans;
        },
      );
    }
    this.recent.each(counter, (block, entry) => {
      if (block.isScan(entry) && isWithin(block.day(entry), spans)) scans++;
    });
    return [scans, records];
  }

  /** Visits a code's days of a range, in no order; a day may come twice. @returns records read */
  eachDay(counter: number, range: DayRange, visit: (day: number, rollup: Rollup) => void): number {
    const spans = spansOf(range);
    let records = 0;
    const newest = this.summaries.newestDayCounts(counter);
    if (newest !== undefined) {
      records = 1;
      if (isWithin(newest.day, spans)) visit(newest.day, newest.rollup);
      records += this.#days(counter, spans.fromDay, spans.toDay + 1, (day, bytes) =>
        visit(day, this.summaries.countsOf(bytes)),
      );
    }
    const recent = new Map<number, Rollup>();
    const unused = Sketch.empty();
    const of = countedBy(counter);
    this.recent.each(counter, (block, entry) => {
      const day = block.day(entry);
      if (!isWithin(day, spans)) return;
      const rollup = recent.get(day) ?? new Rollup(1);
      block.countInto(entry, rollup, unused, of);
      recent.set(day, rollup);
    });
    for (const [day, rollup] of recent) visit(day, rollup);
    return records;
  }

  /** Visits the whole months of a range and the days that none of them has: all of its days where a month is damaged. */
  #eachClosed(
    counter: number,
    { fromDay, toDay, firstMonth, endMonth }: Spans,
    visitMonth: (month: number, bytes: Uint8Array) => void,
    visitDay: (day: number, bytes: Uint8Array) => void,
  ): number {
    const months = firstMonth < endMonth ? this.#months(counter, firstMonth, endMonth) : undefined;
    if (months === undefined) return this.#days(counter, fromDay, toDay + 1, visitDay);
    for (const { key, value } of months) visitMonth(spanOf(key), value);
    return (
      months.length +
      this.#days(counter, fromDay, firstDayOf(firstMonth), visitDay) +
      this.#days(counter, firstDayOf(endMonth), toDay + 1, visitDay)
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

  #days(
    counter: number,
    from: number,
    end: number,
    visit: (day: number, bytes: Uint8Array) => void,
  ): number {
    if (from >= end) return 0;
    let records = 0;
    const range = { start: spanKey(counter, from), end: spanKey(counter, end) };
    for (const { key, value } of this.#store.days.range(range)) {
      visit(spanOf(key), value);
      records++;
    }
    return records;
  }
}

/** The part of a range that can hold scans: the API takes dates up to the year 9999. */
export function spansOf(range: DayRange): Spans {
  const fromDay = Math.max(0, range.fromDay);
  const toDay = Math.min(range.toDay, dayStoredMax);
  const month = monthOf(fromDay);
  const firstMonth = firstDayOf(month) === fromDay ? month : month + 1;
  return { fromDay, toDay, firstMonth, endMonth: monthOf(toDay + 1) };
}

export const isWithin = (day: number, { fromDay, toDay }: DayRange): boolean =>
  day >= fromDay && day <= toDay;
