/**
 * The period that a range is compared with. A range that holds the present is not over: it is compared until the running
 * quarter of an hour with the other period until the same time of the matching day, so that a morning is never compared with a
 * whole day.
 *
 *      range       |--day--|--day--|--today--> until 01:45
 *      previous    |--day--|--day--|---------> until 01:45
 *
 * Scanners of a part of a day are counted from raw scans. Where these have expired, both periods end with the day before.
 */
import { z } from 'zod';
import { dayMs, dayOf, type DayRange, minuteMs, parseDay, quarterMs } from '../../model/day.ts';
import { invalid } from '../../model/failure.ts';
import { type Calendar, formatLocal } from '../../model/zones/calendar.ts';
import { calendarOfRange, type LocalRange, splitAt } from '../../model/zones/local-range.ts';

const daysPerWeek = 7;
const monthsPerYear = 12;
const periodPattern = /^(\d{4}-\d{2}-\d{2})\.\.(\d{4}-\d{2}-\d{2})$/;

/** By name: the day that a day of a range of so many days is compared with. */
const shifts = {
  previous: (day: number, days: number) => day - days,
  previous_weekdays: (day: number, days: number) =>
    day - Math.ceil(days / daysPerWeek) * daysPerWeek,
  last_month_days: (day: number) => monthsBefore(day, 1),
  last_year: (day: number) => monthsBefore(day, monthsPerYear),
} as const;
type Named = keyof typeof shifts;
const isNamed = (text: string): text is Named => Object.hasOwn(shifts, text);

export const compare = z
  .string()
  .transform((text, context): DayRange | Named => {
    if (isNamed(text)) return text;
    const [, from = '', to = ''] = periodPattern.exec(text) ?? [];
    const [fromDay, toDay] = [parseDay(from), parseDay(to)];
    if (fromDay !== undefined && toDay !== undefined && fromDay <= toDay) return { fromDay, toDay };
    const names = Object.keys(shifts).join(', ');
    context.addIssue({
      code: 'custom',
      message: `Expected ${names}, or days as 2026-02-01..2026-02-28`,
    });
    return z.NEVER;
  })
  .optional()
  .meta({
    override: { type: 'string' },
    description:
      'A period to compare with: `previous` is as many days right before, `previous_weekdays` the same weekdays before, ' +
      '`last_month_days` the same days of the month before, `last_year` the same days of the year before, ' +
      '`YYYY-MM-DD..YYYY-MM-DD` days of the same number',
    example: 'previous',
    param: { id: 'Compare' },
  });
export type Compare = z.output<typeof compare>;

/** The same day so many months before, or that month's last. */
function monthsBefore(day: number, months: number): number {
  const date = new Date(day * dayMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() - months];
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return dayOf(Date.UTC(year, month, Math.min(date.getUTCDate(), last)));
}

export interface ComparedDays extends DayRange {
  /** The day that a day of the range is compared with. */
  readonly dayFor: (day: number) => number;
}

/** @throws Failure validation_failed where days are given, and are not as many as the range has */
export function comparedDays(
  asked: Compare,
  { fromDay, toDay }: DayRange,
): ComparedDays | undefined {
  if (asked === undefined) return undefined;
  // A range without a day, as that of a campaign to come, is compared as one day.
  const days = Math.max(1, toDay - fromDay + 1);
  if (typeof asked === 'string') {
    const dayFor = (day: number): number => shifts[asked](day, days);
    return { fromDay: dayFor(fromDay), toDay: dayFor(fromDay + days - 1), dayFor };
  }
  const found = asked.toDay - asked.fromDay + 1;
  if (found === days) return { ...asked, dayFor: (day) => day - fromDay + asked.fromDay };
  throw invalid(
    'compare',
    'compare_length',
    `Expected ${days} days as in the range, found ${found}`,
  );
}

/** Until when each of two periods is counted, epoch ms. */
export interface Until {
  readonly nowMs: number;
  readonly beforeMs: number;
}

/** Best first; none where the range does not hold the present: both periods are whole. */
export function untilsOf(range: LocalRange, { dayFor }: ComparedDays, nowMs: number): Until[] {
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

export const cutAt = <Of extends { readonly range: LocalRange; readonly shown?: LocalRange }>(
  scope: Of,
  endMs: number,
): Of => ({
  ...scope,
  range: splitAt(scope.range, endMs)[0],
  ...(scope.shown === undefined ? {} : { shown: splitAt(scope.shown, endMs)[0] }),
});

export const formatUntil = (range: LocalRange, timeMs: number) => ({
  until: formatLocal(calendarOfRange(range), timeMs),
});
