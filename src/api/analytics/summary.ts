/**
 * /analytics: the workspace as a whole, from sums that the engine keeps, so that they cost the same over
 * ten codes and over 100,000. They count every scan that was made in the range, also those of codes that
 * were deleted since.
 */
import { z } from 'zod';
import type { Codes } from '../../codes/codes.ts';
import type { Clock } from '../../model/clock.ts';
import { dayOf, formatDay } from '../../model/day.ts';
import type { Analytics, SeriesPoint } from '../../scans/report/breakdown.ts';
import {
  analyticsTag,
  checkLength,
  day,
  type DayRange,
  fileName,
  seriesAnswer,
  seriesDescription,
  seriesQuery,
  seriesResult,
  sharesAnswer,
  sharesDescription,
  sharesQuery,
  sharesResult,
  tableFormats,
  tableTypes,
  totalsColumns,
  totalsRows,
  totalsShape,
  varied,
} from './analytics-answers.ts';
import { csvFormat, csvResult, formatOf } from '../csv.ts';
import { checkOrder, count, noBody, queryDay } from '../fields.ts';
import { createRoute, jsonResult, type Route } from '../route.ts';
import type { ScanReport } from '../services.ts';

/** Without `from`: a month to look back at. */
const standardDays = 30;
/** Codes that a summary names. */
const topCodesMax = 10;

const rangeQuery = {
  from: queryDay.optional().meta({ description: 'First UTC day; default: 29 days before `to`' }),
  to: queryDay.optional().meta({ description: 'Last UTC day, included; default: today' }),
};

const topCode = z
  .object({
    id: z.string().meta({ example: 'qr_01k3zq8m4hd2v7c5x9ab' }),
    name: z.string().nullable(),
    target: z.string(),
    shortUrl: z.string().optional(),
    scans: count,
  })
  .meta({ id: 'TopCode' });

const summary = z
  .object({
    from: day,
    to: day,
    ...totalsShape,
    topCodes: z
      .array(topCode)
      .max(topCodesMax)
      .meta({ description: 'Of the codes that exist, most scans first' }),
    scansPerDay: z.array(z.object({ day, scans: count })).meta({ description: 'Empty days too' }),
    previous: z
      .object({ from: day, to: day, totalScans: count, uniqueScanners: count })
      .meta({ description: 'The period of equal length right before' }),
    change: z.number().nullable().meta({
      description:
        'Of `totalScans` against the period before, as a fraction; null when it had none',
      example: 0.25,
    }),
  })
  .meta({ id: 'Summary' });
type Summary = z.input<typeof summary>;

export interface SummaryOptions {
  readonly codes: Codes;
  readonly report: ScanReport;
  readonly clock: Clock;
}

export function summaryRoutes(options: SummaryOptions): Route[] {
  return [totals(options), series(options), shares(options)];
}

function totals(options: SummaryOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/analytics/summary',
    operationId: 'getSummary',
    tag: analyticsTag,
    summary: 'Workspace summary',
    description:
      'All scans of the workspace over a range of days, with the period before. `uniqueScanners` is ' +
      'the union over all codes: who scans two of them counts once.',
    query: z.object({ ...rangeQuery, format: csvFormat }),
    body: noBody,
    answer: { status: 200, schema: summary, what: 'The numbers', mediaTypes: tableTypes },
    failures: [],
    handle: async ({ actor, query, header }) => {
      const range = workspaceRange(options.clock, query);
      checkLength(range, 'day');
      const found = await summaryOf(options, actor.workspaceNo, range);
      const format = formatOf(query.format, header('accept'), tableFormats);
      if (format === 'json') return jsonResult(200, found, varied);
      return csvResult(fileName('summary', found), totalsColumns, rowsOf(found));
    },
  });
}

