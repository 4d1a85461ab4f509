/**
 * /qr-codes/:id/analytics and its two relatives: numbers over a range of UTC days, both ends included.
 * Deleted codes answer as long as their record is kept (90 days).
 */
import { z } from 'zod';
import type { Codes } from '../../codes/codes.ts';
import type { Clock } from '../../model/clock.ts';
import { dayOf, formatDay } from '../../model/day.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import type { Actor } from '../../model/workspace.ts';
import {
  analyticsTag,
  checkLength,
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
  totalsResult,
  totalsShape,
} from './analytics-answers.ts';
import { csvFormat, formatOf } from '../csv.ts';
import { checkOrder, noBody, queryDay } from '../fields.ts';
import { createRoute, type Route } from '../route.ts';
import type { ScanReport } from '../services.ts';

const rangeQuery = {
  from: queryDay.optional().meta({ description: 'First UTC day; default: the day of creation' }),
  to: queryDay.optional().meta({ description: 'Last UTC day, included; default: today' }),
};

const analytics = z.object(totalsShape).meta({
  id: 'Analytics',
  example: {
    totalScans: 42,
    uniqueScanners: 35,
    devices: { ios: 20, android: 18, other: 4 },
    topCountries: [
      { code: 'DE', scans: 30 },
      { code: 'AT', scans: 12 },
    ],
  },
});

export interface AnalyticsOptions {
  readonly codes: Codes;
  readonly report: ScanReport;
  readonly clock: Clock;
}

export interface CodeRange extends DayRange {
  readonly code: QrCodeRecord;
}

export function analyticsRoutes(options: AnalyticsOptions): Route[] {
  return [totals(options), series(options), shares(options)];
}

function totals(options: AnalyticsOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/qr-codes/:id/analytics',
    operationId: 'getAnalytics',
    tag: analyticsTag,
    summary: 'Scan analytics',
    description: 'Totals over a range of days. `devices` sums to `totalScans`.',
    query: z.object({ ...rangeQuery, format: csvFormat }),
    body: noBody,
    answer: { status: 200, schema: analytics, what: 'The numbers', mediaTypes: tableTypes },
    failures: ['not_found'],
    handle: ({ actor, params, query, header }) => {
      const { code, fromDay, toDay } = codeRange(options, actor, params.id ?? '', query);
      const format = formatOf(query.format, header('accept'), tableFormats);
      const range = { from: formatDay(fromDay), to: formatDay(toDay) };
      const found = options.report.analytics(code.no, fromDay, toDay);
      return totalsResult(found, fileName('analytics', range), format);
    },
  });
}

function series(options: AnalyticsOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/qr-codes/:id/analytics/timeseries',
    operationId: 'getTimeseries',
    tag: analyticsTag,
    summary: 'Scans over time',
    description: seriesDescription,
    query: z.object({ ...rangeQuery, ...seriesQuery }),
    body: noBody,
    answer: seriesAnswer,
    failures: ['not_found'],
    handle: ({ actor, params, query, header }) => {
      const range = codeRange(options, actor, params.id ?? '', query);
      const { interval } = query;
      checkLength(range, interval);
      const data = options.report.timeseries(range.code.no, range.fromDay, range.toDay, interval);
      const format = formatOf(query.format, header('accept'), tableFormats);
      return seriesResult(range, interval, data, format);
    },
  });
}

function shares(options: AnalyticsOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/qr-codes/:id/analytics/breakdown',
    operationId: 'getBreakdown',
    tag: analyticsTag,
    summary: 'Scans by dimension',
    description: sharesDescription,
    query: z.object({ ...rangeQuery, ...sharesQuery }),
    body: noBody,
    answer: sharesAnswer,
    failures: ['not_found'],
    handle: ({ actor, params, query, header }) => {
      const range = codeRange(options, actor, params.id ?? '', query);
      const { by } = query;
      const data = options.report.breakdown(range.code.no, range.fromDay, range.toDay, by);
      const format = formatOf(query.format, header('accept'), tableFormats);
      return sharesResult(range, by, data, format);
    },
  });
}

/** The range asked for, from the day of creation to today where it does not say. @throws Failure when it is backwards */
export function codeRange(
  { codes, clock }: Omit<AnalyticsOptions, 'report'>,
  actor: Actor,
  id: string,
  query: { readonly from?: number | undefined; readonly to?: number | undefined },
): CodeRange {
  const code = codes.getKept(actor.workspaceNo, id);
  const createdDay = dayOf(code.createdAtMs);
  const fromDay = query.from ?? createdDay;
  const today = dayOf(clock.now());
  // A clock that was set back must not turn the whole life of a code into a backwards range.
  const toDay = query.to ?? (query.from === undefined ? Math.max(today, createdDay) : today);
  checkOrder(fromDay, toDay);
  return { code, fromDay, toDay };
}
