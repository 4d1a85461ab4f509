/**
 * Scans over time: the points of a range in its zone, and the hours of its weeks. Both are fed with what a range has, piece by
 * piece; a piece that lies in one point whole is added by its sum, else by its quarters of an hour.
 */
import { dayMs, dayOf, hourMs, minuteMs, quarterMs } from '../../model/day.ts';
import {
  type Calendar,
  formatLocal,
  startOfMonth,
  startOfWeek,
  weekdayOf,
  weekdays,
  type WeekStart,
} from '../../model/zones/calendar.ts';
import { calendarOfRange, type LocalRange, stretchOf } from '../../model/zones/local-range.ts';
import type { Timed } from '../days/stored-piece.ts';
import type { BreakdownRow, SeriesPoint, TimeBreakdownBy } from './answers.ts';
import { hoursAlone } from './spans.ts';

export const intervals = ['quarter_hour', 'hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof intervals)[number];

const hoursPerDay = 24;

/** The points of a range, every one of them, empty ones too. */
export class Series {
  readonly #calendar: Calendar;
  /** When each begins, and when the last ends, epoch ms. */
  readonly #starts: Float64Array;
  readonly #scans: Float64Array;

  constructor(range: LocalRange, interval: Interval, weekStart: WeekStart) {
    this.#calendar = calendarOfRange(range);
    this.#starts = Float64Array.from(startsOf(range, interval, weekStart));
    this.#scans = new Float64Array(Math.max(0, this.#starts.length - 1));
  }

  /** @throws Failure validation_failed where a point begins within an hour that is not known better */
  add(piece: Timed): void {
    const at = this.#pointAt(piece.fromMs);
    if (piece.endMs <= this.#starts[at + 1]!) this.#scans[at]! += piece.scans;
    else piece.eachTime((fromMs, endMs, scans) => this.#addTime(at, fromMs, endMs, scans));
  }

  points(): SeriesPoint[] {
    return Array.from(this.#scans, (scans, at) => ({
      start: formatLocal(this.#calendar, this.#starts[at]!),
      scans,
    }));
  }

  /** @param first the point in which the piece begins */
  #addTime(first: number, fromMs: number, endMs: number, scans: number): void {
    const starts = this.#starts;
    let at = first;
    while (fromMs >= starts[at + 1]!) at++;
    if (endMs > starts[at + 1]!) throw hoursAlone();
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

/** The beginning of each point, and the end of the last one. The first point of weeks or months begins with the range. */
function startsOf(range: LocalRange, interval: Interval, weekStart: WeekStart): number[] {
  const { fromDay, toDay } = range;
  const { fromMs, endMs } = stretchOf(range);
  if (fromDay > toDay || fromMs === endMs) return [];
  const starts: number[] = [];
  if (interval === 'hour' || interval === 'quarter_hour') {
    const stepMs = interval === 'hour' ? hourMs : quarterMs;
    return stepsOf(range, stepMs);
  }
  const calendar = calendarOfRange(range);
  for (let day = fromDay; day <= toDay; day++) {
    const isFirst = day === fromDay || day === firstOf(interval, day, weekStart);
    if (isFirst) starts.push(calendar.startOfDay(day));
  }
  // Without days that a zone has left out, and what lies before or behind the range.
  const inner = starts.filter((ms, at) => ms > fromMs && ms < endMs && ms !== starts[at - 1]);
  return [fromMs, ...inner, endMs];
}

function firstOf(interval: Interval, day: number, weekStart: WeekStart): number {
  if (interval === 'week') return startOfWeek(day, weekStart);
  return interval === 'month' ? startOfMonth(day) : day;
}

/**
 * Steps of the zone's clocks. Where these change by a part of an hour, as on Lord Howe, the step before is shorter or longer.
 */
function stepsOf(range: LocalRange, stepMs: number): number[] {
  const calendar = calendarOfRange(range);
  const { fromMs, endMs } = stretchOf(range);
  const starts: number[] = [];
  for (let at = fromMs; at < endMs;) {
    starts.push(at);
    const offsetMs = calendar.offsetAt(at) * minuteMs;
    const next = Math.floor((at + offsetMs) / stepMs + 1) * stepMs - offsetMs;
    at = next;
  }
  starts.push(endMs);
  return starts;
}

/** Scans by hour of the week on the zone's clocks, from Monday. */
export class HoursOfWeek {
  readonly #calendar: Calendar;
  readonly #scans = new Float64Array(weekdays.length * hoursPerDay);
  /** The UTC day that was asked for last, and the clocks' distance on it; undefined = they changed on it. */
  #day = -1;
  #offsetOfDayMs: number | undefined;

  constructor(range: LocalRange) {
    this.#calendar = calendarOfRange(range);
  }

  /** @throws Failure validation_failed */
  add(piece: Timed): void {
    piece.eachTime((fromMs, endMs, scans) => {
      const at = this.#hourAt(fromMs);
      if (endMs - fromMs > quarterMs && this.#hourAt(endMs - quarterMs) !== at) throw hoursAlone();
      this.#scans[at]! += scans;
    });
  }

  /** In the order of the week, or the day; of days and weeks all are there, of hours of the day those with scans. */
  rows(by: TimeBreakdownBy, weekStart: WeekStart): BreakdownRow[] {
    const days = weekdays.map((_, at) => (at + weekdays.indexOf(weekStart)) % weekdays.length);
    const hours = Array.from({ length: hoursPerDay }, (_, hour) => hour);
    const scansAt = (day: number, hour: number): number => this.#scans[day * hoursPerDay + hour]!;
    const sum = (counts: number[]): number => counts.reduce((all, count) => all + count, 0);
    if (by === 'weekday') {
      return days.map((day) => ({
        key: weekdays[day]!,
        scans: sum(hours.map((hour) => scansAt(day, hour))),
      }));
    }
    if (by === 'hour') {
      const rows = hours.map((hour) => ({
        key: twoDigits(hour),
        scans: sum(days.map((day) => scansAt(day, hour))),
      }));
      return rows.filter(({ scans }) => scans > 0).sort((a, b) => b.scans - a.scans);
    }
    return days.flatMap((day) =>
      hours.map((hour) => ({
        key: `${weekdays[day]}-${twoDigits(hour)}`,
        scans: scansAt(day, hour),
      })),
    );
  }

  #hourAt(timeMs: number): number {
    const hours = Math.floor((timeMs + this.#offsetMs(timeMs)) / hourMs);
    const day = Math.floor(hours / hoursPerDay);
    return weekdayOf(day) * hoursPerDay + (hours - day * hoursPerDay);
  }

  /** Asked for each quarter of a year, of which the zone's table is read twice a day. */
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

const twoDigits = (hour: number): string => String(hour).padStart(2, '0');
