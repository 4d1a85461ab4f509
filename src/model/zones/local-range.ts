/** Ranges of days of a time zone, as ranges of time. */
import type { DayRange } from '../day.ts';
import { type Calendar, utcCalendar } from './calendar.ts';

export interface LocalRange extends DayRange {
  readonly calendar?: Calendar | undefined;
  /** The part of these days; absent = all. */
  readonly within?: TimeRange | undefined;
}

/** Epoch ms, the end excluded. */
export interface TimeRange {
  readonly fromMs: number;
  readonly endMs: number;
}

const always: TimeRange = { fromMs: -Infinity, endMs: Infinity };

export const calendarOfRange = ({ calendar = utcCalendar }: LocalRange): Calendar => calendar;

export function timeRangeOf(range: LocalRange): TimeRange {
  const calendar = calendarOfRange(range);
  const { within = always } = range;
  const fromMs = Math.max(within.fromMs, calendar.startOfDay(range.fromDay));
  const endMs = Math.min(within.endMs, calendar.startOfDay(range.toDay + 1));
  return { fromMs, endMs: Math.max(fromMs, endMs) };
}

export function splitAt(range: LocalRange, timeMs: number): [before: LocalRange, from: LocalRange] {
  const { within = always } = range;
  const endMs = Math.min(within.endMs, timeMs);
  const fromMs = Math.max(within.fromMs, timeMs);
  return [
    { ...range, within: { ...within, endMs } },
    { ...range, within: { ...within, fromMs } },
  ];
}