function series({ report, clock }: SummaryOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/analytics/timeseries',
    operationId: 'getWorkspaceTimeseries',
    tag: analyticsTag,
    summary: 'Workspace scans over time',
    description: seriesDescription,
    query: z.object({ ...rangeQuery, ...seriesQuery }),
    body: noBody,
    answer: seriesAnswer,
    failures: [],
    handle: ({ actor, query, header }) => {
      const range = workspaceRange(clock, query);
      const { interval } = query;
      checkLength(range, interval);
      const { fromDay, toDay } = range;
      const data = report.workspaceTimeseries(actor.workspaceNo, fromDay, toDay, interval);
      const format = formatOf(query.format, header('accept'), tableFormats);
      return seriesResult(range, interval, data, format);
    },
  });
}

function shares({ report, clock }: SummaryOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/analytics/breakdown',
    operationId: 'getWorkspaceBreakdown',
    tag: analyticsTag,
    summary: 'Workspace scans by dimension',
    description: sharesDescription,
    query: z.object({ ...rangeQuery, ...sharesQuery }),
    body: noBody,
    answer: sharesAnswer,
    failures: [],
    handle: ({ actor, query, header }) => {
      const range = workspaceRange(clock, query);
      const { by } = query;
      const data = report.workspaceBreakdown(actor.workspaceNo, range.fromDay, range.toDay, by);
      const format = formatOf(query.format, header('accept'), tableFormats);
      return sharesResult(range, by, data, format);
    },
  });
}

async function summaryOf(
  { codes, report }: SummaryOptions,
  workspaceNo: number,
  { fromDay, toDay }: DayRange,
): Promise<Summary> {
  const before = { fromDay: fromDay - (toDay - fromDay + 1), toDay: fromDay - 1 };
  const now: Analytics = report.workspaceAnalytics(workspaceNo, fromDay, toDay);
  const points = report.workspaceTimeseries(workspaceNo, fromDay, toDay, 'day');
  const then = report.workspaceAnalytics(workspaceNo, before.fromDay, before.toDay);
  const isListed = (codeNo: number): boolean => {
    const code = codes.findByNo(codeNo);
    return code?.workspaceNo === workspaceNo && code.deletedAtMs === undefined;
  };
  const request = { workspaceNo, fromDay, toDay, limit: topCodesMax, isListed };
  const top = await report.topCodes(request);
  return {
    from: formatDay(fromDay),
    to: formatDay(toDay),
    ...now,
    topCountries: [...now.topCountries],
    topCodes: top.flatMap(({ codeNo, scans }) => topCodeOf(codes, codeNo, scans)),
    scansPerDay: points.map(({ start, scans }: SeriesPoint) => ({
      day: start.slice(0, 10),
      scans,
    })),
    previous: {
      from: formatDay(Math.max(0, before.fromDay)),
      to: formatDay(Math.max(0, before.toDay)),
      totalScans: then.totalScans,
      uniqueScanners: then.uniqueScanners,
    },
    change: then.totalScans === 0 ? null : (now.totalScans - then.totalScans) / then.totalScans,
  };
}

function topCodeOf(codes: Codes, codeNo: number, scans: number): Summary['topCodes'] {
  const code = codes.findByNo(codeNo);
  if (code === undefined) return [];
  const shortUrl = codes.shortUrl(code);
  const { id, name = null, target } = code;
  return [{ id, name, target, ...(shortUrl === undefined ? {} : { shortUrl }), scans }];
}

function rowsOf(found: Summary): Array<[string, string, number]> {
  return [
    ...totalsRows(found),
    ...found.topCodes.map(({ id, scans }): [string, string, number] => ['code', id, scans]),
    ...found.scansPerDay.map((point): [string, string, number] => ['day', point.day, point.scans]),
    ['previousTotalScans', '', found.previous.totalScans],
    ['previousUniqueScanners', '', found.previous.uniqueScanners],
  ];
}

/** @throws Failure when the range is backwards */
function workspaceRange(
  clock: Clock,
  query: { readonly from?: number | undefined; readonly to?: number | undefined },
): DayRange {
  const toDay = query.to ?? dayOf(clock.now());
  const fromDay = query.from ?? Math.max(0, toDay - standardDays + 1);
  checkOrder(fromDay, toDay);
  return { fromDay, toDay };
}
