/**
 * Due times and periods of digests, in local days of the workspace's zone.
 *
 *   weekly    08:00 of the day on which the workspace's weeks begin   the seven days before it
 *   monthly   08:00 of the first                                      the month before it
 *
 * A digest that is late because the service was down covers the last whole period alone.
 */
import { dayMs, type DayRange, minuteMs } from '../../../model/day.ts';
import type { DigestFrequency } from '../../../model/reports/report.ts';
import {
  type Calendar,
  startOfMonth,
  startOfWeek,
  type WeekStart,
} from '../../../model/zones/calendar.ts';

/** How a workspace counts its days and weeks. */
export interface LocalWeeks {
  readonly calendar: Calendar;
  readonly weekStart: WeekStart;
}

/** 08:00. */
const dueMs = 8 * 60 * minuteMs;
const daysPerWeek = 7;
/** More than a month has: the day is in the next one. */
const monthDaysMax = 31;

/** The first time after `afterMs` that a digest is due. */
export function nextDueMs(frequency: DigestFrequency, weeks: LocalWeeks, afterMs: number): number {
  const begin = beginOfPeriod(frequency, weeks, weeks.calendar.dayOf(afterMs));
  const nextMs = morningMs(weeks.calendar, begin);
  return nextMs > afterMs ? nextMs : morningMs(weeks.calendar, nextBegin(frequency, begin));
}

/** The last day of the last period that is whole at a time. */
export function lastDayDone(frequency: DigestFrequency, weeks: LocalWeeks, atMs: number): number {
  return beginOfPeriod(frequency, weeks, weeks.calendar.dayOf(atMs)) - 1;
}

/** Days of the period that ends with a day, and of the previous one. */
export function periodThrough(
  frequency: DigestFrequency,
  throughDay: number,
): { readonly days: DayRange; readonly previous: DayRange } {
  const days = rangeThrough(frequency, throughDay);
  return { days, previous: rangeThrough(frequency, days.fromDay - 1) };
}

function rangeThrough(frequency: DigestFrequency, toDay: number): DayRange {
  const fromDay = frequency === 'weekly' ? toDay - daysPerWeek + 1 : startOfMonth(toDay);
  return { fromDay, toDay };
}

const nextBegin = (frequency: DigestFrequency, begin: number): number =>
  frequency === 'weekly' ? begin + daysPerWeek : startOfMonth(begin + monthDaysMax);

function beginOfPeriod(frequency: DigestFrequency, { weekStart }: LocalWeeks, day: number): number {
  return frequency === 'monthly' ? startOfMonth(day) : startOfWeek(day, weekStart);
}

/** 08:00 of a local day; no zone changes its clocks then. */
function morningMs(calendar: Calendar, day: number): number {
  const localMs = day * dayMs + dueMs;
  const nearMs = localMs - calendar.offsetAt(localMs) * minuteMs;
  return localMs - calendar.offsetAt(nearMs) * minuteMs;
}
