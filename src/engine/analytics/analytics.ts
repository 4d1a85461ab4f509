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
import { Dimension, Rollup } from '../counting/rollup.ts';
import type { WeekStart } from '../../model/zones/calendar.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import type { Timed } from '../counting/days/stored-piece.ts';
import {
  type Analytics,
  analyticsFrom,
  type BreakdownBy,
  type BreakdownRow,
  missedRows,
  type RouteBreakdownBy,
  routeRows,
  rowsOf,
  type Scanners,
  scannersFrom,
  type SeriesPoint,
  unknownScanners,
} from './answers.ts';
import { isEmptyFilter, type ScanFilter } from './filter.ts';
import { FilteredScans, quarterPieces, type RollupWord, wordOf } from './filtered-scans.ts';
import {
  type CountedPiece,
  NeedsRawScans,
  type Ranges,
  type RawPart,
  type Wanted,
} from './range.ts';
import { AnswerCache } from './raw/answer-cache.ts';
import type { RawScanCounter } from './raw/raw-query.ts';
import { HoursOfWeek, type Interval, Series } from './series.ts';
import {
  clip,
  overlapOf,
  type Spans,
  spansOf,
  unavailable,
  undefinedWhereUnknown,
} from './spans.ts';
import type { CodeNo } from '../../model/numbers.ts';
import { type CodeScans, mostScansFirst, type Subject } from './subject.ts';

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

const seenBeforeDays = 90;

interface CounterPart extends RawPart {
  readonly counter: number;
}

interface Totals {
  readonly rollup: Rollup;
  readonly sketch: Sketch;
}

export interface Choice {
  /** Default Monday. */
  readonly weekStart?: WeekStart | undefined;
  readonly filter?: ScanFilter | undefined;
  /** Name of a route, 0 to 58, for a breakdown by route; routes of one name are one row. */
  readonly nameOf?: ((route: number) => string) | undefined;
}

/** Every method that takes a range throws Failure validation_failed (its zone or raw scans do not go back that far), overloaded. */
export class ScanAnalytics {
  readonly #ranges: Ranges;
  readonly #answers: AnswerCache;
  readonly #filtered: FilteredScans;
  readonly #lists = pLimit(1);

  constructor(ranges: Ranges, raw: RawScanCounter) {
    this.#ranges = ranges;
    this.#answers = new AnswerCache(raw);
    const scansOf = (subject: Subject, range: LocalRange) => this.scans(subject, range);
    this.#filtered = new FilteredScans(this.#answers, ranges, scansOf);
  }

