/**
 * The numbers of a code, of many codes together, or of a workspace: totals, a series over time, and a
 * breakdown, over a range of days of a time zone.
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
import { Failure } from '../../model/failure.ts';
import { Sketch } from '../../model/sketch/sketch.ts';
import { isMissed } from '../../model/routing/labels.ts';
import { dayStoredMax, workspaceCounter } from '../../store/scans/scans.ts';
import { Dimension, Rollup } from '../rollup.ts';
import type { WeekStart } from '../../model/zones/calendar.ts';
import type { LocalRange, Stretch } from '../../model/zones/local-range.ts';
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
import { type Counted, seenBefore, undefinedWhereUnknown } from './days-before.ts';
import { isEmptyFilter, type ScanFilter } from './filter.ts';
import { FilteredScans, quartersOf, rawSpansOf, wordOf } from './filtered-scans.ts';
import { KeptUnions } from './kept-unions.ts';
import { NeedsRawScans, type Ranges, type Wanted } from './range.ts';
import { KeptAnswers } from './raw/kept-answers.ts';
import { RawParts } from './raw/raw-parts.ts';
import type { RawQuery, RawScanCounter } from './raw/raw-query.ts';
import { HoursOfWeek, type Interval, Series } from './series.ts';
import { spansOf } from './spans.ts';
import type { CodeNo } from '../../model/numbers.ts';
import type { CodeScans, Subject } from './subject.ts';

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

/** What a series or a breakdown may be asked for beside its range. */
export interface Choice {
  /** Default Monday. */
  readonly weekStart?: WeekStart | undefined;
  readonly filter?: ScanFilter | undefined;
}

/** All that take a list of codes throw Failure overloaded when too many lists wait. */
export class ScanAnalytics {
  readonly #ranges: Ranges;
  readonly #kept: KeptAnswers;
  readonly #filtered: FilteredScans;
  readonly #unions = new KeptUnions();
  readonly #lists = pLimit(1);

