/**
 * The numbers of a campaign: sums over its codes and the union of their scanners, from the days of its
 * schedule and no others. Deleted codes count as long as their analytics are kept.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { CampaignEnd, CampaignRecord } from '../model/campaign.ts';
import type { Clock } from '../model/clock.ts';
import { dayMax, dayOf, type DayRange } from '../model/day.ts';
import type { ScanAnalytics, Subject } from '../scans/query/analytics.ts';
import type { Analytics } from '../scans/query/answers.ts';
import type { CampaignCodes, CampaignMember } from './campaign-codes.ts';
import type { Conversions, ConversionSum } from './conversions.ts';

/** Days the series of the totals goes back at most: ten years. */
const seriesDaysMax = 3_660;
/** Codes whose conversions are read between two yields: about 2 ms. */
const sliceCodes = 200;

export type CampaignScans = Pick<ScanAnalytics, 'totals' | 'series' | 'scansByCode'>;

export interface CampaignAnalyticsOptions {
  readonly scans: CampaignScans;
  readonly codes: CampaignCodes;
  readonly conversions: Conversions;
  readonly clock: Clock;
}

/** Days to look at; absent = from the start, to the end. */
export interface CampaignSpan {
  readonly fromDay?: number | undefined;
  readonly toDay?: number | undefined;
}

export interface CampaignTotals extends Analytics {
  readonly conversions: number;
  readonly conversionValue: number;
  readonly conversionRate: number;
  /** Most scans first, ties in the order of the list. */
  readonly codes: ReadonlyArray<{
    readonly qrId: string;
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
    return { codes: this.#membersOf(campaign).map(({ codeNo }) => codeNo) };
  }

  /** The part of a span that is in the schedule; backwards when no day is. */
  range({ startDay, endDay }: CampaignRecord, { fromDay, toDay }: CampaignSpan): DayRange {
    return {
      fromDay: Math.max(startDay, fromDay ?? startDay),
      toDay: Math.min(endDay ?? dayMax, toDay ?? dayMax),
    };
  }

  /** The days of it that a series shows: days to come are left out. */
  seriesRange(campaign: CampaignRecord, span: CampaignSpan): DayRange {
    const { fromDay, toDay } = this.range(campaign, span);
    return { fromDay, toDay: Math.min(toDay, dayOf(this.#options.clock.now())) };
  }

  /** What the whole schedule came to. */
  async result(campaign: CampaignRecord): Promise<Omit<CampaignEnd, 'atMs'>> {
    const { scans, conversions } = this.#options;
    const range = this.range(campaign, {});
    const codeNos = this.#membersOf(campaign).map(({ codeNo }) => codeNo);
    const { totalScans, uniqueScanners } = await scans.totals({ codes: codeNos }, range);
    const { count } = conversions.sumOf(codeNos, range.fromDay, range.toDay);
    const conversionRate = rateOf(count, totalScans);
    return { totalScans, uniqueScanners, conversions: count, conversionRate };
  }

  async totals(campaign: CampaignRecord, span: CampaignSpan): Promise<CampaignTotals> {
    const { scans } = this.#options;
    const members = this.#membersOf(campaign);
    const codes = members.map(({ codeNo }) => codeNo);
    const range = this.range(campaign, span);
    const counted = await scans.totals({ codes }, range);
    const byCode = await scans.scansByCode(codes, range);
    const converted = await this.#conversionsOf(members, range);
    const scansOf = new Map(byCode.map(({ codeNo, scans: count }) => [codeNo, count]));
    const { fromDay, toDay } = this.seriesRange(campaign, span);
    const shown = { fromDay: Math.max(fromDay, toDay - seriesDaysMax + 1), toDay };
    const series = await scans.series({ codes }, shown, 'day');
    return {
      ...counted,
      conversions: converted.count,
      conversionValue: converted.value,
      conversionRate: rateOf(converted.count, counted.totalScans),
      codes: members
        .map(({ codeNo, qrId, isDeleted }) => ({
          qrId,
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

  #membersOf(campaign: CampaignRecord): readonly CampaignMember[] {
    return this.#options.codes.memberships.membersOf(campaign.no);
  }

  async #conversionsOf(members: readonly CampaignMember[], { fromDay, toDay }: DayRange) {
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

/** Conversions a scan; 0 when nothing was scanned. */
function rateOf(conversions: number, scans: number): number {
  return scans === 0 ? 0 : conversions / scans;
}
