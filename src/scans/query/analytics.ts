/**
 * The numbers of a code, of many codes together, or of a workspace: totals, a series over time, and breakdowns, over local
 * days.
 *
 *   one code     range.ts   months + days + summary + blocks since the checkpoint, in one snapshot
 *   workspace    range.ts   the same, from the workspace's sums, which include deleted codes
 *   many codes   range.ts   code after code: the sums, and the union of their scanners
 *
 * A list of 100,000 codes is read in slices that yield to the event loop. Each code is read in one slice and one snapshot, so
 * every breakdown sums to the total. Lists are read one after the other, and few may wait.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import pLimit from 'p-limit';
import { Failure } from '../../model/failure.ts';
import { Sketch } from '../../model/sketch/sketch.ts';
import { isMissed } from '../../model/routing/labels.ts';
import { dayStoredMax, workspaceCounter } from '../../store/scans/scans.ts';
import { Dimension, Rollup } from '../rollup.ts';
import type { WeekStart } from '../../model/zones/calendar.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import type { Timed } from '../days/stored-piece.ts';
import {
  type Analytics,
  analyticsFrom,
  type BreakdownBy,
  type BreakdownRow,
  missedRows,
  routeRows,
  rowsOf,
  type Scanners,
  scannersFrom,
  type SeriesPoint,
  unknownScanners,
} from './answers.ts';
import { isEmptyFilter, type ScanFilter } from './filter.ts';
import { FilteredScans, quarterPieces, type RollupWord, wordOf } from './filtered-scans.ts';
import { type CountedPiece, NeedsRawScans, type Ranges, type Wanted } from './range.ts';
import { AnswerCache } from './raw/answer-cache.ts';
import { RawParts } from './raw/raw-parts.ts';
import type { RawQuery, RawScanCounter } from './raw/raw-query.ts';
import { HoursOfWeek, type Interval, Series } from './series.ts';
import { clip, overlapOf, type Spans, spansOf, undefinedWhereUnknown } from './spans.ts';
import type { CodeNo } from '../../model/numbers.ts';
import type { CodeScans, Subject } from './subject.ts';

/** Look-ups of one slice, about 2 ms: an idle code is one, 0.7 µs. */
const sliceMax = 2_000;
/** Cost of a stored record in look-ups: parsing and uniting it takes 10 to 60 µs. */
const recordLookUps = 32;
/** Lists being read or waiting; one more gets 503. */
const waitingMax = 64;
/** Cities and referer hosts of a union, whose names visitors choose; the rest is `other`. */
const unionNamesMax = 10_000;
/** One counter's days and months bound its names already. */
const rangeNamesMax = Number.MAX_SAFE_INTEGER;

/** A scanner seen in so many days before a range returns in it. */
const seenBeforeDays = 90;

interface Totals {
  readonly rollup: Rollup;
  readonly sketch: Sketch;
}

export interface Choice {
  /** Default Monday. */
  readonly weekStart?: WeekStart | undefined;
  readonly filter?: ScanFilter | undefined;
}

/** Methods that take a list of codes throw Failure overloaded when too many lists wait. */
export class ScanAnalytics {
  readonly #ranges: Ranges;
  readonly #answers: AnswerCache;
  readonly #filtered: FilteredScans;
  readonly #lists = pLimit(1);

