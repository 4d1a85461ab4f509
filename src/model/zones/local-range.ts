/** A range of days of a time zone, and the stretch of time that it is. */
import type { DayRange } from '../day.ts';
import { type Calendar, utcCalendar } from './calendar.ts';

/** Days of a calendar, both included. */
export interface LocalRange extends DayRange {
  /** Absent = UTC. */
  readonly calendar?: Calendar | undefined;
  /** What of these days is meant; absent = all. */
  readonly within?: Stretch | undefined;
}

/** Epoch ms, the end excluded. */
export interface Stretch {
  readonly fromMs: number;
  readonly endMs: number;
}

const always: Stretch = { fromMs: -Infinity, endMs: Infinity };

export const calendarOfRange = ({ calendar = utcCalendar }: LocalRange): Calendar => calendar;

export function stretchOf(range: LocalRange): Stretch {
  const calendar = calendarOfRange(range);
  const { within = always } = range;
  const fromMs = Math.max(within.fromMs, calendar.startOfDay(range.fromDay));
  const endMs = Math.min(within.endMs, calendar.startOfDay(range.toDay + 1));
  return { fromMs, endMs: Math.max(fromMs, endMs) };
}

/** What of a range lies before a time, and what begins with it. */
export function splitAt(range: LocalRange, timeMs: number): [before: LocalRange, from: LocalRange] {
  const { within = always } = range;
  const endMs = Math.min(within.endMs, timeMs);
  const fromMs = Math.max(within.fromMs, timeMs);
  return [
    { ...range, within: { ...within, endMs } },
    { ...range, within: { ...within, fromMs } },
  ];
}
