/** Days and times in UTC. A day is its number since 1970-01-01. */
export const minuteMs = 60_000;
export const quarterMs = 15 * minuteMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
/** 9999-12-31 */
export const dayMax = 2_932_896;
const dayPattern = /^(\d{4})-(\d{2})-(\d{2})$/;

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof weekdays)[number];

/** Both days included. */
export interface DayRange {
  readonly fromDay: number;
  readonly toDay: number;
}

export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / dayMs);
}

/** Parses `YYYY-MM-DD` from 1970 on; undefined for another form or an impossible date. */
export function parseDay(text: string): number | undefined {
  const match = dayPattern.exec(text);
  if (match === null) return undefined;
  const [year, month, date] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const timeMs = Date.UTC(year, month - 1, date);
  const day = dayOf(timeMs);
  return day >= 0 && day <= dayMax && formatDay(day) === text ? day : undefined;
}

export function formatDay(day: number): string {
  return isoTime(day * dayMs).slice(0, 10);
}

export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** The same time of day in another month, in UTC; a day that the month lacks becomes its last. */
export function addMonths(timeMs: number, months: number): number {
  const date = new Date(timeMs);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, lastDay));
  return date.getTime();
}
