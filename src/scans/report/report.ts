/**
 * The read side: what is known of scans, for one code, for many, and as events. It opens what reads, and
 * sees to it that each answer begins with the newest commit.
 *
 *   one code     range.ts          months + days + head + blocks since the checkpoint, in one snapshot
 *   many codes   many-codes.ts     the same, code after code, in slices of the event loop
 *   workspace    range.ts          as one code, from the sums that the engine keeps; top-codes.ts
 *   raw scans    raw-scans.ts      the code's chain of blocks
 *   events       scan-events.ts    all blocks, by workspace
 */
import { Sketch } from '../../model/sketch.ts';
import { type ScanStore, workspaceSubject } from '../../store/scans/scans.ts';
import {
  type Analytics,
  analyticsFrom,
  type BreakdownBy,
  type BreakdownRow,
  type Interval,
  rowsOf,
  Series,
  type SeriesPoint,
} from './breakdown.ts';
import { type CodeScans, ManyCodes } from './many-codes.ts';
import { Ranges } from './range.ts';
import { Rollup } from '../rollup.ts';
import { type RawPlace, type RawScanFilter, RawScans, type RawStep } from './raw-scans.ts';
import { type EventPage, type EventPlace, ScanEvents, type EventStep } from './scan-events.ts';
import { TopCodes, type TopCodesRequest } from './top-codes.ts';

/** Names of one code's range: no further bound than its days and months have. */
const rangeNamesMax = Number.MAX_SAFE_INTEGER;

export interface ReportOptions {
  readonly namesPerDayMax: number;
  /** The public id of a code, undefined when it is gone for good. */
  readonly codeIdOf: (codeNo: number) => string | undefined;
}

/** Days are numbers (model/day.ts), both ends of a range are included. */
export class ScanReport {
  readonly #ranges: Ranges;
  readonly #many: ManyCodes;
  readonly #top: TopCodes;
  readonly #raw: RawScans;
  readonly #events: ScanEvents;

  constructor(store: ScanStore, { namesPerDayMax, codeIdOf }: ReportOptions) {
    this.#ranges = new Ranges(store, namesPerDayMax);
    this.#many = new ManyCodes(this.#ranges);
    this.#top = new TopCodes(store, this.#ranges);
    this.#raw = new RawScans(store, this.#ranges);
    this.#events = new ScanEvents(store, this.#ranges.recent, codeIdOf);
  }

  /** All scans of a code, ever: what lists show. */
  lifetimeScans(codeNo: number): number {
    this.#ranges.refresh();
    let total = this.#ranges.summaries.total(codeNo);
    this.#ranges.recent.each(codeNo, (block, entry) => {
      if (block.bot(entry) === 0) total++;
    });
    return total;
  }

  analytics(codeNo: number, fromDay: number, toDay: number): Analytics {
    const rollup = new Rollup(0);
    const sketch = Sketch.empty();
    this.#ranges.refresh();
    this.#ranges.add(codeNo, fromDay, toDay, rollup, sketch);
    return analyticsFrom(rollup, sketch);
  }

  breakdown(codeNo: number, fromDay: number, toDay: number, by: BreakdownBy): BreakdownRow[] {
    const rollup = new Rollup(rangeNamesMax);
    this.#ranges.refresh();
    this.#ranges.add(codeNo, fromDay, toDay, rollup, undefined);
    return rowsOf(rollup, by);
  }

  /** Scans per UTC hour or day, one row for each in the range, zeros included. */
  timeseries(codeNo: number, fromDay: number, toDay: number, interval: Interval): SeriesPoint[] {
    const series = new Series(fromDay, toDay, interval);
    this.#ranges.refresh();
    this.#ranges.eachDay(codeNo, fromDay, toDay, (day, rollup) => series.add(day, rollup));
    return series.points();
  }

  /**
   * The same over many codes: sums, and the union of their scanners.
   * @throws Failure overloaded when too many such walks wait
   */
  async analyticsOf(codeNos: Iterable<number>, fromDay: number, toDay: number): Promise<Analytics> {
    return await this.#many.analytics(codeNos, fromDay, toDay);
  }

  async breakdownOf(
    codeNos: Iterable<number>,
    fromDay: number,
    toDay: number,
    by: BreakdownBy,
  ): Promise<BreakdownRow[]> {
    return await this.#many.breakdown(codeNos, fromDay, toDay, by);
  }

  async timeseriesOf(
    codeNos: Iterable<number>,
    fromDay: number,
    toDay: number,
    interval: Interval,
  ): Promise<SeriesPoint[]> {
    return await this.#many.timeseries(codeNos, fromDay, toDay, interval);
  }

  /** Scans of each of the codes that has some in the range, in the order of the list. */
  async totalsOf(codeNos: Iterable<number>, fromDay: number, toDay: number): Promise<CodeScans[]> {
    return await this.#many.totals(codeNos, fromDay, toDay);
  }

  /** The same of all scans of a workspace, from sums of its own: those of deleted codes are in it. */
  workspaceAnalytics(workspaceNo: number, fromDay: number, toDay: number): Analytics {
    return this.analytics(workspaceSubject(workspaceNo), fromDay, toDay);
  }

  workspaceBreakdown(
    workspaceNo: number,
    fromDay: number,
    toDay: number,
    by: BreakdownBy,
  ): BreakdownRow[] {
    return this.breakdown(workspaceSubject(workspaceNo), fromDay, toDay, by);
  }

  workspaceTimeseries(
    workspaceNo: number,
    fromDay: number,
    toDay: number,
    interval: Interval,
  ): SeriesPoint[] {
    return this.timeseries(workspaceSubject(workspaceNo), fromDay, toDay, interval);
  }

  /** The codes of a workspace with the most scans in a range. */
  async topCodes(request: TopCodesRequest): Promise<CodeScans[]> {
    return await this.#top.find(request);
  }

  /** `qr.scanned` events of a workspace, newest first. @param before the `before` of the page above */
  events(workspaceNo: number, before: string | undefined, limit: number): EventPage {
    this.#ranges.refresh();
    return this.#events.page(workspaceNo, before, limit);
  }

  /** Where the raw scans of a code begin, newest first; undefined when the range has none. */
  rawScansFrom(filter: RawScanFilter): RawPlace | undefined {
    return this.#raw.begin(filter);
  }

  /** The next few raw scans, with where to go on. */
  rawScans(filter: RawScanFilter, from: RawPlace, limit: number): RawStep {
    return this.#raw.step(filter, from, limit);
  }

  /** The place behind all events that are committed. */
  newestEvent(): EventPlace {
    this.#ranges.refresh();
    return this.#events.newest();
  }

  /** `qr.scanned` events of a workspace after a place, oldest first. */
  eventsAfter(workspaceNo: number, place: EventPlace, limit: number): EventStep {
    this.#ranges.refresh();
    return this.#events.after(workspaceNo, place, limit);
  }

  /** Whether events after the place are deleted already. */
  isPast(place: EventPlace): boolean {
    this.#ranges.refresh();
    return this.#events.isPast(place);
  }
}
