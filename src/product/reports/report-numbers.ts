/**
 * Reads all analytics that a report or a digest shows: no target, no id, no raw scan, and no code but the requested one.
 *
 *   report    code: from the day of its creation to today, or to the day of its deletion
 *             campaign: the days of its schedule that have begun; a range counts back from the last of them
 *   digest    a whole local week or month of a workspace
 *
 * The previous period has the same weekdays. If it began before counting did, the report has no comparison. A day that
 * is not over is compared until the same time (model/zones/comparison.ts): scans are stored by quarters of an hour, so no raw scan is
 * needed. Days are those of a zone; if they are not available that far back, they are UTC days, and the page says so.
 */
import { dayMax, dayMs, parseDay } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import type { ReportRange } from '../../model/reports/report.ts';
import { type Calendar, utcCalendar } from '../../model/zones/calendar.ts';
import { shifts, type Until, untilsOf } from '../../model/zones/comparison.ts';
import { type LocalRange, splitAt, type TimeRange } from '../../model/zones/local-range.ts';
import type { ScanAnalytics } from '../../engine/analytics/analytics.ts';
import type { Subject } from '../../engine/analytics/subject.ts';
import type { BreakdownRow } from '../../engine/analytics/answers.ts';
import type { ReportSubject } from './reports.ts';

/** Days of `all` at most, as of any series: ten years. */
const daysMax = 3_660;
const daysOfRange: Readonly<Record<ReportRange, number>> = {
  '7d': 7,
  '30d': 30,
  '90d': 90,
  all: daysMax,
};

export type ReportScans = Pick<ScanAnalytics, 'totals' | 'scans' | 'series' | 'breakdown'>;

/** Which days are looked at; `previous` undefined = they are compared with nothing. */
export interface Period {
  readonly days: LocalRange;
  readonly previous: LocalRange | undefined;
  /** Absent = both are compared whole. */
  readonly until?: Until | undefined;
  /** The last of the days while it is not over. */
  readonly today?: number | undefined;
}

export interface DayScans {
  readonly day: number;
  readonly scans: number;
}

export interface Numbers extends Period {
  readonly totalScans: number;
  readonly uniqueScanners: number;
  /** The change of the compared scans since the previous period, as a fraction; undefined if that has no scans. */
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

/** Undefined before its first day. */
export function periodOf(
  subject: ReportSubject,
  range: ReportRange,
  calendar: Calendar,
  nowMs: number,
): Period | undefined {
  const { fromMs, endMs, within } = lifeOf(subject, nowMs);
  if (nowMs < fromMs) return undefined;
  const first = calendar.dayOf(fromMs);
  const last = Math.max(first, calendar.dayOf(Math.min(nowMs, endMs - 1)));
  const length = daysOfRange[range];
  const of = { calendar, within };
  const days = { ...of, fromDay: Math.max(first, last - length + 1), toDay: last };
  const today = nowMs < endMs ? last : undefined;
  const dayFor = (day: number): number => shifts.previous_weekdays(day, length);
  const previous = { ...of, fromDay: dayFor(last - length + 1), toDay: dayFor(last) };
  if (range === 'all' || previous.fromDay < first) return { days, previous: undefined, today };
  const [until] = untilsOf(days, { dayFor }, Math.min(nowMs, endMs));
  return { days, previous, until, today };
}

interface Life extends TimeRange {
  /** The part of its days that counts; undefined = all. */
  readonly within: TimeRange | undefined;
}

function lifeOf(subject: ReportSubject, nowMs: number): Life {
  if (subject.kind === 'campaign') {
    const { startDay, endDay = dayMax } = subject.campaign;
    // Its schedule is of UTC days, whatever days are shown.
    const within = { fromMs: startDay * dayMs, endMs: (endDay + 1) * dayMs };
    return { ...within, within };
  }
  const { createdAtMs, deletedAtMs = Infinity } = subject.code;
  // A clock that was set back must not reverse the range.
  return { fromMs: Math.min(createdAtMs, nowMs), endMs: deletedAtMs + 1, within: undefined };
}

/**
 * The numbers by days of a zone, or by those of UTC where the zone's are not known.
 * @param read throws what engine/analytics throws
 */
export async function readLocal<T>(
  calendar: Calendar,
  read: (calendar: Calendar) => Promise<T>,
): Promise<T> {
  try {
    return await read(calendar);
  } catch (error) {
    if (calendar === utcCalendar || !isUnavailable(error)) throw error;
    return await read(utcCalendar);
  }
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof Failure && error.faults.some(({ code }) => code === 'timezone_unavailable');

/** @throws Failure overloaded when too many campaigns are read at a time; validation_failed, timezone_unavailable */
export async function readNumbers(
  scans: ReportScans,
  subject: Subject,
  period: Period,
): Promise<Numbers> {
  const { days, previous, until } = period;
  const { totalScans, uniqueScanners } = await scans.totals(subject, days);
  const points = await scans.series(subject, days, 'day');
  const scansUntil = async (range: LocalRange, endMs = Infinity): Promise<number> =>
    await scans.scans(subject, splitAt(range, endMs)[0]);
  const before = previous && (await scansUntil(previous, until?.beforeMs));
  const now = until === undefined ? totalScans : await scansUntil(days, until.nowMs);
  const by = (what: 'country' | 'city' | 'device' | 'hour'): Promise<BreakdownRow[]> =>
    scans.breakdown(subject, days, what);
  return {
    ...period,
    totalScans,
    uniqueScanners,
    change: before === undefined || before === 0 ? undefined : (now - before) / before,
    series: points.map(({ start, scans: count }) => ({
      day: parseDay(start.slice(0, 10)) ?? days.fromDay,
      scans: count,
    })),
    countries: await by('country'),
    cities: await by('city'),
    devices: await by('device'),
    hours: await by('hour'),
  };
}
