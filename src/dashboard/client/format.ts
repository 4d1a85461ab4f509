/** Numbers, times and names as the reader's browser writes them. */
const numbers = new Intl.NumberFormat();
const compactNumbers = new Intl.NumberFormat(undefined, {
  notation: 'compact',
  maximumFractionDigits: 1,
});
const percents = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const wholePercents = new Intl.NumberFormat(undefined, {
  style: 'percent',
  maximumFractionDigits: 0,
});
const tenthsBelow = 0.1;
const regions = new Intl.DisplayNames(undefined, { type: 'region' });
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const utcDates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const relatives = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });

const dayMs = 86_400_000;
/** From here on a number is shortened where room is short: seven digits do not fit a phone's half. */
const compactFrom = 1_000_000;

export const formatNumber = (value: number): string => numbers.format(value);
export const formatShort = (value: number): string =>
  value < compactFrom ? numbers.format(value) : compactNumbers.format(value);
/** On an axis there is room for four characters. */
export const formatTick = (value: number): string => compactNumbers.format(value);
/** Tenths only where they say something: 0.4 %, 12 %. */
export const formatPercent = (fraction: number): string =>
  (Math.abs(fraction) < tenthsBelow ? percents : wholePercents).format(fraction);
const formatDate = (iso: string): string => dates.format(new Date(iso));
/** Of a day that is a UTC day: `2026-03-01`. */
export const formatUtcDay = (day: string): string => utcDates.format(new Date(`${day}T00:00:00Z`));
export const formatMoment = (iso: string): string => moments.format(new Date(iso));
/** For hovering: the same moment in UTC. */
export const formatUtc = (iso: string): string =>
  `${new Date(iso).toISOString().replace('T', ' ').slice(0, 19)} UTC`;

export function formatMoney(amount: number, currency: string): string {
  const style = { style: 'currency', currency } as const;
  const digits = Number.isInteger(amount) ? { maximumFractionDigits: 0 } : {};
  return new Intl.NumberFormat(undefined, { ...style, ...digits }).format(amount);
}

const spans: ReadonlyArray<[unit: Intl.RelativeTimeFormatUnit, ms: number]> = [
  ['day', dayMs],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** `3 min. ago`; far away the date. */
export function formatRelative(iso: string, nowMs: number): string {
  const away = new Date(iso).getTime() - nowMs;
  if (Math.abs(away) > 14 * dayMs) return formatDate(iso);
  for (const [unit, ms] of spans) {
    if (Math.abs(away) >= ms) return relatives.format(Math.trunc(away / ms), unit);
  }
  return away > 0 ? 'in a moment' : 'just now';
}

export function countryName(code: string): string {
  if (code === 'ZZ' || !/^[A-Z]{2}$/.test(code)) return 'Unknown';
  try {
    return regions.of(code) ?? code;
  } catch {
    return code;
  }
}

/** The UTC day `days` from the one of `nowMs`. */
export function utcDay(nowMs: number, days = 0): string {
  return new Date(nowMs + days * dayMs).toISOString().slice(0, 10);
}

export const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

const byteUnits = ['B', 'KB', 'MB', 'GB'] as const;
export function formatBytes(bytes: number): string {
  const step = Math.min(byteUnits.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const value = bytes / 1024 ** step;
  return `${numbers.format(Number(value.toPrecision(3)))} ${byteUnits[step] ?? 'B'}`;
}

/** An address without what every address has: for lists. */
export const shortAddress = (url: string): string =>
  url.replace(/^https?:\/\/(www\.)?/, '').replace(/\/$/, '');
