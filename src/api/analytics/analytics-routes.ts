/**
 * The analytics of a code, a campaign or the workspace: three routes each, `totals`, `series` and
 * `breakdown`, with the same answers, the same bounds of their ranges, and the same numbers as CSV.
 */
import { z } from 'zod';
import { type DayRange, formatDay } from '../../model/day.ts';
import { Failure, type FailureCode } from '../../model/failure.ts';
import type { Subject } from '../../scans/query/analytics.ts';
import {
  type Analytics,
  type BreakdownRow,
  breakdowns,
  type Interval,
  intervals,
  type RouteBreakdownBy,
  routeBreakdowns,
} from '../../scans/query/answers.ts';
import type { ScanQueries } from '../../scans/query/queries.ts';
import { csvFormat, csvResult, formatOf, formatTypes, tableHeaders, tableSample } from '../csv.ts';
import { count, queryDay, time } from '../fields.ts';
import type { Tag } from '../openapi/tags.ts';
import type { OperationId } from '../roles.ts';
import { type Call, createRoute, jsonResult, type Route, type StreamedResult } from '../route.ts';

export const analyticsTag = 'Analytics';
/** Answers that are JSON or CSV. */
const mediaTypes = [formatTypes.json, formatTypes.csv];
const tableFormats = ['json', 'csv'] as const;
const totalsColumns = ['metric', 'key', 'value'];
const seriesColumns = ['start', 'scans'];
/** The same address answers in several forms. */
export const varied = { Vary: 'Accept' };

/** Points a series has at most: an answer of about 200 KB. */
const daysMax: Readonly<Record<Interval, number>> = { hour: 92, day: 3_660 };

/** A UTC day in an answer. */
export const day = z.string().meta({
  override: { format: 'date' },
  description: 'UTC day',
  example: '2026-03-01',
});
export const firstDay = day.meta({ description: 'First UTC day that is counted' });
export const lastDay = day.meta({
  description: 'Last UTC day that is counted',
  example: '2026-03-31',
});
export const scanCount = count.meta({ description: 'Scans', example: 42 });

/** `from` and `to` of a query, described by what they are when absent; components of the document. */
export const rangeShape = (of: 'Code' | 'Campaign' | 'Workspace', from: string, to: string) => ({
  from: queryDay
    .optional()
    .meta({ description: `First UTC day; default: ${from}`, param: { id: `${of}From` } }),
  to: queryDay
    .optional()
    .meta({ description: `Last UTC day, included; default: ${to}`, param: { id: `${of}To` } }),
});
export type RangeQuery = z.output<z.ZodObject<ReturnType<typeof rangeShape>>>;

export const country = z.string().meta({
  override: { pattern: '^[A-Z]{2}$' },
  description: 'Two letters (ISO 3166); unknown is `ZZ`',
  example: 'DE',
});

export const totalsShape = {
  totalScans: count.meta({ description: 'Scans; bots and prefetches not counted', example: 42 }),
  uniqueScanners: count.meta({
    description: 'Different scanners: exact while few, then within 2 %',
    example: 35,
  }),
  devices: z
    .object({
      ios: count.meta({ description: 'iPhones and iPads', example: 20 }),
      android: count.meta({ description: 'Android phones and tablets', example: 18 }),
      other: count.meta({ description: 'Everything else', example: 4 }),
    })
    .meta({ description: 'Scans by device; sums to `totalScans`' }),
  topCountries: z
    .array(z.object({ code: country, scans: scanCount }))
    .max(10)
    .meta({ description: 'At most ten, most scans first; unknown is `ZZ`' }),
};

const interval = z
  .enum(intervals)
  .default('day')
  .meta({
    description: 'Length of a point',
    param: { id: 'Interval' },
  });
const byDescription = { description: 'What the scans are told apart by', example: 'country' };
const by = z.enum(breakdowns).meta({ ...byDescription, param: { id: 'BreakdownBy' } });
const codeBreakdowns = [...breakdowns, ...routeBreakdowns] as const;
const codeBy = z.enum(codeBreakdowns).meta({ ...byDescription, param: { id: 'CodeBreakdownBy' } });
const isOfRoutes = (wanted: (typeof codeBreakdowns)[number]): wanted is RouteBreakdownBy =>
  routeBreakdowns.some((one) => one === wanted);

