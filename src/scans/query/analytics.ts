/**
 * The numbers of a code, of many codes together, or of a workspace: totals, a series over time, and a
 * breakdown, over a range of UTC days.
 *
 *   one code     range.ts   months + days + summary + blocks since the checkpoint, in one snapshot
 *   workspace    range.ts   the same, from the sums that the engine keeps; deleted codes are in them
 *   many codes   range.ts   code after code: the sums, and the union of their scanners
 *
 * A list of 100,000 codes is read in slices that yield to the event loop, so that no request, window or
 * redirect waits for it; each code is read whole within one slice, in one snapshot, so that every
 * breakdown still sums to the total. Lists are read one after the other, and few may wait.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { DayRange } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import { Sketch } from '../../model/sketch/sketch.ts';
import { isMissed } from '../../model/routing/labels.ts';
import { dayStoredMax, workspaceCounter } from '../../store/scans/scans.ts';
import { Dimension, Rollup } from '../rollup.ts';
import {
  type Analytics,
  analyticsFrom,
  type BreakdownBy,
  type BreakdownRow,
  type Interval,
  missedRows,
  routeRows,
  rowsOf,
  Series,
  type SeriesPoint,
} from './answers.ts';
import type { Ranges } from './range.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Look-ups of one slice: an idle code is one, 0.7 µs each. About 2 ms in all. */
const sliceMax = 2_000;
/** What a stored record costs in look-ups: it is parsed and united, 10 to 60 µs. */
const recordLookUps = 32;
/** Lists being read or waiting; one more is answered 503. */
const waitingMax = 64;
/** Cities and referer hosts of a union; the rest is `other`. Visitors choose the names. */
const unionNamesMax = 10_000;
/** One counter's names: no further bound than its days and months have. */
const rangeNamesMax = Number.MAX_SAFE_INTEGER;

/** Whose scans; all by number. */
export type Subject =
  | { readonly code: CodeNo }
  | { readonly codes: Iterable<CodeNo> }
  | { readonly workspace: WorkspaceNo };

export interface CodeScans {
  readonly codeNo: CodeNo;
  readonly scans: number;
}

/** All that take a list of codes throw Failure overloaded when too many lists wait. */
export class ScanAnalytics {
  readonly #ranges: Ranges;
  readonly #lists = pLimit(1);

  constructor(ranges: Ranges) {
    this.#ranges = ranges;
  }

  /** All scans of a code, ever: what lists show. */
  lifetimeScans(codeNo: CodeNo): number {
    this.#ranges.refresh();
    let total = this.#ranges.summaries.total(codeNo);
    this.#ranges.recent.each(codeNo, (block, entry) => {
      if (block.isScan(entry)) total++;
    });
    return total;
  }

  async totals(subject: Subject, range: DayRange): Promise<Analytics> {
    const rollup = new Rollup(0);
    const sketch = Sketch.empty();
    await this.#read(subject, range, (no) => this.#ranges.add(no, range, rollup, sketch));
    return analyticsFrom(rollup, sketch);
  }

  /** Scans per UTC hour or day, one row for each in the range, zeros included. */
  async series(subject: Subject, range: DayRange, interval: Interval): Promise<SeriesPoint[]> {
    const series = new Series(range, interval);
    const add = (day: number, rollup: Rollup): void => series.add(day, rollup);
    await this.#read(subject, range, (no) => this.#ranges.eachDay(no, range, add));
    return series.points();
  }

  async breakdown(subject: Subject, range: DayRange, by: BreakdownBy): Promise<BreakdownRow[]> {
    const rollup = new Rollup('codes' in subject ? unionNamesMax : rangeNamesMax);
    await this.#read(subject, range, (no) => this.#ranges.add(no, range, rollup, undefined));
    return rowsOf(rollup, by);
  }

  /**
   * A code's scans by where they led; the rows sum to its `totalScans`.
   * @param nameOf what a number, 0 to 58, is called; those of one name are one row
   */
  routes(codeNo: CodeNo, range: DayRange, nameOf: (route: number) => string): BreakdownRow[] {
    return routeRows(this.#countsOf(codeNo, range), nameOf);
  }

  /** People whom a code led nowhere, by reason: no scans. */
  missed(codeNo: CodeNo, range: DayRange): BreakdownRow[] {
    return missedRows(this.#countsOf(codeNo, range));
  }

  /** The numbers of labels, 1 to 58, that any scan of a code has that is counted by now. @throws Failure data_damaged */
  routesSeen(codeNo: CodeNo): ReadonlySet<number> {
    const rollup = this.#countsOf(codeNo, { fromDay: 0, toDay: dayStoredMax });
    const seen = Array.from(rollup.values(Dimension.route), ({ value }) => value);
    return new Set(seen.filter((route) => !isMissed(route)));
  }

  /** Without names and scanners. */
  #countsOf(codeNo: CodeNo, range: DayRange): Rollup {
    const rollup = new Rollup(0);
    this.#ranges.refresh();
    if (range.fromDay <= range.toDay) this.#ranges.add(codeNo, range, rollup, undefined);
    return rollup;
  }

  /** Scans of each code that has some, in the order of the list. */
  async scansByCode(codes: Iterable<CodeNo>, range: DayRange): Promise<CodeScans[]> {
    const found: CodeScans[] = [];
    await this.#read({ codes }, range, (codeNo) => {
      const [scans, records] = this.#ranges.scans(codeNo, range);
      if (scans > 0) found.push({ codeNo, scans });
      return records;
    });
    return found;
  }

  /** @param read reads one counter; returns the records that it read */
  async #read(
    subject: Subject,
    { fromDay, toDay }: DayRange,
    read: (counter: number) => number,
  ): Promise<void> {
    if (fromDay > toDay) return;
    if ('codes' in subject) return await this.#readList(subject.codes, read);
    this.#ranges.refresh();
    read('code' in subject ? subject.code : workspaceCounter(subject.workspace));
  }

  async #readList(codeNos: Iterable<CodeNo>, read: (codeNo: CodeNo) => number): Promise<void> {
    if (this.#lists.activeCount + this.#lists.pendingCount >= waitingMax) {
      const detail = 'Too many reports over many codes at a time';
      throw new Failure('overloaded', detail, { retryAfterSeconds: 1 });
    }
    await this.#lists(async () => {
      let lookUps = 0;
      this.#ranges.refresh();
      for (const codeNo of codeNos) {
        lookUps += 1 + read(codeNo) * recordLookUps;
        if (lookUps < sliceMax) continue;
        await yieldToEventLoop();
        lookUps = 0;
        this.#ranges.refresh();
      }
    });
  }
}
