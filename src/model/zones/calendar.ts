/**
 * The days of a time zone: when each begins, in UTC, and what the clocks of a time show. Days are numbered as UTC ones are,
 * since 1970-01-01, so that ranges of them are integers.
 *
 *   offsets of a zone    a table for each year that was asked for, made of a sample a week; some 2 ms a year, once
 *   a day left out        (Apia, 2011-12-30) begins when the next one does
 *   midnight twice       the day begins at the later one where the clocks go back to the day before, as most do;
 *                        once it has begun it is not taken back (St. John's at 00:01, until 2011)
 *
 * UTC is a calendar like any other, without a table.
 */
import { dayMs, dayOf, hourMs, isoTime, minuteMs, quarterMs } from '../day.ts';
import { firstMinute, offsetsOf } from './zone-offsets.ts';

/** No zone has kept a change for less time: the shortest, of Ramadan, are of four weeks. */
const sampleMs = 7 * dayMs;
/** No clock is farther from UTC. */
const offsetMaxMs = 26 * hourMs;
/** Zones whose tables are kept: there are about 600, of 200 bytes a year. */
const calendarsMax = 1_000;
/** Years of a zone that are kept: clients may ask for each one up to 9999. */
const yearsMax = 200;

/** From a time on. */
interface Change {
  readonly atMs: number;
  readonly minutes: number;
}

export interface Calendar {
  /** IANA name. */
  readonly zone: string;
  /** Minutes that its clocks are ahead of UTC. */
  offsetAt(timeMs: number): number;
  /** Epoch ms of its midnight. @param day days since 1970-01-01 */
  startOfDay(day: number): number;
  dayOf(timeMs: number): number;
}

class UtcCalendar implements Calendar {
  readonly zone = 'UTC';
  offsetAt(): number {
    return 0;
  }
  startOfDay(day: number): number {
    return day * dayMs;
  }
  dayOf(timeMs: number): number {
    return dayOf(timeMs);
  }
}

class ZoneCalendar implements Calendar {
  readonly zone: string;
  readonly #offsetAt: (timeMs: number) => number;
  /** By year: the first is of its beginning. */
  readonly #years = new Map<number, readonly Change[]>();

  constructor(zone: string, offsetAt: (timeMs: number) => number) {
    this.zone = zone;
    this.#offsetAt = offsetAt;
  }

  offsetAt(timeMs: number): number {
    const changes = this.#changesOf(new Date(timeMs).getUTCFullYear());
    let minutes = changes[0]!.minutes;
    for (const change of changes) if (change.atMs <= timeMs) minutes = change.minutes;
    return minutes;
  }

  startOfDay(day: number): number {
    const midnightMs = day * dayMs;
    const from = midnightMs - offsetMaxMs;
    let minutes = this.offsetAt(from);
    let startMs = from;
    for (const change of this.#changesBetween(from, midnightMs + offsetMaxMs)) {
      const found = Math.max(startMs, midnightMs - minutes * minuteMs);
      if (found < change.atMs) return found;
      startMs = change.atMs;
      minutes = change.minutes;
    }
    return Math.max(startMs, midnightMs - minutes * minuteMs);
  }

  dayOf(timeMs: number): number {
    const day = dayOf(timeMs + this.offsetAt(timeMs) * minuteMs);
    return timeMs >= this.startOfDay(day + 1) ? day + 1 : day;
  }