  lifetimeScans(codeNo: CodeNo): number {
    this.#ranges.refresh();
    let total = this.#ranges.summaries.total(codeNo);
    this.#ranges.recent.each(codeNo, (block, entry) => {
      if (block.isScan(entry)) total++;
    });
    return total;
  }

  async totals(subject: Subject, range: LocalRange, filter: ScanFilter = {}): Promise<Analytics> {
    const { rollup, sketch } = await this.#counted(subject, range, filter);
    return analyticsFrom(rollup, sketch);
  }

  /** Also says how many of the scanners were seen in the 90 days before. */
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

  /** Every point of the range, zeros included. */
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

  /** Rows sum to the range's scans, except `bot` and `missed`, whose visits are no scans. Routes are those of one code. */
  async breakdown(
    subject: Subject,
    range: LocalRange,
    by: BreakdownBy | RouteBreakdownBy,
    { weekStart = 'mon', filter = {}, nameOf = String }: Choice = {},
  ): Promise<BreakdownRow[]> {
    if (by === 'hour' || by === 'weekday' || by === 'hour_of_week') {
      const hours = new HoursOfWeek(range);
      await this.#eachPiece(subject, range, filter, (piece) => hours.add(piece));
      return hours.rows(by, weekStart);
    }
    const word = wordOf(filter);
    if (word !== undefined && by !== 'missed' && Dimension[by] === word.dimension) {
      const rows = await this.breakdown(subject, range, by);
      return rows.filter(({ key }) => Object.values(filter).includes(key));
    }
    const of = by === 'bot' || by === 'missed' ? 'all' : 'scans';
    const hasNames = by === 'city' || by === 'referer';
    const namesMax = !hasNames ? 0 : 'codes' in subject ? unionNamesMax : rangeNamesMax;
    let rollup = new Rollup(namesMax);
    if (isEmptyFilter(filter)) await this.#gather(subject, range, { rollup, of });
    else ({ rollup } = await this.#filtered.of(subject, range, filter, of));
    if (by === 'missed') return missedRows(rollup);
    return by === 'route' ? routeRows(rollup, nameOf) : rowsOf(rollup, by);
  }

  /** Numbers of the labels, 1 to 58, that a code's counted scans have. @throws Failure data_damaged */
  routesSeen(codeNo: CodeNo): ReadonlySet<number> {
    const rollup = new Rollup(0);
    this.#ranges.refresh();
    this.#ranges.add(codeNo, spansOf({ fromDay: 0, toDay: dayStoredMax }), { rollup });
    const seen = Array.from(rollup.values(Dimension.route), ({ value }) => value);
    return new Set(seen.filter((route) => !isMissed(route)));
  }

  /** Codes with scans: in the order of the list, with a filter most first. @param subject codes, or any with a filter */
  async scansByCode(
    subject: Subject,
    range: LocalRange,
    filter: ScanFilter = {},
  ): Promise<CodeScans[]> {
    const found: CodeScans[] = [];
    if (isEmptyFilter(filter)) {
      await this.#eachCounter(subject, range, (codeNo, scans) => {
        if (scans > 0) found.push({ codeNo, scans });
      });
      return found;
    }
    const { codes } = await this.#filtered.of(subject, range, filter);
    for (const [codeNo, scans] of codes) found.push({ codeNo, scans });
    return found.sort(mostScansFirst);
  }

  async #gather(subject: Subject, range: LocalRange, wanted: Wanted): Promise<void> {
    const spans = spansOf(range);
    const parts: CounterPart[] = [];
    await this.#read(subject, range, (counter) => {
      const { records, rawParts } = this.#ranges.add(counter, spans, wanted);
      for (const part of rawParts) parts.push({ ...part, counter });
      return records;
    });
    await this.#addRawParts(subject, parts, wanted);
  }

  /**
   * Adds what the records leave to raw scans: one query counts all counters with the same part. A part with fewer raw scans
   * than its records say has expired. Records do not count bots and visits without a redirect: for these, the part must begin
   * after everything expired.
   */
  async #addRawParts(
    subject: Subject,
    parts: readonly CounterPart[],
    { rollup, sketch, of: counted }: Wanted,
  ): Promise<void> {
    const of = 'code' in subject || 'codes' in subject ? 'codes' : 'workspaces';
    const readsAll = counted === 'all';
    const sameParts = Map.groupBy(parts, ({ fromMs, endMs }) => `${fromMs}-${endMs}`);
    for (const same of sameParts.values()) {
      const { fromMs, endMs } = same[0]!;
      const expected = same.reduce((sum, { scans }) => sum + scans, 0);
      const numbers = Uint32Array.from(same, ({ counter }) => counter).sort();
      const codes = of === 'codes' ? numbers : undefined;
      const asked = { workspaceNo: subject.workspace, codes, of, filter: {} } as const;
      const query = { ...asked, fromMs, endMs, expected, readsAll };
      const answer = await this.#answers.run(query);
      const isExpired = readsAll && fromMs < this.#ranges.expiredBeforeMs();
      if (isExpired || answer.all < expected) throw partExpired();
      rollup.merge(answer.rollup);
      sketch?.merge(answer.sketch);
    }
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

  /** Scans without a filter. */
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

const partExpired = (): Failure =>
  unavailable(
    'The first or last day of the range is not kept by this zone, and its raw scans have expired; ' +
      'ask for timezone=UTC, for timezone=workspace, or for a range that begins later',
  );

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
