/** Ranges, zones and periods as text. */
import { formatUtcDays } from '../../client/format.ts';
import { timeOf } from '../../client/point-labels.ts';
import type { Compared } from './answers.ts';
import { addDays } from './days.ts';
import type { Days } from './ranges.ts';

/** `Europe/Berlin` -> `Berlin time`; UTC and its relatives keep their names. */
export function zoneLabel(zone: string): string {
  const city = zone.split('/').at(-1) ?? zone;
  if (/^(Etc\/)?(UTC|UCT|Universal|Zulu|Greenwich|GMT[-+\d]*)$/.test(zone)) {
    return /UTC|UCT|Universal|Zulu/.test(city) ? 'UTC' : city;
  }
  return `${city.replaceAll('_', ' ')} time`;
}

export const rangeLabel = ({ from, to }: Days): string => formatUtcDays(from, to);

const midnight = 'T00:00:00';

/** The days that are counted to their end; undefined if a part of a day is counted. */
function wholeDays({ from, to, until }: Compared): Days | undefined {
  if (until === undefined) return { from, to };
  const last = addDays(until.slice(0, 10), -1);
  return until.includes(midnight) && last >= from ? { from, to: last } : undefined;
}

const partLabel = ({ from, until = '' }: Compared, word: string): string =>
  `${rangeLabel({ from, to: until.slice(0, 10) })}, ${word} ${timeOf(until)}`;

/** `1–28 Oct 2026, until 01:45`; whole days without a time. */
export function comparedLabel(compared: Compared): string {
  const days = wholeDays(compared);
  return days === undefined ? partLabel(compared, 'until') : rangeLabel(days);
}

/** `1–28 Oct 2026, both until 01:45`, after `against`. */
export function bothUntil(compared: Compared): string {
  const days = wholeDays(compared);
  if (days === undefined) return partLabel(compared, 'both until');
  return compared.until === undefined ? rangeLabel(days) : `${rangeLabel(days)}, without today`;
}
