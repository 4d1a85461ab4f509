/** Arithmetic of calendar days, `2026-03-01`, without clock or zone; and the current day in a zone. */
import { addMonths as addMonthsTo, dayMs } from '../../../model/day.ts';

const numberOf = (day: string): number => Date.parse(`${day}T00:00:00Z`) / dayMs;
const dayAt = (number: number): string => new Date(number * dayMs).toISOString().slice(0, 10);

/** Whether the text is a day that exists: not 30 February. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const number = numberOf(text);
  return Number.isFinite(number) && dayAt(number) === text;
}

export const addDays = (day: string, days: number): string => dayAt(numberOf(day) + days);

/** First and last day included. */
export const daysBetween = (from: string, to: string): number => numberOf(to) - numberOf(from) + 1;

export const firstOfMonth = (day: string): string => `${day.slice(0, 8)}01`;

/** The same day of another month, or the last day of that month. */
export const addMonths = (day: string, months: number): string =>
  dayAt(addMonthsTo(numberOf(day) * dayMs, months) / dayMs);

const formats = new Map<string, Intl.DateTimeFormat>();

/** The calendar day of a moment in a zone. @throws RangeError for an unknown zone */
export function dayIn(zone: string, ms: number): string {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    });
  formats.set(zone, format);
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  return `${parts.get('year') ?? ''}-${parts.get('month') ?? ''}-${parts.get('day') ?? ''}`;
}
