/**
 * When digests are due and what they are about, in local days of the workspace's zone.
 *
 *   weekly    08:00 of the day on which the workspace's weeks begin   the seven days before it
 *   monthly   08:00 of the first                                      the month before it
 *
 * One that is late, because the service was down, is about the last whole period: those between are left out.
 */
import { dayMs, type DayRange } from '../../model/day.ts';
import type { DigestFrequency } from '../../model/reports/report.ts';
import { localMinutes } from '../../routes/zone-offsets.ts';
import type { Period } from '../report-numbers.ts';

export type WeekStart = 'mon' | 'sun' | 'sat';

/** How a workspace counts its days and weeks. */
export interface LocalWeeks {
  /** IANA name. */
  readonly zone: string;
  readonly weekStart: WeekStart;
}

const minuteMs = 60_000;
const minutesPerDay = 1_440;
/** 08:00. */
const dueMinute = 8 * 60;
const daysPerWeek = 7;
/** Days from the last such weekday before 1970-01-01, a Thursday. */
const daysSince: Readonly<Record<WeekStart, number>> = { mon: 3, sun: 4, sat: 5 };

/** The first time after `afterMs` that a digest is due. */
export function nextDueMs(frequency: DigestFrequency, weeks: LocalWeeks, afterMs: number): number {
  const begin = beginOfPeriod(frequency, weeks, localDay(weeks.zone, afterMs));
  const dueMs = morningMs(weeks.zone, begin);
  return dueMs > afterMs ? dueMs : morningMs(weeks.zone, nextBegin(frequency, begin));
}

/** The last day of the last period that is whole at a time. */
export function lastDayDone(frequency: DigestFrequency, weeks: LocalWeeks, atMs: number): number {
  return beginOfPeriod(frequency, weeks, localDay(weeks.zone, atMs)) - 1;
}

/** The period that ends with a day, and the one before it. */
export function periodThrough(frequency: DigestFrequency, throughDay: number): Period {
  const days = rangeThrough(frequency, throughDay);
  return { days, previous: rangeThrough(frequency, days.fromDay - 1) };
}

function rangeThrough(frequency: DigestFrequency, toDay: number): DayRange {
  const fromDay = frequency === 'weekly' ? toDay - daysPerWeek + 1 : firstOfMonth(toDay, 0);
  return { fromDay, toDay };
}

const nextBegin = (frequency: DigestFrequency, begin: number): number =>
  frequency === 'weekly' ? begin + daysPerWeek : firstOfMonth(begin, 1);

function beginOfPeriod(frequency: DigestFrequency, { weekStart }: LocalWeeks, day: number): number {
  if (frequency === 'monthly') return firstOfMonth(day, 0);
  const since = daysSince[weekStart];
  return day - ((day + since) % daysPerWeek);
}

/** @param later months after the one that the day is in */
function firstOfMonth(day: number, later: number): number {
  const date = new Date(day * dayMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1) / dayMs;
}

function localDay(zone: string, atMs: number): number {
  return Math.floor(localMinutes(zone, atMs) / minutesPerDay);
}

/** 08:00 of a local day; no zone changes its clocks then. */
function morningMs(zone: string, day: number): number {
  const wanted = day * minutesPerDay + dueMinute;
  let atMs = wanted * minuteMs;
  // The second step is by the offset that holds at about that time.
  for (let step = 0; step < 2; step++) atMs += (wanted - localMinutes(zone, atMs)) * minuteMs;
  return atMs;
}
