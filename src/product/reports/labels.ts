/** What reports and digests call things: numbers, days, countries and the keys of breakdowns, in English. */
import { dayMs, type DayRange } from '../../model/day.ts';
import { type Calendar, formatLocal } from '../../model/zones/calendar.ts';
import type { BreakdownRow } from '../../engine/analytics/answers.ts';

const numbers = new Intl.NumberFormat('en');
const percents = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const wholePercents = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0 });
const regions = new Intl.DisplayNames('en', { type: 'region' });
const dates = dateFormat({ day: 'numeric', month: 'short', year: 'numeric' });
const shortDates = dateFormat({ day: 'numeric', month: 'short' });
const weekdayDates = dateFormat({ weekday: 'short', day: 'numeric', month: 'short' });
const months = dateFormat({ month: 'short', year: 'numeric' });
/** Tenths only below: 0.4 %, 12 %. */
const tenthsBelow = 0.1;

function dateFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' });
}

export const numberText = (value: number): string => numbers.format(value);
export const percentText = (fraction: number): string =>
  (Math.abs(fraction) < tenthsBelow ? percents : wholePercents).format(fraction);
/** `26 Nov 2026` */
export const dayText = (day: number): string => dates.format(day * dayMs);
/** `26 Nov` */
export const shortDayText = (day: number): string => shortDates.format(day * dayMs);
/** `Thu 26 Nov` */
export const weekdayText = (day: number): string =>
  weekdayDates.format(day * dayMs).replace(',', '');
/** `Nov 2026` */
export const monthText = (day: number): string => months.format(day * dayMs);

/** `1 Oct to 26 Nov 2026` */
export function rangeText({ fromDay, toDay }: DayRange): string {
  if (fromDay === toDay) return dayText(toDay);
  const isSameYear = dayText(fromDay).slice(-4) === dayText(toDay).slice(-4);
  return `${isSameYear ? shortDayText(fromDay) : dayText(fromDay)} to ${dayText(toDay)}`;
}

/** `Berlin time` */
export const zoneText = (zone: string): string =>
  zone.includes('/') ? `${(zone.split('/').at(-1) ?? zone).replaceAll('_', ' ')} time` : zone;

/** `26 Nov 2026, 14:03 (Berlin time)` */
export function momentText(calendar: Calendar, timeMs: number): string {
  const local = formatLocal(calendar, timeMs);
  const day = dayText(Date.parse(`${local.slice(0, 10)}T00:00:00Z`) / dayMs);
  return `${day}, ${timeText(calendar, timeMs)} (${zoneText(calendar.zone)})`;
}

/** `14:03` */
export const timeText = (calendar: Calendar, timeMs: number): string =>
  formatLocal(calendar, timeMs).slice(11, 16);

/** `12% more than in the week before`, in words: colors alone say nothing. */
export function changeText(change: number, before: string): string {
  const percent = percentText(Math.abs(change));
  if (percent === '0%') return `${change === 0 ? '' : 'about '}as many as ${before}`;
  return `${percent} ${change > 0 ? 'more' : 'fewer'} than ${before}`;
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const plural = (count: number, one: string): string =>
  `${numberText(count)} ${count === 1 ? one : `${one}s`}`;

export function countryName(code: string): string {
  if (code === 'ZZ' || !/^[A-Z]{2}$/.test(code)) return 'Unknown';
  return regions.of(code) ?? code;
}

export const cityName = (key: string): string => (key === '' ? 'Unknown' : key);

export const deviceName = (key: string): string => (key === '' ? 'Unknown' : capital(key));

export interface Share {
  readonly label: string;
  readonly scans: number;
}

/** The first rows by name, and the rest as one: theirs, and what the engine counts as `other`. */
export function sharesOf(
  rows: readonly BreakdownRow[],
  nameOf: (key: string) => string,
  rowsMax: number,
): { readonly shares: readonly Share[]; readonly other: number; readonly total: number } {
  const named = rows.filter(({ key }) => key !== 'other').slice(0, rowsMax);
  const shares = named.map(({ key, scans }) => ({ label: nameOf(key), scans }));
  const total = sum(rows);
  return { shares, other: total - sum(named), total };
}

const sum = (rows: ReadonlyArray<{ readonly scans: number }>): number =>
  rows.reduce((total, { scans }) => total + scans, 0);