  constructor(ranges: Ranges, raw: RawScanCounter) {
    this.#ranges = ranges;
    this.#answers = new AnswerCache(raw);
    this.#filtered = new FilteredScans({
      raw: this.#answers,
      scansOf: (subject, range) => this.scans(subject, range),
      oldestMs: () => ranges.oldestRawMs(),
      expiredBeforeMs: () => ranges.expiredBeforeMs(),
    });
  }

  lifetimeScans(codeNo: CodeNo): number {
    this.#ranges.refresh();
    let total = this.#ranges.summaries.total(codeNo);
    this.#ranges.recent.each(codeNo, (block, entry) => {
      if (block.isScan(entry)) total++;
    });
    return total;
  }

  /** @throws Failure validation_failed when the range's zone or raw scans do not go back that far; overloaded */
  async totals(subject: Subject, range: LocalRange, filter: ScanFilter = {}): Promise<Analytics> {
    const { rollup, sketch } = await this.#counted(subject, range, filter);
    return analyticsFrom(rollup, sketch);
  }

  /** Also says how many of the scanners were seen in the 90 days before. @throws Failure validation_failed, overloaded */
  async totalsWithScanners(
    subject: Subject,
    range: LocalRange,
    filter: ScanFilter = {},
  ): Promise<Analytics & Scanners> {
    const { rollup, sketch } = await this.#counted(subject, range, filter);
    const analytics = analyticsFrom(rollup, sketch);
    if (!isEmptyFilter(filter)) return { ...analytics, ...unknownScanners };
    const { fromDay } = range;
    const days = { ...range, fromDay: fromDay - seenBeforeDays, toDay: fromDay - 1 };
    const before = await undefinedWhereUnknown(this.#counted(subject, days, {}));
    if (before === undefined) return { ...analytics, ...unknownScanners };
    return { ...analytics, ...scannersFrom(analytics.uniqueScanners, sketch, before.sketch) };
  }

  async #counted(subject: Subject, range: LocalRange, filter: ScanFilter): Promise<Totals> {
    if (!isEmptyFilter(filter)) return await this.#filtered.of(subject, range, filter);
    const counted = { rollup: new Rollup(0), sketch: Sketch.empty() };
    await this.#gather(subject, range, counted);
    return counted;
  }

  /** Every point of the range, zeros included. @throws Failure validation_failed */
  async series(
    subject: Subject,
    range: LocalRange,
    interval: Interval,
    { weekStart = 'mon', filter = {} }: Choice = {},
  ): Promise<SeriesPoint[]> {
    const word = wordOf(filter);
    let series = new Series(range, interval, weekStart);
    if (word !== undefined) {
      try {
        await this.#eachStored(subject, range, (piece, spans) => {
          series.add(ofWord(piece, spans, word));
        });
        return series.points();
      } catch (error) {
        if (!(error instanceof NeedsRawScans)) throw error;
        series = new Series(range, interval, weekStart);
      }
    }
    await this.#eachPiece(subject, range, filter, (piece) => series.add(piece));
    return series.points();
  }

  /** @throws Failure validation_failed */
  async breakdown(
    subject: Subject,
    range: LocalRange,
    by: BreakdownBy,
    { weekStart = 'mon', filter = {} }: Choice = {},
  ): Promise<BreakdownRow[]> {
    if (by === 'hour' || by === 'weekday' || by === 'hour_of_week') {
      const hours = new HoursOfWeek(range);
      await this.#eachPiece(subject, range, filter, (piece) => hours.add(piece));
      return hours.rows(by, weekStart);
    }
    const word = wordOf(filter);
    if (word !== undefined && Dimension[by] === word.dimension) {
      const rows = await this.breakdown(subject, range, by);
      return rows.filter(({ key }) => Object.values(filter).includes(key));
    }
    const hasNames = by === 'city' || by === 'referer';
    const namesMax = !hasNames ? 0 : 'codes' in subject ? unionNamesMax : rangeNamesMax;
    const of = by === 'bot' ? 'all' : 'scans';
    return rowsOf(await this.#rollup(subject, range, of, filter, namesMax), by);
  }

  /**
   * A code's scans by route; the rows sum to its `totalScans`.
   * @param nameOf name of a route, 0 to 58; routes of one name are one row
   */
  async routes(
    subject: Subject,
    range: LocalRange,
    nameOf: (route: number) => string,
    filter: ScanFilter = {},
  ): Promise<BreakdownRow[]> {
    return routeRows(await this.#rollup(subject, range, 'scans', filter), nameOf);
  }

  /** Visits without a redirect, by reason; they are not scans. */
  async missed(
    subject: Subject,
    range: LocalRange,
    filter: ScanFilter = {},
  ): Promise<BreakdownRow[]> {
    return missedRows(await this.#rollup(subject, range, 'all', filter));
  }

  /** Numbers of the labels, 1 to 58, that a code's counted scans have. @throws Failure data_damaged */
  routesSeen(codeNo: CodeNo): ReadonlySet<number> {
    const rollup = new Rollup(0);
    this.#ranges.refresh();
    this.#ranges.add(codeNo, spansOf({ fromDay: 0, toDay: dayStoredMax }), { rollup });
    const seen = Array.from(rollup.values(Dimension.route), ({ value }) => value);
    return new Set(seen.filter((route) => !isMissed(route)));
  }

  /** Codes with scans, in the order of the list. @throws Failure validation_failed */
  async scansByCode(codes: Iterable<CodeNo>, range: LocalRange): Promise<CodeScans[]> {
    const found: CodeScans[] = [];
    await this.#eachCounter({ codes }, range, (codeNo, scans) => {
      if (scans > 0) found.push({ codeNo, scans });
    });
    return found;
  }

  /** Codes with scans that match a filter, most first. @throws Failure validation_failed, overloaded */
  async filteredByCode(
    subject: Subject,
    range: LocalRange,
    filter: ScanFilter,
  ): Promise<CodeScans[]> {
    const { codes } = await this.#filtered.of(subject, range, filter);
    const rows = Array.from(codes, ([codeNo, scans]) => ({ codeNo, scans }));
    return rows.sort((one, other) => other.scans - one.scans || one.codeNo - other.codeNo);
  }

  async #rollup(
    subject: Subject,
    range: LocalRange,
    of: 'scans' | 'all',
    filter: ScanFilter,
    namesMax = 0,
  ): Promise<Rollup> {
    if (!isEmptyFilter(filter)) {
      return (await this.#filtered.of(subject, range, filter, of)).rollup;
    }
    const rollup = new Rollup(namesMax);
    await this.#gather(subject, range, { rollup, of });
    return rollup;
  }

  /** Adds the counts of a range. @throws Failure validation_failed, overloaded, data_damaged */
  async #gather(subject: Subject, range: LocalRange, wanted: Wanted): Promise<void> {
    const spans = spansOf(range);
    const parts = new RawParts();
    await this.#read(subject, range, (counter) => {
      const { records, rawParts } = this.#ranges.add(counter, spans, wanted);
      parts.add(counter, rawParts);
      return records;
    });
    if (parts.isEmpty) return;
    const of = 'code' in subject || 'codes' in subject ? 'codes' : 'workspaces';
    const expiredBeforeMs = (): number => this.#ranges.expiredBeforeMs();
    const count = (query: RawQuery) => this.#answers.run(query, subject.client);
    await parts.addTo(count, { workspaceNo: subject.workspace, of }, wanted, expiredBeforeMs);
  }

  async #eachPiece(
    subject: Subject,
    range: LocalRange,
    filter: ScanFilter,
    visit: (piece: Timed) => void,
  ): Promise<void> {
    if (!isEmptyFilter(filter)) {
      const answer = await this.#filtered.of(subject, range, filter);
      for (const piece of quarterPieces(answer, range)) visit(piece);
      return;
    }
    await this.#eachStored(subject, range, (piece, spans) => visit(clip(piece, spans)));
  }

  async #eachStored(
    subject: Subject,
    range: LocalRange,
    visit: (piece: CountedPiece, spans: Spans) => void,
  ): Promise<void> {
    const spans = spansOf(range);
    await this.#read(subject, range, (counter) => {
      let records = 0;
      for (const piece of this.#ranges.pieces(counter, spans, 'days')) {
        visit(piece, spans);
        records++;
      }
      return records;
    });
  }

  /** Scans without a filter. @throws Failure validation_failed, overloaded */
  async scans(subject: Subject, range: LocalRange): Promise<number> {
    let sum = 0;
    await this.#eachCounter(subject, range, (_, scans) => (sum += scans));
    return sum;
  }

  async #eachCounter(
    subject: Subject,
    range: LocalRange,
    visit: (counter: number, scans: number) => void,
  ): Promise<void> {
    const spans = spansOf(range);
    await this.#read(subject, range, (counter) => {
      const [scans, records] = this.#ranges.scans(counter, spans);
      visit(counter, scans);
      return records;
    });
  }

  async #read(
    subject: Subject,
    { fromDay, toDay }: LocalRange,
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

/** A piece's scans of one word; their times are not stored. @throws NeedsRawScans */
function ofWord(piece: CountedPiece, spans: Spans, { dimension, value }: RollupWord): Timed {
  const { fromMs, endMs } = piece;
  const isInside = overlapOf(piece, spans) === 'inside';
  const scans = isInside ? piece.counts().get(dimension, value) : piece.scans;
  const eachQuarter = (): void => {
    if (scans > 0) throw new NeedsRawScans();
  };
  if (!isInside) eachQuarter();
  return { fromMs, endMs, scans, eachQuarter };
}
