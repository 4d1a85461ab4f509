/**
 * Numbers in words: what was counted, as analytics, breakdowns and series name it.
 */
import { type DayRange, dayMs, isoTime } from '../../model/day.ts';
import { isMissed, missedReasonOf, targetRoute } from '../../model/routing/labels.ts';
import {
  botReasonNames,
  browserNames,
  countryCode,
  deviceNames,
  osNames,
  Platform,
} from '../../model/scan.ts';
import type { Sketch } from '../../model/sketch/sketch.ts';
import { Dimension, type Rollup } from '../rollup.ts';

/** Countries that `topCountries` lists. */
const topCountriesMax = 10;
const hoursPerDay = 24;

export interface Analytics {
  readonly totalScans: number;
  readonly uniqueScanners: number;
  readonly devices: { readonly ios: number; readonly android: number; readonly other: number };
  readonly topCountries: ReadonlyArray<{ readonly code: string; readonly scans: number }>;
}
export const breakdowns = [
  'country',
  'city',
  'os',
  'browser',
  'device',
  'referer',
  'hour',
  'bot',
] as const;
export type BreakdownBy = (typeof breakdowns)[number];
/** Of one code alone: another's labels mean something else. */
export const routeBreakdowns = ['route', 'missed'] as const;
export type RouteBreakdownBy = (typeof routeBreakdowns)[number];
export const intervals = ['hour', 'day'] as const;
export type Interval = (typeof intervals)[number];
export interface SeriesPoint {
  /** ISO 8601. */
  readonly start: string;
  readonly scans: number;
}
export interface BreakdownRow {
  readonly key: string;
  readonly scans: number;
}

/** The specified fields; every breakdown of people sums to `totalScans`. */
export function analyticsFrom(rollup: Rollup, sketch: Sketch): Analytics {
  return {
    totalScans: rollup.scans,
    uniqueScanners: Math.min(sketch.estimate(), rollup.scans),
    devices: {
      ios: rollup.get(Dimension.platform, Platform.ios),
      android: rollup.get(Dimension.platform, Platform.android),
      other: rollup.get(Dimension.platform, Platform.other),
    },
    topCountries: rowsOf(rollup, 'country')
      .slice(0, topCountriesMax)
      .map(({ key, scans }) => ({ code: key, scans })),
  };
}

/** Most scans first, ties by key. */
export function rowsOf(rollup: Rollup, by: BreakdownBy): BreakdownRow[] {
  const rows = by === 'city' || by === 'referer' ? namedRows(rollup, by) : valueRows(rollup, by);
  return mostFirst(rows);
}

/** What did not lead to a label led to the target. @param nameOf those of one name are one row */
export function routeRows(rollup: Rollup, nameOf: (route: number) => string): BreakdownRow[] {
  const scans = new Map<string, number>();
  const add = (route: number, count: number): void => {
    scans.set(nameOf(route), (scans.get(nameOf(route)) ?? 0) + count);
  };
  let toTarget = rollup.scans;
  for (const { value, count } of rollup.values(Dimension.route)) {
    if (isMissed(value)) continue;
    add(value, count);
    toTarget -= count;
  }
  if (toTarget > 0) add(targetRoute, toTarget);
  return mostFirst(Array.from(scans, ([key, count]) => ({ key, scans: count })));
}

export function missedRows(rollup: Rollup): BreakdownRow[] {
  const rows = Array.from(rollup.values(Dimension.route), ({ value, count }) => {
    const key = missedReasonOf(value);
    return key === undefined ? [] : [{ key, scans: count }];
  });
  return mostFirst(rows.flat());
}

const mostFirst = (rows: BreakdownRow[]): BreakdownRow[] =>
  rows.sort((a, b) => b.scans - a.scans || (a.key < b.key ? -1 : 1));

/** Scans per hour or day of a range, gathered day by day. */
export class Series {
  readonly #fromDay: number;
  readonly #perDay: number;
  readonly #counts: Float64Array;

  constructor({ fromDay, toDay }: DayRange, interval: Interval) {
    this.#fromDay = fromDay;
    this.#perDay = interval === 'hour' ? hoursPerDay : 1;
    this.#counts = new Float64Array(Math.max(0, toDay - fromDay + 1) * this.#perDay);
  }

  add(day: number, rollup: Rollup): void {
    const at = (day - this.#fromDay) * this.#perDay;
    if (this.#perDay === 1) this.#counts[at]! += rollup.scans;
    else
      for (let hour = 0; hour < hoursPerDay; hour++) {
        this.#counts[at + hour]! += rollup.get(Dimension.hour, hour);
      }
  }

  /** A point for every hour or day, zeros included, oldest first. */
  points(): SeriesPoint[] {
    const stepMs = dayMs / this.#perDay;
    return Array.from(this.#counts, (scans, index) => ({
      start: isoTime(this.#fromDay * dayMs + index * stepMs),
      scans,
    }));
  }
}

const namedRows = (rollup: Rollup, by: 'city' | 'referer'): BreakdownRow[] =>
  Array.from(rollup.names(Dimension[by]), ({ name, count }) => ({ key: name, scans: count }));

const valueRows = (rollup: Rollup, by: BreakdownBy): BreakdownRow[] =>
  Array.from(rollup.values(Dimension[by]), ({ value, count }) => ({
    key: nameOf(by, value),
    scans: count,
  }));

function nameOf(by: BreakdownBy, value: number): string {
  switch (by) {
    case 'country':
      return countryCode(value);
    case 'os':
      return osNames[value] ?? 'other';
    case 'browser':
      return browserNames[value] ?? 'other';
    case 'device':
      return deviceNames[value] ?? 'other';
    case 'bot':
      return botReasonNames[value] ?? 'other';
    default:
      return String(value).padStart(2, '0');
  }
}