  constructor(ranges: Ranges, raw: RawScanCounter) {
    this.#ranges = ranges;
    this.#kept = new KeptAnswers(raw);
    this.#filtered = new FilteredScans({
      raw: this.#kept,
      scansOf: (subject, range) => this.scans(subject, range),
      oldestMs: () => ranges.oldestRawMs(),
      expiredBeforeMs: () => ranges.expiredBeforeMs(),
    });
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

  /** @throws Failure validation_failed where the range's zone, or its raw scans, are not known that far back; overloaded */
  async totals(subject: Subject, range: LocalRange, filter: ScanFilter = {}): Promise<Analytics> {
    if (!isEmptyFilter(filter)) {
      const { rollup, sketch } = await this.#filtered.of(subject, range, filter);
      return analyticsFrom(rollup, sketch);
    }
    const { rollup, sketch } = await this.#counted(subject, range);
    return analyticsFrom(rollup, sketch);
  }

  /**
   * The same, with how many of the scanners had been seen in the 90 days before.
   * @throws Failure validation_failed, overloaded
   */
  async totalsWithScanners(
    subject: Subject,
    range: LocalRange,
    filter: ScanFilter = {},
  ): Promise<Analytics & Scanners> {
    if (!isEmptyFilter(filter)) {
      return { ...(await this.totals(subject, range, filter)), ...unknownScanners };
    }
    const now = await this.#counted(subject, range);
    return withScanners(
      now,
      await undefinedWhereUnknown(this.#counted(subject, seenBefore(range))),
    );
  }

  async #counted(subject: Subject, range: LocalRange): Promise<Counted> {
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
    const fromRollups = await this.#seriesOfWord(subject, range, filter, () => {
      return new Series(range, interval, weekStart);
    });
    if (fromRollups !== undefined) return fromRollups.points();
    const series = new Series(range, interval, weekStart);
    await this.#eachPiece(subject, range, filter, (piece) => series.add(piece));
    return series.points();
  }

  /** Of one word by days that rollups have; undefined where they do not answer it. */
  async #seriesOfWord(
    subject: Subject,
    range: LocalRange,
    filter: ScanFilter,
    create: () => Series,
  ): Promise<Series | undefined> {
    const word = wordOf(filter);
    if (word === undefined) return undefined;
    const series = create();
    const spans = spansOf(range);
    const addPiece = (stretch: Stretch, counts: Rollup): void => {
      const scans = counts.get(word.dimension, word.value);
      if (scans > 0) series.add({ ...stretch, scans, eachTime: needRawScans });
    };
    try {
      await this.#read(subject, range, (no) => this.#ranges.eachCounts(no, spans, addPiece));
      return series;
    } catch (error) {
      if (error instanceof NeedsRawScans) return undefined;
      throw error;
    }
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
    const of = by === 'bot' ? 'all' : 'scans';
    const word = wordOf(filter);
    if (word !== undefined && Dimension[by] === word.dimension) {
      const rows = await this.breakdown(subject, range, by);
      return rows.filter(({ key }) => Object.values(filter).includes(key));
    }
    if (!isEmptyFilter(filter)) {
      return rowsOf(await this.#filteredOf(subject, range, of, filter), by);
    }
    const hasNames = by === 'city' || by === 'referer';
    const rollup = new Rollup(!hasNames ? 0 : 'codes' in subject ? unionNamesMax : rangeNamesMax);
    await this.#gather(subject, range, { rollup, of });
    return rowsOf(rollup, by);
  }

  /**
   * A code's scans by where they led; the rows sum to its `totalScans`.
   * @param nameOf what a number, 0 to 58, is called; those of one name are one row
   */
  async routes(
    subject: Subject,
    range: LocalRange,
    nameOf: (route: number) => string,
    filter: ScanFilter = {},
  ): Promise<BreakdownRow[]> {
    return routeRows(await this.#countsOf(subject, range, 'scans', filter), nameOf);
  }

  /** People whom a code led nowhere, by reason: no scans. */
  async missed(
    subject: Subject,
    range: LocalRange,
    filter: ScanFilter = {},
  ): Promise<BreakdownRow[]> {
    return missedRows(await this.#countsOf(subject, range, 'all', filter));
  }

  /** The numbers of labels, 1 to 58, that any scan of a code has that is counted by now. @throws Failure data_damaged */
  routesSeen(codeNo: CodeNo): ReadonlySet<number> {
    const rollup = new Rollup(0);
    this.#ranges.refresh();
    this.#ranges.add(codeNo, spansOf({ fromDay: 0, toDay: dayStoredMax }), { rollup });
    const seen = Array.from(rollup.values(Dimension.route), ({ value }) => value);
    return new Set(seen.filter((route) => !isMissed(route)));
  }

  /** Scans of each code that has some, in the order of the list. @throws Failure validation_failed */
  async scansByCode(codes: Iterable<CodeNo>, range: LocalRange): Promise<CodeScans[]> {
    const found: CodeScans[] = [];
    const spans = spansOf(range);
    await this.#read({ codes }, range, (codeNo) => {
      const [scans, records] = this.#ranges.scans(codeNo, spans);
      if (scans > 0) found.push({ codeNo, scans });
      return records;
    });
    return found;
  }

  /** Scans that match a filter, of each code that has some, most first. @throws Failure validation_failed, overloaded */
  async filteredByCode(
    subject: Subject,
    range: LocalRange,
    filter: ScanFilter,
  ): Promise<CodeScans[]> {
    const { codes } = await this.#filtered.of(subject, range, filter);
    const rows = Array.from(codes, ([codeNo, scans]) => ({ codeNo, scans }));
    return rows.sort((one, other) => other.scans - one.scans || one.codeNo - other.codeNo);
  }

  /** Without names and scanners. */
  async #countsOf(
    subject: Subject,
    range: LocalRange,
    of: 'scans' | 'all',
    filter: ScanFilter,
  ): Promise<Rollup> {
    if (!isEmptyFilter(filter)) return await this.#filteredOf(subject, range, of, filter);
    const rollup = new Rollup(0);
    await this.#gather(subject, range, { rollup, of });
    return rollup;
  }

  async #filteredOf(
    subject: Subject,
    range: LocalRange,
    of: 'scans' | 'all',
    filter: ScanFilter,
  ): Promise<Rollup> {
    const filtered = this.#filtered;
    const answer =
      of === 'all' ? filtered.ofAll(subject, range, filter) : filtered.of(subject, range, filter);
    return (await answer).rollup;
  }

  /** Adds what was counted in a range. @throws Failure validation_failed, overloaded, data_damaged */
  async #gather(subject: Subject, range: LocalRange, wanted: Wanted): Promise<void> {
    const spans = spansOf(range);
    const parts = new RawParts();
    // A list would push out all the others.
    const unions = 'codes' in subject ? undefined : this.#unions;
    await this.#read(subject, range, (counter) => {
      const { records, rawParts } = this.#ranges.add(counter, spans, { ...wanted, unions });
      parts.add(counter, rawParts);
      return records;
    });
    if (parts.isEmpty) return;
    const of = 'code' in subject || 'codes' in subject ? 'codes' : 'workspaces';
    const query = {
      workspaceNo: subject.workspace,
      of,
      namesMax: unionNamesMax,
      // Whether an answer lacks bots, the scans that are expected do not say.
      readsAll: wanted.of === 'all',
    } as const;
    const expiredBeforeMs = (): number => this.#ranges.expiredBeforeMs();
    const count = (of: RawQuery) => this.#kept.run(of, subject.asker);
    await parts.addTo(count, query, wanted, expiredBeforeMs);
  }

  async #eachPiece(
    subject: Subject,
    range: LocalRange,
    filter: ScanFilter,
    visit: (piece: Timed) => void,
  ): Promise<void> {
    if (!isEmptyFilter(filter)) {
      const answer = await this.#filtered.of(subject, range, filter);
      for (const piece of quartersOf(answer, rawSpansOf(range))) visit(piece);
      return;
    }
    const spans = spansOf(range);
    await this.#read(subject, range, (no) => this.#ranges.eachPiece(no, spans, visit));
  }

  /** Whether they match a filter or not. @throws Failure validation_failed, overloaded */
  async scans(subject: Subject, range: LocalRange): Promise<number> {
    const spans = spansOf(range);
    let sum = 0;
    await this.#read(subject, range, (counter) => {
      const [scans, records] = this.#ranges.scans(counter, spans);
      sum += scans;
      return records;
    });
    return sum;
  }

  /** @param read reads one counter; returns the records that it read */
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

function needRawScans(): never {
  throw new NeedsRawScans();
}

/** @param seen in the days before; undefined = they are not known */
function withScanners(now: Counted, seen: Counted | undefined): Analytics & Scanners {
  const analytics = analyticsFrom(now.rollup, now.sketch);
  if (seen === undefined) return { ...analytics, ...unknownScanners };
  return { ...analytics, ...scannersFrom(analytics.uniqueScanners, now.sketch, seen.sketch) };
}
