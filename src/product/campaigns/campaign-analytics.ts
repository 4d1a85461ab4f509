/**
 * Analytics of a campaign: sums over its codes and the union of their scanners, over the days of its schedule. Deleted codes
 * count as long as their analytics are stored.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Codes } from '../codes/codes.ts';
import type { Member } from '../codes/memberships.ts';
import type { CampaignEnd, CampaignRecord } from '../../model/campaign.ts';
import type { Clock } from '../../model/clock.ts';
import { dayMax, dayMs, type DayRange } from '../../model/day.ts';
import { type Calendar, utcCalendar } from '../../model/zones/calendar.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import type { ScanAnalytics } from '../../engine/analytics/analytics.ts';
import type { Subject } from '../../engine/analytics/subject.ts';
import type { Analytics } from '../../engine/analytics/answers.ts';
import { isEmptyFilter, type ScanFilter } from '../../engine/analytics/filter.ts';
import type { Conversions, ConversionSum } from './conversions.ts';

/** Days the series of the totals goes back at most: ten years. */
const seriesDaysMax = 3_660;
/** Codes whose conversions are read between two yields: about 2 ms. */
const sliceCodes = 200;

export type CampaignScans = Pick<ScanAnalytics, 'totals' | 'series' | 'scansByCode'>;

export interface CampaignAnalyticsOptions {
  readonly scans: CampaignScans;
  readonly codes: Codes;
  readonly conversions: Conversions;
  readonly clock: Clock;
}

/** Days to look at; absent = from the start, to the end. */
export interface CampaignSpan {
  readonly fromDay?: number | undefined;
  readonly toDay?: number | undefined;
}

/** The codes of a campaign, and the filter of their scans. */
export interface CampaignScope {
  readonly subject: Subject;
  readonly range: LocalRange;
  /** The days of it that a series shows. */
  readonly shown: LocalRange;
  readonly filter: ScanFilter;
}

export interface CampaignTotals extends Analytics {
  readonly conversions: number;
  readonly conversionValue: number;
  /** Null with a filter: conversions have no country, device, … */
  readonly conversionRate: number | null;
  /** Most scans first, ties in the order of the list. */
  readonly codes: ReadonlyArray<{
    readonly qrCodeId: string;
    readonly deleted: boolean;
    readonly totalScans: number;
    readonly conversions: number;
    readonly conversionValue: number;
  }>;
  readonly timeseries: ReadonlyArray<{ readonly date: string; readonly scans: number }>;
}

/** All totals throw Failure overloaded when too many are asked for at once. */
export class CampaignAnalytics {
  readonly #options: CampaignAnalyticsOptions;

  constructor(options: CampaignAnalyticsOptions) {
    this.#options = options;
  }

  subjectOf(campaign: CampaignRecord): Subject {
    const codes = this.#membersOf(campaign).map(({ codeNo }) => codeNo);
    return { codes, workspace: campaign.workspaceNo };
  }

  /** The part of a span that is in the schedule, which is of UTC days; backwards when no day is. */
  range(
    { startDay, endDay = dayMax }: CampaignRecord,
    { fromDay = 0, toDay = dayMax }: CampaignSpan,
    calendar: Calendar = utcCalendar,
  ): LocalRange {
    const within = { fromMs: startDay * dayMs, endMs: (endDay + 1) * dayMs };
    return {
      fromDay: Math.max(calendar.dayOf(within.fromMs), fromDay),
      toDay: Math.min(calendar.dayOf(within.endMs - 1), toDay),
      calendar,
      within,
    };
  }

  /** The days of it that a series shows: days to come are left out. */
  seriesRange(campaign: CampaignRecord, span: CampaignSpan, calendar?: Calendar): LocalRange {
    const range = this.range(campaign, span, calendar);
    const today = (calendar ?? utcCalendar).dayOf(this.#options.clock.now());
    return { ...range, toDay: Math.min(range.toDay, today) };
  }

  /** The result of the whole schedule. */
  async result(campaign: CampaignRecord): Promise<Omit<CampaignEnd, 'atMs'>> {
    const { scans, conversions } = this.#options;
    const range = this.range(campaign, {});
    const codeNos = this.#membersOf(campaign).map(({ codeNo }) => codeNo);
    const { totalScans, uniqueScanners } = await scans.totals({ codes: codeNos }, range);
    const { count } = conversions.sumOf(codeNos, range.fromDay, range.toDay);
    const conversionRate = rateOf(count, totalScans);
    return { totalScans, uniqueScanners, conversions: count, conversionRate };
  }

  /** Conversions are counted by UTC days: those of the range, whatever its zone. */
  async totals(campaign: CampaignRecord, scope: CampaignScope): Promise<CampaignTotals> {
    const { scans } = this.#options;
    const { subject, range, filter } = scope;
    const members = this.#membersOf(campaign).filter(isAmong(subject));
    const counted = await scans.totals(subject, range, filter);
    const byCode = await scans.scansByCode(subject, range, filter);
    const converted = await this.#conversionsOf(members, range);
    const scansOf = new Map(byCode.map(({ codeNo, scans: count }) => [codeNo, count]));
    const { fromDay, toDay } = scope.shown;
    const shown = { ...scope.shown, fromDay: Math.max(fromDay, toDay - seriesDaysMax + 1) };
    const series = await scans.series(subject, shown, 'day', { filter });
    return {
      ...counted,
      conversions: converted.count,
      conversionValue: converted.value,
      conversionRate: isEmptyFilter(filter) ? rateOf(converted.count, counted.totalScans) : null,
      codes: members
        .map(({ codeNo, qrCodeId, isDeleted }) => ({
          qrCodeId,
          deleted: isDeleted,
          totalScans: scansOf.get(codeNo) ?? 0,
          conversions: converted.byCode.get(codeNo)?.count ?? 0,
          conversionValue: converted.byCode.get(codeNo)?.value ?? 0,
        }))
        .sort((a, b) => b.totalScans - a.totalScans),
      timeseries: series.map(({ start, scans: count }) => ({
        date: start.slice(0, 10),
        scans: count,
      })),
    };
  }

  #membersOf(campaign: CampaignRecord): readonly Member[] {
    return this.#options.codes.memberships.membersOf(campaign.no);
  }

  async #conversionsOf(members: readonly Member[], { fromDay, toDay }: DayRange) {
    const byCode = new Map<number, ConversionSum>();
    let [count, value] = [0, 0];
    for (const [at, { codeNo }] of members.entries()) {
      const sum = this.#options.conversions.sumOf([codeNo], fromDay, toDay);
      if (sum.count > 0) byCode.set(codeNo, sum);
      count += sum.count;
      value += sum.value;
      if (at % sliceCodes === sliceCodes - 1) await yieldToEventLoop();
    }
    return { count, value, byCode };
  }
}

function isAmong(subject: Subject): (member: Member) => boolean {
  if (!('codes' in subject)) return () => true;
  const codes = new Set(subject.codes);
  return ({ codeNo }) => codes.has(codeNo);
}

/** Conversions per scan; 0 without scans. */
function rateOf(conversions: number, scans: number): number {
  return scans === 0 ? 0 : conversions / scans;
}