const timeseries = z
  .object({
    interval: z.enum(intervals).meta({ description: 'Length of a point', example: 'day' }),
    from: firstDay,
    to: lastDay,
    data: z
      .array(
        z.object({
          start: time.meta({ description: 'Start of the point, UTC' }),
          scans: scanCount,
        }),
      )
      .meta({ description: 'Every point of the range, oldest first, empty ones too' }),
  })
  .meta({ id: 'Timeseries' });

const breakdown = z
  .object({
    by: z.enum(codeBreakdowns).meta({ description: 'As asked for', example: 'country' }),
    from: firstDay,
    to: lastDay,
    data: z
      .array(
        z.object({
          key: z
            .string()
            .meta({ description: 'The country, city, system, label, …', example: 'DE' }),
          scans: scanCount,
        }),
      )
      .meta({ description: 'Most scans first' }),
  })
  .meta({ id: 'Breakdown' });

export const seriesDescription =
  'Every hour (92 days at most) or day (3,660 at most) of the range, empty ones too.';
const breakdownDescription =
  'Scans by country, city, system, browser, device, referer or hour of the UTC day; ' +
  '`bot` counts what was kept out of the scans, by reason. Cities and referers beyond the bound of a ' +
  'day count as `other`.';
const routesDescription =
  ' `route` says which label each scan was led by, `target` = by none; `missed` counts people whom the code led ' +
  'nowhere, or to its `fallbackUrl`, by reason: they are in no other number.';

/** Whose numbers over which days. */
export interface Scope {
  readonly subject: Subject;
  readonly range: DayRange;
  /** The days that answers name and a series shows, when other than those counted. */
  readonly shown?: DayRange;
}

type RangeCall = Pick<Call<RangeQuery, undefined>, 'actor' | 'id' | 'query'>;
type TotalsRow = readonly [metric: string, key: string, value: number];

interface Described {
  readonly path: string;
  readonly operationId: OperationId;
  readonly summary: string;
}

export interface AnalyticsResource<Of extends Scope, Found> {
  readonly tag: Tag;
  readonly failures: readonly FailureCode[];
  readonly rangeShape: ReturnType<typeof rangeShape>;
  /** @throws Failure not_found, validation_failed when the range is backwards */
  readonly scopeOf: (call: RangeCall) => Of;
  readonly totals: Described & {
    readonly description: string;
    readonly schema: z.ZodType;
    /** Of the CSV file, without its days. */
    readonly fileName: string;
    readonly find: (scope: Of, actor: RangeCall['actor']) => Promise<Found>;
    readonly rows: (found: Found) => readonly TotalsRow[];
  };
  readonly series: Described & { readonly description: string };
  readonly breakdown: Described & {
    /** Of a resource that has routes. */
    readonly routes?: (scope: Of, by: RouteBreakdownBy) => BreakdownRow[];
  };
}

export function analyticsRoutes<Of extends Scope, Found>(
  scans: ScanQueries['analytics'],
  resource: AnalyticsResource<Of, Found>,
): Route[] {
  return [totalsRoute(resource), seriesRoute(scans, resource), breakdownRoute(scans, resource)];
}

function totalsRoute<Of extends Scope, Found>(resource: AnalyticsResource<Of, Found>): Route {
  const { tag, failures, rangeShape: range, scopeOf } = resource;
  const { schema, fileName, find, rows, ...described } = resource.totals;
  return createRoute({
    ...described,
    method: 'GET',
    tag,
    query: z.object({ ...range, format: csvFormat }),
    answer: { status: 200, schema, what: 'The numbers', mediaTypes, headers: tableHeaders },
    samples: tableSample(totalsColumns, ['totalScans', '', 42], ['device', 'ios', 20]),
    failures,
    handle: async (call) => {
      const scope = scopeOf(call);
      const found = await find(scope, call.actor);
      if (formatOfCall(call) === 'json') return jsonResult(200, found, varied);
      return csvFile(fileName, scope.shown ?? scope.range, totalsColumns, rows(found));
    },
  });
}

