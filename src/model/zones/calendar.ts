/**
 * The days of a time zone, numbered since 1970-01-01 like those of UTC, from a table of offsets for each requested year.
 *
 *   a skipped day   (Apia, 2011-12-30) begins with the next one
 *   two midnights   the day begins at the later one when the clocks go back to the previous day, as usual; a day that has
 *                   begun stays (St. John's at 00:01, until 2011)
 */
import { dayMs, dayOf, hourMs, isoTime, minuteMs, quarterMs, weekdays } from '../day.ts';
import { firstMinute, offsetsOf } from './zone-offsets.ts';

/** The shortest changes, of Ramadan, last four weeks. */
const sampleMs = 7 * dayMs;
const offsetMaxMs = 26 * hourMs;
/** Cached zones: there are about 600, of 200 bytes per year. */
const calendarsMax = 1_000;
/** Cached years of a zone: clients may request every year up to 9999. */
const yearsMax = 200;

interface Change {
  readonly atMs: number;
  readonly minutes: number;
}

export interface Calendar {
  readonly zone: string;
  /** Minutes ahead of UTC. */
  offsetAt(timeMs: number): number;
  startOfDay(day: number): number;
  dayOf(timeMs: number): number;
}

class ZoneCalendar implements Calendar {
  readonly zone: string;
  readonly #offsetAt: (timeMs: number) => number;
  /** By year; the first change is the offset at its beginning. */
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

  /** A change exactly at the beginning of a year is in the tables of both years. */
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

export const utcCalendar: Calendar = {
  zone: 'UTC',
  offsetAt: () => 0,
  startOfDay: (day) => day * dayMs,
  dayOf,
};

const calendars = new Map<string, Calendar>();
const namePattern = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
const nameLengthMax = 64;

/**
 * @param zone an IANA name; not an offset such as `+01:00`, which `Intl` accepts but which has no summer time
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

/** Local minutes since the epoch; NaN for an unknown zone, whose time windows never match. */
export const localMinutes = (zone: string, timeMs: number): number =>
  Math.floor(timeMs / minuteMs) + (calendarOf(zone)?.offsetAt(timeMs) ?? Number.NaN);

/** Quarter hours of a UTC day, other than 0, at which a day of the zone begins: up to two. */
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
const daysPerWeek = 7;
/** 1970-01-01 was a Thursday. */
const firstWeekday = 3;

/** 0 = Monday. */
export const weekdayOf = (day: number): number =>
  (((day + firstWeekday) % daysPerWeek) + daysPerWeek) % daysPerWeek;

export function startOfWeek(day: number, weekStart: WeekStart): number {
  const since = weekdayOf(day) - weekdays.indexOf(weekStart);
  return day - ((since + daysPerWeek) % daysPerWeek);
}

export function startOfMonth(day: number): number {
  const date = new Date(day * dayMs);
  return dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1));
}

/** ISO 8601 with the zone's offset, `2026-11-01T00:00:00-04:00`; in UTC `2026-11-01T00:00:00.000Z`. */
export function formatLocal(calendar: Calendar, timeMs: number): string {
  if (calendar === utcCalendar) return isoTime(timeMs);
  const minutes = calendar.offsetAt(timeMs);
  const local = new Date(timeMs + minutes * minuteMs).toISOString().slice(0, 19);
  const ahead = Math.abs(minutes);
  const hours = String(Math.floor(ahead / 60)).padStart(2, '0');
  return `${local}${minutes < 0 ? '-' : '+'}${hours}:${String(ahead % 60).padStart(2, '0')}`;
}
