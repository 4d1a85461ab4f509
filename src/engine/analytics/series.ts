/**
 * Scans over time: the points of a range in its zone, and the hours of its weeks. `add` takes the range's pieces: one that
 * lies in a single point adds its sum, any other its quarters of an hour.
 */
import { dayMs, dayOf, hourMs, minuteMs, quarterMs, weekdays } from '../../model/day.ts';
import {
  type Calendar,
  formatLocal,
  startOfMonth,
  startOfWeek,
  weekdayOf,
  type WeekStart,
} from '../../model/zones/calendar.ts';
import { calendarOfRange, type LocalRange, timeRangeOf } from '../../model/zones/local-range.ts';
import type { Timed } from '../counting/days/stored-piece.ts';
import type { BreakdownRow, SeriesPoint, TimeBreakdownBy } from './answers.ts';

export const intervals = ['quarter_hour', 'hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof intervals)[number];

const hoursPerDay = 24;

export class Series {
  readonly #calendar: Calendar;
  /** Start of each point and end of the last, epoch ms. */
  readonly #starts: Float64Array;
  readonly #scans: Float64Array;

  constructor(range: LocalRange, interval: Interval, weekStart: WeekStart) {
    this.#calendar = calendarOfRange(range);
    this.#starts = Float64Array.from(startsOf(range, interval, weekStart));
    this.#scans = new Float64Array(Math.max(0, this.#starts.length - 1));
  }

  add(piece: Timed): void {
    const at = this.#pointAt(piece.fromMs);
    if (piece.endMs <= this.#starts[at + 1]!) this.#scans[at]! += piece.scans;
    else piece.eachQuarter((fromMs, scans) => this.#addQuarter(at, fromMs, scans));
  }

  points(): SeriesPoint[] {
    return Array.from(this.#scans, (scans, at) => ({
      start: formatLocal(this.#calendar, this.#starts[at]!),
      scans,
    }));
  }

  #addQuarter(first: number, fromMs: number, scans: number): void {
    const starts = this.#starts;
    let at = first;
    while (fromMs >= starts[at + 1]!) at++;
    this.#scans[at]! += scans;
  }

  #pointAt(timeMs: number): number {
    const starts = this.#starts;
    let low = 0;
    let high = starts.length - 2;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (starts[middle]! <= timeMs) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Start of each point and end of the last. The first week or month begins with the range. */
function startsOf(range: LocalRange, interval: Interval, weekStart: WeekStart): number[] {
  const { fromDay, toDay } = range;
  const { fromMs, endMs } = timeRangeOf(range);
  if (fromDay > toDay || fromMs === endMs) return [];
  if (interval === 'hour') return stepsOf(range, hourMs);
  if (interval === 'quarter_hour') return stepsOf(range, quarterMs);
  const calendar = calendarOfRange(range);
  const starts: number[] = [];
  for (let day = fromDay; day <= toDay; day++) {
    const isFirst = day === fromDay || day === firstOf(interval, day, weekStart);
    if (isFirst) starts.push(calendar.startOfDay(day));
  }
  // Without days that the zone skips, and starts outside the range.
  const inner = starts.filter((ms, at) => ms > fromMs && ms < endMs && ms !== starts[at - 1]);
  return [fromMs, ...inner, endMs];
}

function firstOf(interval: Interval, day: number, weekStart: WeekStart): number {
  if (interval === 'week') return startOfWeek(day, weekStart);
  return interval === 'month' ? startOfMonth(day) : day;
}

/**
 * Steps of the zone's clocks. A clock change by part of an hour, as on Lord Howe, makes the step before it shorter or longer.
 */
function stepsOf(range: LocalRange, stepMs: number): number[] {
  const calendar = calendarOfRange(range);
  const { fromMs, endMs } = timeRangeOf(range);
  const starts: number[] = [];
  for (let at = fromMs; at < endMs;) {
    starts.push(at);
    const offsetMs = calendar.offsetAt(at) * minuteMs;
    at = Math.floor((at + offsetMs) / stepMs + 1) * stepMs - offsetMs;
  }
  starts.push(endMs);
  return starts;
}

/** Scans by hour of the week on the zone's clocks, from Monday. */
export class HoursOfWeek {
  readonly #calendar: Calendar;
  readonly #scans = new Float64Array(weekdays.length * hoursPerDay);
  /** Cache: a UTC day and its offset; undefined = the offset changes that day. */
  #day = -1;
  #offsetOfDayMs: number | undefined;

  constructor(range: LocalRange) {
    this.#calendar = calendarOfRange(range);
  }

  add(piece: Timed): void {
    piece.eachQuarter((fromMs, scans) => {
      this.#scans[this.#hourAt(fromMs)]! += scans;
    });
  }

  /** In order of time, zeros included; hours of the day only with scans, most first. */
  rows(by: TimeBreakdownBy, weekStart: WeekStart): BreakdownRow[] {
    const first = weekdays.indexOf(weekStart) * hoursPerDay;
    const hours = this.#scans.length;
    const sums = new Map<string, number>();
    for (let at = first; at < first + hours; at++) {
      const day = weekdays[Math.floor((at % hours) / hoursPerDay)]!;
      const hour = String(at % hoursPerDay).padStart(2, '0');
      const key = by === 'weekday' ? day : by === 'hour' ? hour : `${day}-${hour}`;
      sums.set(key, (sums.get(key) ?? 0) + this.#scans[at % hours]!);
    }
    const rows = Array.from(sums, ([key, scans]) => ({ key, scans }));
    if (by !== 'hour') return rows;
    return rows.filter(({ scans }) => scans > 0).sort((a, b) => b.scans - a.scans);
  }

  #hourAt(timeMs: number): number {
    const hours = Math.floor((timeMs + this.#offsetMs(timeMs)) / hourMs);
    const day = Math.floor(hours / hoursPerDay);
    return weekdayOf(day) * hoursPerDay + (hours - day * hoursPerDay);
  }

  /** Runs for each quarter of a year; reads the zone's table twice a day. */
  #offsetMs(timeMs: number): number {
    const day = dayOf(timeMs);
    if (day !== this.#day) {
      const minutes = this.#calendar.offsetAt(day * dayMs);
      const isSame = minutes === this.#calendar.offsetAt((day + 1) * dayMs - 1);
      this.#day = day;
      this.#offsetOfDayMs = isSame ? minutes * minuteMs : undefined;
    }
    return this.#offsetOfDayMs ?? this.#calendar.offsetAt(timeMs) * minuteMs;
  }
}
