/** Numbers, times and names in the browser's language. */
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
const seconds = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const relatives = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });

const dayMs = 86_400_000;
/** Each unit begins this much early, to avoid `in 60 min.`. */
const nearMs = 1_000;
/** Larger numbers are shortened in narrow layouts: seven digits do not fit half a phone's width. */
const compactFrom = 1_000_000;

export const formatNumber = (value: number): string => numbers.format(value);
export const formatShort = (value: number): string =>
  value < compactFrom ? numbers.format(value) : compactNumbers.format(value);
/** An axis has space for four characters. */
export const formatTick = (value: number): string => compactNumbers.format(value);
/** Tenths only for small values: 0.4 %, 12 %. */
export const formatPercent = (fraction: number): string =>
  (Math.abs(fraction) < tenthsBelow ? percents : wholePercents).format(fraction);
const signs = { signDisplay: 'exceptZero', style: 'percent' } as const;
const changes = new Intl.NumberFormat(undefined, { ...signs, maximumFractionDigits: 1 });
const wholeChanges = new Intl.NumberFormat(undefined, { ...signs, maximumFractionDigits: 0 });
/** With its sign: `+12 %`. */
export const formatChange = (fraction: number): string =>
  (Math.abs(fraction) < tenthsBelow ? changes : wholeChanges).format(fraction);
const formatDate = (iso: string): string => dates.format(new Date(iso));
/** @param day a UTC day, `2026-03-01` */
export const formatUtcDay = (day: string): string => utcDates.format(new Date(`${day}T00:00:00Z`));
/** `1–20 Mar 2026`; of one day, that day. */
export const formatUtcDays = (from: string, to: string): string =>
  utcDates.formatRange(new Date(`${from}T00:00:00Z`), new Date(`${to}T00:00:00Z`));
export const formatMoment = (iso: string): string => moments.format(new Date(iso));
/** To the second, for events that happen several times a minute. */
export const formatSecond = (iso: string): string => seconds.format(new Date(iso));
/** The same moment in UTC, shown on hover. */
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

/**
 * `3 min. ago`; the date if it is more than 14 days away. The past is rounded down, the future to the nearest unit: a
 * new invite ends in seven days, not six.
 */
export function formatRelative(iso: string, nowMs: number): string {
  const away = new Date(iso).getTime() - nowMs;
  if (Math.abs(away) > 14 * dayMs) return formatDate(iso);
  for (const [unit, ms] of spans) {
    if (away <= -ms) return relatives.format(Math.trunc(away / ms), unit);
    if (away + nearMs >= ms) return relatives.format(Math.round(away / ms), unit);
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

/** The UTC day that is `days` after the day of `nowMs`. */
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

/** An address without scheme, `www.` and trailing slash, for lists. */
export const shortAddress = (url: string): string =>
  url.replace(/^https?:\/\/(www\.)?/, '').replace(/\/$/, '');

/** Adds a missing scheme. */
export function withScheme(text: string): string {
  const address = text.trim();
  const isBare = address !== '' && !/^[a-z][a-z0-9+.-]*:/i.test(address) && address.includes('.');
  return isBare ? `https://${address}` : address;
}

/** The value of a `datetime-local` field: the user's time zone, to the minute. */
export function localTime(iso: string | null): string {
  if (iso === null || iso === '') return '';
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The moment in a `datetime-local` field; empty if the field is. */
export const utcTime = (local: string): string =>
  local === '' ? '' : new Date(local).toISOString();
