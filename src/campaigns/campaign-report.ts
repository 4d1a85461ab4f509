/**
 * The numbers of a campaign: sums over its codes and the union of their scanners, from the days of its
 * schedule and no others. Deleted codes count as long as their analytics are kept.
 */
import type { CampaignEnd, CampaignRecord } from '../model/campaign.ts';
import { dayOf } from '../model/day.ts';
import type { Clock } from '../model/clock.ts';
import type {
  Analytics,
  BreakdownBy,
  BreakdownRow,
  Interval,
  SeriesPoint,
} from '../scans/report/breakdown.ts';
import type { ScanReport } from '../scans/report/report.ts';
import type { CampaignCodes, CampaignMember } from './campaign-codes.ts';
import type { Conversions } from './conversions.ts';

/** 9999-12-31: the last day there is. */
const lastDay = 2_932_896;
/** Days the series of an answer goes back at most: ten years. */
const seriesDaysMax = 3_660;
/** Codes between which the event loop turns: their conversions are about 2 ms of reading. */
const sliceCodes = 200;

export type ManyCodesReport = Pick<
  ScanReport,
  'analyticsOf' | 'breakdownOf' | 'timeseriesOf' | 'totalsOf'
>;

export interface CampaignReportOptions {
  readonly report: ManyCodesReport;
  readonly codes: CampaignCodes;
  readonly conversions: Conversions;
  readonly clock: Clock;
}

/** Days to look at; absent = from the start, to the end. */
export interface CampaignSpan {
  readonly fromDay?: number | undefined;
  readonly toDay?: number | undefined;
}

export interface CodeResult {
  readonly qrId: string;
  readonly deleted: boolean;
  readonly totalScans: number;
  readonly conversions: number;
}

export interface CampaignAnalytics extends Analytics {
  readonly conversions: number;
  readonly conversionValue: number;
  readonly conversionRate: number;
  /** Most scans first, ties in the order of the list. */
  readonly codes: readonly CodeResult[];
  readonly timeseries: ReadonlyArray<{ readonly date: string; readonly scans: number }>;
}

interface Days {
  readonly fromDay: number;
  readonly toDay: number;
}

const nothing: Analytics = {
  totalScans: 0,
  uniqueScanners: 0,
  devices: { ios: 0, android: 0, other: 0 },
  topCountries: [],
};

export class CampaignReport {
  readonly #options: CampaignReportOptions;

  constructor(options: CampaignReportOptions) {
    this.#options = options;
  }

  /** What the whole schedule came to. @throws Failure overloaded, as all methods here */
  async totals(campaign: CampaignRecord): Promise<Omit<CampaignEnd, 'atMs'>> {
    const { report, codes, conversions } = this.#options;
    const { fromDay, toDay } = daysOf(campaign, {});
    const codeNos = codes.memberships.membersOf(campaign.no).map(({ codeNo }) => codeNo);
    const counted = await report.analyticsOf(codeNos, fromDay, toDay);
    const { totalScans, uniqueScanners } = counted;
    const { count } = conversions.sumOf(codeNos, fromDay, toDay);
    const conversionRate = rateOf(count, totalScans);
    return { totalScans, uniqueScanners, conversions: count, conversionRate };
  }

  async analytics(campaign: CampaignRecord, span: CampaignSpan): Promise<CampaignAnalytics> {
    const { report } = this.#options;
    const members = this.#options.codes.memberships.membersOf(campaign.no);
    const codeNos = members.map(({ codeNo }) => codeNo);
    const { fromDay, toDay } = daysOf(campaign, span);
    const isEmpty = fromDay > toDay;
    const counted = isEmpty ? nothing : await report.analyticsOf(codeNos, fromDay, toDay);
    const scans = isEmpty ? [] : await report.totalsOf(codeNos, fromDay, toDay);
    const converted = await this.#conversionsOf(members, { fromDay, toDay });
    const scansByCode = new Map(scans.map(({ codeNo, scans: count }) => [codeNo, count]));
    const series = await this.timeseries(campaign, span, 'day');
    return {
      ...counted,
      conversions: converted.count,
      conversionValue: converted.value,
      conversionRate: rateOf(converted.count, counted.totalScans),
      codes: members
        .map(({ codeNo, qrId, isDeleted }) => ({
          qrId,
          deleted: isDeleted,
          totalScans: scansByCode.get(codeNo) ?? 0,
          conversions: converted.byCode.get(codeNo) ?? 0,
        }))
        .sort((a, b) => b.totalScans - a.totalScans),
      timeseries: series.map(({ start, scans: count }) => ({
        date: start.slice(0, 10),
        scans: count,
      })),
    };
  }

  async breakdown(
    campaign: CampaignRecord,
    span: CampaignSpan,
    by: BreakdownBy,
  ): Promise<BreakdownRow[]> {
    const { fromDay, toDay } = daysOf(campaign, span);
    if (fromDay > toDay) return [];
    return await this.#options.report.breakdownOf(this.#codeNos(campaign), fromDay, toDay, by);
  }

  /** From the start, or at most ten years back, until today or the end. */
  async timeseries(
    campaign: CampaignRecord,
    span: CampaignSpan,
    interval: Interval,
  ): Promise<SeriesPoint[]> {
    const { fromDay, toDay } = this.seriesDays(campaign, span);
    if (fromDay > toDay) return [];
    const from = Math.max(fromDay, toDay - seriesDaysMax + 1);
    return await this.#options.report.timeseriesOf(this.#codeNos(campaign), from, toDay, interval);
  }

  /** The days a series is about: those to come are none. */
  seriesDays(campaign: CampaignRecord, span: CampaignSpan): Days {
    const { fromDay, toDay } = daysOf(campaign, span);
    return { fromDay, toDay: Math.min(toDay, dayOf(this.#options.clock.now())) };
  }

  #codeNos(campaign: CampaignRecord): number[] {
    return this.#options.codes.memberships.membersOf(campaign.no).map(({ codeNo }) => codeNo);
  }

  async #conversionsOf(members: readonly CampaignMember[], { fromDay, toDay }: Days) {
    const byCode = new Map<number, number>();
    let [count, value] = [0, 0];
    for (const [at, { codeNo }] of members.entries()) {
      const sum = this.#options.conversions.sumOf([codeNo], fromDay, toDay);
      if (sum.count > 0) byCode.set(codeNo, sum.count);
      count += sum.count;
      value += sum.value;
      if (at % sliceCodes === sliceCodes - 1) await new Promise((go) => setImmediate(go));
    }
    return { count, value, byCode };
  }
}

/** The part of a span that is in the schedule; backwards when there is none. */
function daysOf({ startDay, endDay }: CampaignRecord, { fromDay, toDay }: CampaignSpan): Days {
  return {
    fromDay: Math.max(startDay, fromDay ?? startDay),
    toDay: Math.min(endDay ?? lastDay, toDay ?? lastDay),
  };
}

/** Conversions a scan; 0 when nothing was scanned. */
function rateOf(conversions: number, scans: number): number {
  return scans === 0 ? 0 : conversions / scans;
}
