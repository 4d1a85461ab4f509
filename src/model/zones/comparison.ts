/**
 * Which day a day is compared with, and until when. A range that holds the present is not over: it is compared until the running
 * quarter of an hour with the other period until the same time of the matching day, so that a morning is never compared with a
 * whole day.
 *
 *      range       |--day--|--day--|--today--> until 01:45
 *      previous    |--day--|--day--|---------> until 01:45
 */
import { addMonths, dayMs, dayOf, type DayRange, minuteMs, quarterMs } from '../day.ts';
import type { Calendar } from './calendar.ts';
import { calendarOfRange, type LocalRange } from './local-range.ts';

const daysPerWeek = 7;
const monthsPerYear = 12;

/** By name: the day that a day of a range of so many days is compared with. */
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
  /** The day that a day of the range is compared with. */
  readonly dayFor: (day: number) => number;
}

/** Until when each of two periods is counted, epoch ms. */
export interface Until {
  readonly nowMs: number;
  readonly beforeMs: number;
}

/** Best first; none where the range does not hold the present: both periods are whole. */
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

/** When clocks show on another day what they show at a time. */
function sameTimeOn(calendar: Calendar, day: number, timeMs: number): number {
  const offsetMs = calendar.offsetAt(timeMs) * minuteMs;
  const moved = timeMs + (day - calendar.dayOf(timeMs)) * dayMs;
  const found = moved + offsetMs - calendar.offsetAt(moved) * minuteMs;
  // On a day on which clocks change, the time may not exist.
  return Math.min(Math.max(found, calendar.startOfDay(day)), calendar.startOfDay(day + 1));
}