  #changesBetween(fromMs: number, toMs: number): readonly Change[] {
    const first = this.#changesOf(new Date(fromMs).getUTCFullYear());
    const last = this.#changesOf(new Date(toMs).getUTCFullYear());
    const changes = first === last ? first.slice(1) : [...first.slice(1), ...last.slice(1)];
    return changes.filter(({ atMs }) => atMs > fromMs && atMs < toMs);
  }

  #changesOf(year: number): readonly Change[] {
    const known = this.#years.get(year);
    if (known !== undefined) return known;
    const changes = this.#lookUp(year);
    if (this.#years.size >= yearsMax) this.#years.clear();
    this.#years.set(year, changes);
    return changes;
  }

  /** A change at the very beginning of a year is that of the year before: it is in both tables. */
  #lookUp(year: number): Change[] {
    const endMs = Date.UTC(year + 1, 0, 1);
    let atMs = Date.UTC(year, 0, 1);
    let minutes = this.#offsetAt(atMs);
    const changes: Change[] = [{ atMs, minutes }];
    while (atMs < endMs) {
      const next = Math.min(atMs + sampleMs, endMs);
      const after = this.#offsetAt(next);
      if (after !== minutes) {
        changes.push({
          atMs: firstMinute(this.#offsetAt, minutes, atMs, next),
          minutes: after,
        });
      }
      atMs = next;
      minutes = after;
    }
    return changes;
  }
}

export const utcCalendar: Calendar = new UtcCalendar();

const calendars = new Map<string, Calendar>();
const namePattern = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
const nameLengthMax = 64;

/**
 * @param zone an IANA name; offsets such as `+01:00`, which `Intl` takes too, are no zones: they know no summer
 * @returns undefined for a zone that this runtime does not know
 */
export function calendarOf(zone: string): Calendar | undefined {
  const known = calendars.get(zone);
  if (known !== undefined) return known;
  if (zone.length > nameLengthMax || !namePattern.test(zone)) return undefined;
  const offsetAt = offsetsOf(zone);
  if (offsetAt === undefined) return undefined;
  const calendar = zone === utcCalendar.zone ? utcCalendar : new ZoneCalendar(zone, offsetAt);
  // Names have many spellings.
  if (calendars.size >= calendarsMax) calendars.clear();
  calendars.set(zone, calendar);
  return calendar;
}

/** Quarters of an hour of a UTC day at which the zone has midnight: up to two, without that of the UTC day. */
export function midnightsIn(calendar: Calendar, utcDay: number): number[] {
  const fromMs = utcDay * dayMs;
  const found: number[] = [];
  const last = calendar.dayOf(fromMs + dayMs - 1);
  for (let day = calendar.dayOf(fromMs); day <= last; day++) {
    const quarter = (calendar.startOfDay(day) - fromMs) / quarterMs;
    if (quarter > 0 && Number.isInteger(quarter) && quarter !== found.at(-1)) found.push(quarter);
  }
  return found;
}

export const weekStarts = ['mon', 'sun', 'sat'] as const;
export type WeekStart = (typeof weekStarts)[number];
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const daysPerWeek = 7;
/** 1970-01-01 was a Thursday. */
const firstWeekday = 3;

/** 0 = Monday. */
export const weekdayOf = (day: number): number =>
  (((day + firstWeekday) % daysPerWeek) + daysPerWeek) % daysPerWeek;

/** The day that begins the week of a day. */
export function startOfWeek(day: number, weekStart: WeekStart): number {
  const since = weekdayOf(day) - weekdays.indexOf(weekStart);
  return day - ((since + daysPerWeek) % daysPerWeek);
}

/** The first day of the month of a day. */
export function startOfMonth(day: number): number {
  const date = new Date(day * dayMs);
  return dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1));
}

/** ISO 8601 with the zone's offset, `2026-11-01T00:00:00-04:00`; of UTC with `Z`, `2026-11-01T00:00:00.000Z`. */
export function formatLocal(calendar: Calendar, timeMs: number): string {
  if (calendar === utcCalendar) return isoTime(timeMs);
  const minutes = calendar.offsetAt(timeMs);
  const local = new Date(timeMs + minutes * minuteMs).toISOString().slice(0, 19);
  const ahead = Math.abs(minutes);
  const hours = String(Math.floor(ahead / 60)).padStart(2, '0');
  return `${local}${minutes < 0 ? '-' : '+'}${hours}:${String(ahead % 60).padStart(2, '0')}`;
}
