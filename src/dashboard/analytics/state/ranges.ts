/**
 * The days of each preset, the intervals that fit them, and the days to compare with. All are calendar days of one
 * zone, whether 23, 24 or 25 hours long.
 */
import { addDays, addMonths, daysBetween, firstOfMonth } from './days.ts';

export interface Days {
  readonly from: string;
  readonly to: string;
}

export const presets = [
  { value: 'all', label: 'All' },
  { value: 'today', label: 'Today' },
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
  { value: '90d', label: '90 days' },
  { value: 'month', label: 'Month to date' },
  { value: 'last-month', label: 'Last month' },
  { value: '12m', label: '12 months' },
  { value: 'custom', label: 'Custom' },
] as const;
export type Preset = (typeof presets)[number]['value'];

/** @param whole days of `all` */
export function daysOf(preset: Exclude<Preset, 'custom'>, today: string, whole: Days): Days {
  switch (preset) {
    case 'all':
      return whole;
    case 'today':
      return { from: today, to: today };
    case '7d':
      return { from: addDays(today, -6), to: today };
    case '30d':
      return { from: addDays(today, -29), to: today };
    case '90d':
      return { from: addDays(today, -89), to: today };
    case 'month':
      return { from: firstOfMonth(today), to: today };
    case 'last-month': {
      const first = firstOfMonth(today);
      return { from: addMonths(first, -1), to: addDays(first, -1) };
    }
    case '12m':
    default:
      return { from: addDays(addMonths(today, -12), 1), to: today };
  }
}

const lengthOf = ({ from, to }: Days): number => daysBetween(from, to);

/** As many days as the range, directly before it. */
export function daysBefore({ from, to }: Days): Days {
  return { from: addDays(from, -daysBetween(from, to)), to: addDays(from, -1) };
}

/** As many days as the range, from another day on. */
export function daysFrom(first: string, range: Days): Days {
  return { from: first, to: addDays(first, lengthOf(range) - 1) };
}

export const intervals = [
  { value: 'quarter_hour', label: '15 min', word: 'quarter hour', daysMin: 1, daysMax: 7 },
  { value: 'hour', label: 'Hour', word: 'hour', daysMin: 1, daysMax: 92 },
  { value: 'day', label: 'Day', word: 'day', daysMin: 2, daysMax: 3_660 },
  { value: 'week', label: 'Week', word: 'week', daysMin: 14, daysMax: 840 },
  { value: 'month', label: 'Month', word: 'month', daysMin: 59, daysMax: 3_650 },
] as const;
export type Interval = (typeof intervals)[number]['value'];

/** The intervals that the API accepts for this many days and that give more than one point. */
export function intervalsFor(range: Days): ReadonlyArray<(typeof intervals)[number]> {
  const days = lengthOf(range);
  return intervals.filter(({ daysMin, daysMax }) => days >= daysMin && days <= daysMax);
}

/** Most days for hours, days, weeks: a line of a few hundred points is readable. */
const [hourDays, dayDays, weekDays] = [2, 92, 400];

export function standardInterval(range: Days): Interval {
  const days = lengthOf(range);
  if (days <= hourDays) return 'hour';
  if (days <= dayDays) return 'day';
  return days <= weekDays ? 'week' : 'month';
}
