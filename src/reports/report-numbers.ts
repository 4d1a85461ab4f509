/**
 * The numbers of a report or a digest: read here and nowhere else, so that neither can show more than these. No target,
 * no id, no raw scan, and no code beside the one that is asked for.
 *
 *   report    code: from the day of its creation to today, or to the day of its deletion
 *             campaign: the days of its schedule that have begun; a range counts back from the last of them
 *   digest    a whole local week or month of a workspace
 *
 * The period before is as long, and ends the day before. Where it would begin before counting did, nothing is compared:
 * the change would mean nothing.
 */
import { dayOf, type DayRange } from '../model/day.ts';
import type { ReportRange } from '../model/reports/report.ts';
import type { ScanAnalytics, Subject } from '../scans/query/analytics.ts';
import type { BreakdownRow } from '../scans/query/answers.ts';
import type { ReportSubject } from './reports.ts';

/** Days of `all` at most, as of any series: ten years. */
const daysMax = 3_660;
const daysOfRange: Readonly<Record<ReportRange, number>> = {
  '7d': 7,
  '30d': 30,
  '90d': 90,
  all: daysMax,
};

export type ReportScans = Pick<ScanAnalytics, 'totals' | 'series' | 'breakdown'>;

/** Which days are looked at; `previous` undefined = they are compared with nothing. */
export interface Period {
  readonly days: DayRange;
  readonly previous: DayRange | undefined;
}

export interface DayScans {
  readonly day: number;
  readonly scans: number;
}

export interface Numbers extends Period {
  readonly totalScans: number;
  readonly uniqueScanners: number;
  /** Of the scans, against the period before, as a fraction; undefined without one, or when it had none. */
  readonly change: number | undefined;
  /** Every day, oldest first, empty ones too. */
  readonly series: readonly DayScans[];
  /** Most scans first. */
  readonly countries: readonly BreakdownRow[];
  readonly cities: readonly BreakdownRow[];
  readonly devices: readonly BreakdownRow[];
  /** `00` to `23`, those with scans. */
  readonly hours: readonly BreakdownRow[];
}

/** Undefined before its first day. @param today of the report's zone */
export function periodOf(
  subject: ReportSubject,
  range: ReportRange,
  today: number,
): Period | undefined {
  const { first, last } = lifeOf(subject, today);
  if (last < first) return undefined;
  const length = daysOfRange[range];
  const days = { fromDay: Math.max(first, last - length + 1), toDay: last };
  const previous = { fromDay: last - 2 * length + 1, toDay: last - length };
  const isWhole = range !== 'all' && previous.fromDay >= first;
  return { days, previous: isWhole ? previous : undefined };
}

function lifeOf(subject: ReportSubject, today: number): { first: number; last: number } {
  if (subject.kind === 'campaign') {
    const { startDay, endDay } = subject.campaign;
    return { first: startDay, last: Math.min(today, endDay ?? today) };
  }
  const { createdAtMs, deletedAtMs } = subject.code;
  const last = deletedAtMs === undefined ? today : Math.min(today, dayOf(deletedAtMs));
  return { first: dayOf(createdAtMs), last };
}

/** @throws Failure overloaded when too many campaigns are read at a time */
export async function readNumbers(
  scans: ReportScans,
  subject: Subject,
  { days, previous }: Period,
): Promise<Numbers> {
  const { totalScans, uniqueScanners } = await scans.totals(subject, days);
  const points = await scans.series(subject, days, 'day');
  const before = previous && (await scans.totals(subject, previous)).totalScans;
  const by = (what: 'country' | 'city' | 'device' | 'hour'): Promise<BreakdownRow[]> =>
    scans.breakdown(subject, days, what);
  return {
    days,
    previous,
    totalScans,
    uniqueScanners,
    change: before === undefined || before === 0 ? undefined : (totalScans - before) / before,
    series: points.map(({ scans: count }, at) => ({ day: days.fromDay + at, scans: count })),
    countries: await by('country'),
    cities: await by('city'),
    devices: await by('device'),
    hours: await by('hour'),
  };
}
