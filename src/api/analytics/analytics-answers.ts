/**
 * What all analytics share, of a code, a campaign or the workspace: the shapes of their answers, the bounds
 * of their ranges, and the same numbers as CSV.
 */
import { z } from 'zod';
import { formatDay } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import {
  type Analytics,
  type BreakdownBy,
  type BreakdownRow,
  breakdowns,
  type Interval,
  intervals,
  type SeriesPoint,
} from '../../scans/report/breakdown.ts';
import { csvFormat, csvResult, formatTypes, type Format } from '../csv.ts';
import { count, time } from '../fields.ts';
import { jsonResult, type Result, type StreamedResult } from '../route.ts';

export const analyticsTag = 'Analytics';
/** Answers that are JSON or CSV. */
export const tableTypes = [formatTypes.json, formatTypes.csv];
export const tableFormats = ['json', 'csv'] as const;

/** Points a series has at most: an answer of about 200 KB. */
const daysMax: Readonly<Record<Interval, number>> = { hour: 92, day: 3_660 };

/** A UTC day in an answer. */
export const day = z.string().meta({ override: { format: 'date' }, example: '2026-03-01' });

export const totalsShape = {
  totalScans: count,
  uniqueScanners: count.meta({ description: 'Exact while few, then within 2 %' }),
  devices: z.object({ ios: count, android: count, other: count }),
  topCountries: z
    .array(z.object({ code: z.string().meta({ example: 'DE' }), scans: count }))
    .max(10)
    .meta({ description: 'At most ten, most scans first; unknown is `ZZ`' }),
};

const timeseries = z
  .object({
    interval: z.enum(intervals).meta({ example: 'day' }),
    from: day,
    to: day,
    data: z.array(z.object({ start: time, scans: count })),
  })
  .meta({ id: 'Timeseries' });

const breakdown = z
  .object({
    by: z.enum(breakdowns).meta({ example: 'country' }),
    from: day,
    to: day,
    data: z.array(z.object({ key: z.string().meta({ example: 'DE' }), scans: count })),
  })
  .meta({ id: 'Breakdown' });

export const seriesQuery = { interval: z.enum(intervals).default('day'), format: csvFormat };
export const sharesQuery = { by: z.enum(breakdowns), format: csvFormat };
export const seriesAnswer = {
  status: 200,
  schema: timeseries,
  what: 'The points, oldest first',
  mediaTypes: tableTypes,
} as const;
export const sharesAnswer = {
  status: 200,
  schema: breakdown,
  what: 'The shares, most scans first',
  mediaTypes: tableTypes,
} as const;
export const seriesDescription =
  'Every hour (92 days at most) or day (3,660 at most) of the range, empty ones too.';
export const sharesDescription =
  'Scans by country, city, system, browser, device, referer or hour of the UTC day; ' +
  '`bot` counts what was kept out of the scans, by reason. Cities and referers beyond the bound of a ' +
  'day count as `other`.';

/** Days from 1970 on, both included. */
export interface DayRange {
  readonly fromDay: number;
  readonly toDay: number;
}

/** @throws Failure validation_failed when a series over the range would be too long */
export function checkLength({ fromDay, toDay }: DayRange, interval: Interval): void {
  if (toDay - fromDay < daysMax[interval]) return;
  const message = `Expected at most ${daysMax[interval]} days for interval=${interval}`;
  const faults = [{ path: 'from', code: 'range_too_long', message }];
  throw new Failure('validation_failed', 'The range is too long', { faults });
}

/** One row a number: what it is of, which, and how many. */
export function totalsResult(
  analytics: Analytics,
  name: string,
  format: Format,
): Result | StreamedResult {
  if (format === 'json') return jsonResult(200, analytics, varied);
  return csvResult(name, totalsColumns, totalsRows(analytics));
}

export const totalsColumns = ['metric', 'key', 'value'];

export function totalsRows(analytics: Analytics): Array<[string, string, number]> {
  const { totalScans, uniqueScanners, devices, topCountries } = analytics;
  return [
    ['totalScans', '', totalScans],
    ['uniqueScanners', '', uniqueScanners],
    ...Object.entries(devices).map(([key, scans]): [string, string, number] => [
      'device',
      key,
      scans,
    ]),
    ...topCountries.map(({ code, scans }): [string, string, number] => ['country', code, scans]),
  ];
}

export function seriesResult(
  { fromDay, toDay }: DayRange,
  interval: Interval,
  data: readonly SeriesPoint[],
  format: Format,
): Result | StreamedResult {
  const range = { from: formatDay(fromDay), to: formatDay(toDay) };
  if (format === 'json') return jsonResult(200, { interval, ...range, data }, varied);
  const rows = data.map(({ start, scans }) => [start, scans]);
  return csvResult(fileName(`scans-by-${interval}`, range), ['start', 'scans'], rows);
}

export function sharesResult(
  { fromDay, toDay }: DayRange,
  by: BreakdownBy,
  data: readonly BreakdownRow[],
  format: Format,
): Result | StreamedResult {
  const range = { from: formatDay(fromDay), to: formatDay(toDay) };
  if (format === 'json') return jsonResult(200, { by, ...range, data }, varied);
  const rows = data.map(({ key, scans }) => [key, scans]);
  return csvResult(fileName(`scans-by-${by}`, range), [by, 'scans'], rows);
}

/** The same address answers in several forms. */
export const varied = { Vary: 'Accept' };

export const fileName = (what: string, range: { from: string; to: string }): string =>
  `${what}-${range.from}-${range.to}`;
