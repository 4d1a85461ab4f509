/**
 * /qr-codes/:id/analytics and its two relatives: numbers over a range of UTC days, both ends included.
 * Deleted codes answer as long as their record is kept (90 days).
 */
import { z } from 'zod';
import type { CodeBook } from '../codes/code-book.ts';
import type { Clock } from '../model/clock.ts';
import { dayOf, formatDay } from '../model/day.ts';
import { Failure } from '../model/failure.ts';
import type { Actor } from '../model/workspace.ts';
import { count, noBody, queryDay, time } from './fields.ts';
import { checkOrder, unknownCode } from './qr-codes.ts';
import { createRoute, jsonResult, type Route } from './route.ts';
import { breakdowns, type Interval, intervals } from '../scans/report.ts';
import type { ScanReport } from './services.ts';

const tag = 'Analytics';

/** Points a series has at most: an answer of about 200 KB. */
const daysMax: Readonly<Record<Interval, number>> = { hour: 92, day: 3_660 };

const rangeQuery = {
  from: queryDay.optional().meta({ description: 'First UTC day; default: the day of creation' }),
  to: queryDay.optional().meta({ description: 'Last UTC day, included; default: today' }),
};

const day = z.string().meta({ override: { format: 'date' }, example: '2026-03-01' });

const analytics = z
  .object({
    totalScans: count,
    uniqueScanners: count.meta({ description: 'Exact while few, then within 2 %' }),
    devices: z.object({ ios: count, android: count, other: count }),
    topCountries: z
      .array(z.object({ code: z.string().meta({ example: 'DE' }), scans: count }))
      .max(10)
      .meta({ description: 'At most ten, most scans first; unknown is `ZZ`' }),
  })
  .meta({
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

export interface AnalyticsOptions {
  readonly codes: CodeBook;
  readonly report: ScanReport;
  readonly clock: Clock;
}

interface Span {
  readonly codeNo: number;
  readonly fromDay: number;
  readonly toDay: number;
}

export function analyticsRoutes(options: AnalyticsOptions): Route[] {
  return [totals(options), series(options), shares(options)];
}

function totals(options: AnalyticsOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/qr-codes/:id/analytics',
    operationId: 'getAnalytics',
    tag,
    summary: 'Scan analytics',
    description: 'Totals over a range of days. `devices` sums to `totalScans`.',
    query: z.object(rangeQuery),
    body: noBody,
    answer: { status: 200, schema: analytics, what: 'The numbers' },
    failures: ['not_found'],
    handle: ({ actor, params, query }) => {
      const { codeNo, fromDay, toDay } = spanOf(options, actor, params.id ?? '', query);
      return jsonResult(200, options.report.analytics(codeNo, fromDay, toDay));
    },
  });
}

function series(options: AnalyticsOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/qr-codes/:id/analytics/timeseries',
    operationId: 'getTimeseries',
    tag,
    summary: 'Scans over time',
    description:
      'Every hour (92 days at most) or day (3,660 at most) of the range, empty ones too.',
    query: z.object({ ...rangeQuery, interval: z.enum(intervals).default('day') }),
    body: noBody,
    answer: { status: 200, schema: timeseries, what: 'The points, oldest first' },
    failures: ['not_found'],
    handle: ({ actor, params, query }) => {
      const { codeNo, fromDay, toDay } = spanOf(options, actor, params.id ?? '', query);
      const { interval } = query;
      if (toDay - fromDay >= daysMax[interval]) throw tooLong(interval);
      const data = options.report.timeseries(codeNo, fromDay, toDay, interval);
      return jsonResult(200, { interval, from: formatDay(fromDay), to: formatDay(toDay), data });
    },
  });
}

function shares(options: AnalyticsOptions): Route {
  return createRoute({
    method: 'GET',
    path: '/qr-codes/:id/analytics/breakdown',
    operationId: 'getBreakdown',
    tag,
    summary: 'Scans by dimension',
    description:
      'Scans by country, city, system, browser, device, referer or hour of the UTC day; ' +
      '`bot` counts what was kept out of the scans, by reason.',
    query: z.object({ ...rangeQuery, by: z.enum(breakdowns) }),
    body: noBody,
    answer: { status: 200, schema: breakdown, what: 'The shares, most scans first' },
    failures: ['not_found'],
    handle: ({ actor, params, query }) => {
      const { codeNo, fromDay, toDay } = spanOf(options, actor, params.id ?? '', query);
      const { by } = query;
      const data = options.report.breakdown(codeNo, fromDay, toDay, by);
      return jsonResult(200, { by, from: formatDay(fromDay), to: formatDay(toDay), data });
    },
  });
}

/** The range asked for, from the day of creation to today where it does not say. @throws Failure when it is backwards */
function spanOf(
  { codes, clock }: AnalyticsOptions,
  actor: Actor,
  id: string,
  query: { readonly from?: number | undefined; readonly to?: number | undefined },
): Span {
  const code = codes.findKept(actor.workspaceNo, id);
  if (code === undefined) throw unknownCode();
  const createdDay = dayOf(code.createdAtMs);
  const fromDay = query.from ?? createdDay;
  const today = dayOf(clock.now());
  // A clock that was set back must not turn the whole life of a code into a backwards range.
  const toDay = query.to ?? (query.from === undefined ? Math.max(today, createdDay) : today);
  checkOrder(fromDay, toDay);
  return { codeNo: code.no, fromDay, toDay };
}

function tooLong(interval: Interval): Failure {
  return new Failure('validation_failed', 'The range is too long', {
    faults: [
      {
        path: 'from',
        code: 'range_too_long',
        message: `Expected at most ${daysMax[interval]} days for interval=${interval}`,
      },
    ],
  });
}
