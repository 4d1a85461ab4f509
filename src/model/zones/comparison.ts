/**
 * Compares a range of days with an earlier period. A range that includes today is compared up to the current quarter hour,
 * and the other period up to the same time of the matching day.
 */
import { addMonths, dayMs, dayOf, type DayRange, minuteMs, quarterMs } from '../day.ts';
import type { Calendar } from './calendar.ts';
import { calendarOfRange, type LocalRange } from './local-range.ts';

const daysPerWeek = 7;
const monthsPerYear = 12;

/** The matching day of a day in a range of `days`. */
export const shifts = {
  previous: (day: number, days: number) => day - days,
  previous_weekdays: (day: number, days: number) =>
    day - Math.ceil(days / daysPerWeek) * daysPerWeek,
  last_month_days: (day: number) => monthsBefore(day, 1),
  last_year: (day: number) => monthsBefore(day, monthsPerYear),
} as const;

const monthsBefore = (day: number, months: number): number =>
  dayOf(addMonths(day * dayMs, -months));

export interface ComparedDays extends DayRange {
  readonly dayFor: (day: number) => number;
}

export interface Until {
  readonly nowMs: number;
  readonly beforeMs: number;
}

/** Possible ends, best first; empty for a range without today, whose periods are complete. */
export function untilsOf(
  range: LocalRange,
  { dayFor }: Pick<ComparedDays, 'dayFor'>,
  nowMs: number,
): Until[] {
  const calendar = calendarOfRange(range);
  const today = calendar.dayOf(nowMs);
  if (today < range.fromDay || today > range.toDay) return [];
  const quarter = Math.floor(nowMs / quarterMs) * quarterMs;
  return [quarter, calendar.startOfDay(today)].map((untilMs) => ({
    nowMs: untilMs,
    beforeMs: sameTimeOn(calendar, dayFor(today), untilMs),
  }));
}

function sameTimeOn(calendar: Calendar, day: number, timeMs: number): number {
  const offsetMs = calendar.offsetAt(timeMs) * minuteMs;
  const moved = timeMs + (day - calendar.dayOf(timeMs)) * dayMs;
  const found = moved + offsetMs - calendar.offsetAt(moved) * minuteMs;
  // The time may not exist on a day when the clocks change.
  return Math.min(Math.max(found, calendar.startOfDay(day)), calendar.startOfDay(day + 1));
}