function seriesRoute<Of extends Scope, Found>(
  scans: ScanQueries['analytics'],
  { tag, failures, rangeShape: range, scopeOf, series }: AnalyticsResource<Of, Found>,
): Route {
  return createRoute({
    ...series,
    method: 'GET',
    tag,
    query: z.object({
      ...range,
      interval,
      format: csvFormat,
    }),
    answer: {
      status: 200,
      schema: timeseries,
      what: 'The points, oldest first',
      mediaTypes,
      headers: tableHeaders,
    },
    samples: tableSample(seriesColumns, ['2026-03-01T00:00:00.000Z', 42]),
    failures,
    handle: async (call) => {
      const scope = scopeOf(call);
      const { interval: length } = call.query;
      const shown = scope.shown ?? scope.range;
      checkLength(shown, length);
      const data = await scans.series(scope.subject, shown, length);
      if (formatOfCall(call) === 'json') {
        return jsonResult(200, { interval: length, ...formatRange(shown), data }, varied);
      }
      const rows = data.map(({ start, scans: value }) => [start, value]);
      return csvFile(`scans-by-${length}`, shown, seriesColumns, rows);
    },
  });
}

function breakdownRoute<Of extends Scope, Found>(
  scans: ScanQueries['analytics'],
  {
    tag,
    failures,
    rangeShape: range,
    scopeOf,
    breakdown: ofResource,
  }: AnalyticsResource<Of, Found>,
): Route {
  const { routes, ...described } = ofResource;
  const hasRoutes = routes !== undefined;
  return createRoute({
    ...described,
    method: 'GET',
    tag,
    description: breakdownDescription + (hasRoutes ? routesDescription : ''),
    query: z.object({ ...range, by: hasRoutes ? codeBy : by, format: csvFormat }),
    answer: {
      status: 200,
      schema: breakdown,
      what: 'The shares, most scans first',
      mediaTypes,
      headers: tableHeaders,
    },
    samples: tableSample(['country', 'scans'], ['DE', 30], ['AT', 12]),
    failures,
    handle: async (call) => {
      const scope = scopeOf(call);
      const { by: dimension } = call.query;
      const shown = scope.shown ?? scope.range;
      const data = isOfRoutes(dimension)
        ? (routes?.(scope, dimension) ?? [])
        : await scans.breakdown(scope.subject, scope.range, dimension);
      if (formatOfCall(call) === 'json') {
        return jsonResult(200, { by: dimension, ...formatRange(shown), data }, varied);
      }
      const rows = data.map(({ key, scans: value }) => [key, value]);
      return csvFile(`scans-by-${dimension}`, shown, [dimension, 'scans'], rows);
    },
  });
}

const formatOfCall = ({
  query,
  header,
}: Pick<Call<{ readonly format?: 'json' | 'csv' | undefined }, undefined>, 'query' | 'header'>) =>
  formatOf(query.format, header('accept'), tableFormats);

export const formatRange = ({ fromDay, toDay }: DayRange) => ({
  from: formatDay(fromDay),
  to: formatDay(toDay),
});

export function fileNameOf(what: string, range: DayRange): string {
  const { from, to } = formatRange(range);
  return `${what}-${from}-${to}`;
}

const csvFile = (
  what: string,
  range: DayRange,
  columns: readonly string[],
  rows: Parameters<typeof csvResult>[2],
): StreamedResult => csvResult(fileNameOf(what, range), columns, rows);

/** @throws Failure validation_failed when a series over the range would be too long */
export function checkLength({ fromDay, toDay }: DayRange, interval: Interval): void {
  if (toDay - fromDay < daysMax[interval]) return;
  const message = `Expected at most ${daysMax[interval]} days for interval=${interval}`;
  const faults = [{ path: 'from', code: 'range_too_long', message }];
  throw new Failure('validation_failed', 'The range is too long', { faults });
}

/** One row a number: what it is of, which, and how many. */
export function totalsRows(analytics: Analytics): TotalsRow[] {
  const { totalScans, uniqueScanners, devices, topCountries } = analytics;
  return [
    ['totalScans', '', totalScans],
    ['uniqueScanners', '', uniqueScanners],
    ...Object.entries(devices).map(([key, scans]): TotalsRow => ['device', key, scans]),
    ...topCountries.map(({ code, scans }): TotalsRow => ['country', code, scans]),
  ];
}
