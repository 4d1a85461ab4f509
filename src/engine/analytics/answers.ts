/** Turns counts into analytics, breakdowns and series with names. */
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
import { Dimension, type Rollup } from '../counting/rollup.ts';

const topCountriesMax = 10;

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
  'weekday',
  'hour_of_week',
  'bot',
] as const;
export type BreakdownBy = (typeof breakdowns)[number];
export type TimeBreakdownBy = 'hour' | 'weekday' | 'hour_of_week';
type ValueBreakdownBy = Exclude<BreakdownBy, TimeBreakdownBy>;
/** Of one code only: labels differ between codes. */
export const routeBreakdowns = ['route', 'missed'] as const;
export type RouteBreakdownBy = (typeof routeBreakdowns)[number];
/** Scanners of a range, by whether they had scanned in the 90 days before it. */
export interface Scanners {
  /** Null = the sketches' error is more than a tenth of it. */
  readonly newScanners: number | null;
  readonly returningScanners: number | null;
  /** Standard error of both, in scanners; 0 = exact, null = the days before are unknown. */
  readonly error: number | null;
}
export const unknownScanners: Scanners = {
  newScanners: null,
  returningScanners: null,
  error: null,
};
export interface SeriesPoint {
  /** ISO 8601: UTC with `Z`, other zones with their offset. */
  readonly start: string;
  readonly scans: number;
}
export interface BreakdownRow {
  readonly key: string;
  /** Of a code or campaign; null = without a name. */
  readonly name?: string | null;
  readonly scans: number;
}

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

/** Above a 10 % error no number is shown. */
const shareOfErrorMax = 0.1;

/**
 * By inclusion and exclusion: |A ∪ B| - |B| of A are new, the others return. Adds both sketches' errors as if they were
 * independent; for overlapping sets the error is less.
 * @param scanners of `now` as shown: no more than its scans
 */
export function scannersFrom(scanners: number, now: Sketch, before: Sketch): Scanners {
  const seen = before.estimate();
  if (seen === 0 || scanners === 0) {
    const error = shownError(now.standardError());
    return { newScanners: scanners, returningScanners: 0, error };
  }
  const beforeError = before.standardError();
  before.merge(now);
  const newScanners = Math.min(scanners, Math.max(0, before.estimate() - seen));
  const error = Math.hypot(before.standardError(), beforeError);
  const known = (value: number): number | null => (error > shareOfErrorMax * value ? null : value);
  return {
    newScanners: known(newScanners),
    returningScanners: known(scanners - newScanners),
    error: shownError(error),
  };
}

const shownError = (error: number): number => Math.round(error * 10) / 10;

export function rowsOf(rollup: Rollup, by: ValueBreakdownBy): BreakdownRow[] {
  if (by === 'city' || by === 'referer') {
    const names = rollup.names(Dimension[by]);
    return mostFirst(Array.from(names, ({ name, count }) => ({ key: name, scans: count })));
  }
  const keyOf = (value: number): string =>
    by === 'country' ? countryCode(value) : (namesOf[by][value] ?? 'other');
  const values = rollup.values(Dimension[by]);
  return mostFirst(Array.from(values, ({ value, count }) => ({ key: keyOf(value), scans: count })));
}

/** Scans without a label led to the target. @param nameOf routes of one name are one row */
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

const namesOf = {
  os: osNames,
  browser: browserNames,
  device: deviceNames,
  bot: botReasonNames,
} as const;
