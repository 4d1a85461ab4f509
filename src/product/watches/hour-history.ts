/**
 * Scans by hour of the last eight weeks: 57 day records, in pieces of two weeks with a yield between, about 2 ms of a code
 * that is scanned daily. Gaps are spans that say nothing about how much is scanned: the service was down, a code was paused.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { dayMs, dayOf, hourMs } from '../../model/day.ts';
import { calendarOf, utcCalendar } from '../../model/zones/calendar.ts';
import type { ScanAnalytics } from '../../engine/analytics/analytics.ts';
import type { HourCounts } from './expectation.ts';
import type { Gap } from '../../model/watches/watch.ts';
import type { Subject } from '../../engine/analytics/subject.ts';

/** Hours are compared with those of so many weeks before. */
export const historyMs = 8 * 7 * 24 * hourMs;
const minutesPerHour = 60;
const hoursPerDay = 24;
const daysKept = historyMs / dayMs + 1;
const daysPerRead = 14;

/** @throws Failure overloaded */
export async function readHours(
  scans: Pick<ScanAnalytics, 'series'>,
  subject: Subject,
  nowMs: number,
): Promise<HourCounts> {
  const today = dayOf(nowMs);
  const firstDay = today - daysKept + 1;
  const counts: number[] = [];
  for (let day = firstDay; day <= today; day += daysPerRead) {
    const range = { fromDay: day, toDay: Math.min(day + daysPerRead - 1, today) };
    const points = await scans.series(subject, range, 'hour');
    counts.push(...points.map((point) => point.scans));
    await yieldToEventLoop();
  }
  const firstHour = firstDay * hoursPerDay;
  return { firstHour, counts: counts.slice(0, Math.floor(nowMs / hourMs) - firstHour + 1) };
}

/**
 * How many hours the clocks of a zone are ahead of UTC, hour by hour: an hour is compared with the same local hour of the
 * week. Half hours are rounded down.
 * @param zone an IANA name; undefined or unknown = UTC @returns of an hour since the epoch
 */
export function localHoursOf(zone: string | undefined): (hour: number) => number {
  const calendar = calendarOf(zone ?? utcCalendar.zone) ?? utcCalendar;
  return (hour) => Math.floor(calendar.offsetAt(hour * hourMs) / minutesPerHour);
}

/** Adds a span, and leaves out those before the history; beyond `gapsMax` the two oldest become one, with what is between. */
export function withGap(gaps: readonly Gap[], gap: Gap, nowMs: number, gapsMax: number): Gap[] {
  const kept = [...gaps, gap].filter(([fromMs, toMs]) => toMs > nowMs - historyMs && fromMs < toMs);
  const [first, second, ...rest] = kept;
  if (kept.length <= gapsMax || first === undefined || second === undefined) return kept;
  return [[first[0], second[1]], ...rest];
}

/** Whether an hour has a part of a gap in it. @param hour since the epoch */
export const isInGap = (gaps: readonly Gap[], hour: number): boolean =>
  gaps.some(([fromMs, toMs]) => fromMs < (hour + 1) * hourMs && toMs > hour * hourMs);
