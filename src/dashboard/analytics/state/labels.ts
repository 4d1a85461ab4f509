/** Ranges, zones and periods as people say them. */
import { formatUtcDays, plural } from '../../client/format.ts';
import { type Days, lengthOf } from './ranges.ts';
import type { ViewState } from './view-state.ts';

/** `Europe/Berlin` -> `Berlin time`; UTC and its relatives keep their names. */
export function zoneLabel(zone: string): string {
  const city = zone.split('/').at(-1) ?? zone;
  if (/^(Etc\/)?(UTC|UCT|Universal|Zulu|Greenwich|GMT[-+\d]*)$/.test(zone)) {
    return /UTC|UCT|Universal|Zulu/.test(city) ? 'UTC' : city;
  }
  return `${city.replaceAll('_', ' ')} time`;
}

export const rangeLabel = ({ from, to }: Days): string => formatUtcDays(from, to);

/** What numbers are compared with, after `against`. */
export function comparedLabel({
  compare,
  comparedTo,
}: Pick<ViewState, 'compare' | 'comparedTo'>): string {
  if (comparedTo === undefined) return '';
  if (compare === 'custom') return rangeLabel(comparedTo);
  const days = lengthOf(comparedTo);
  return days === 1 ? 'the day before' : `the ${plural(days, 'day')} before`;
}
