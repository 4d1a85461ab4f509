/**
 * /qr-codes/:id/analytics: numbers over a range of UTC days, both ends included. Deleted codes answer as
 * long as their record is kept (90 days).
 */
import { z } from 'zod';
import type { Codes } from '../../codes/codes.ts';
import type { Clock } from '../../model/clock.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { dayOf, type DayRange } from '../../model/day.ts';
import { labelOfRoute } from '../../model/routing/labels.ts';
import type { Actor } from '../../model/workspace.ts';
import type { ScanQueries } from '../../scans/query/queries.ts';
import { checkOrder } from '../fields.ts';
import type { Route } from '../route.ts';
import {
  analyticsRoutes,
  analyticsTag,
  rangeShape,
  type RangeQuery,
  seriesDescription,
  totalsRows,
  totalsShape,
} from './analytics-routes.ts';

const path = '/qr-codes/:id/analytics';
export const codeRangeShape = rangeShape('Code', 'the day of creation', 'today');

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

export interface CodeAnalyticsOptions {
  readonly codes: Codes;
  readonly scans: ScanQueries;
  readonly clock: Clock;
}

export function codeAnalyticsRoutes(options: CodeAnalyticsOptions): Route[] {
  const { scans } = options;
  return analyticsRoutes(scans.analytics, {
    tag: analyticsTag,
    failures: ['not_found'],
    rangeShape: codeRangeShape,
    scopeOf: ({ actor, id, query }) => {
      const { code, range } = codeRange(options, actor, id, query);
      return { subject: { code: code.no }, range, labels: code.routing?.labels ?? [] };
    },
    totals: {
      path,
      operationId: 'getAnalytics',
      summary: 'Scan analytics',
      description: 'Totals over a range of days. `devices` sums to `totalScans`.',
      schema: analytics,
      fileName: 'analytics',
      find: ({ subject, range }) => scans.analytics.totals(subject, range),
      rows: totalsRows,
    },
    series: {
      path: `${path}/timeseries`,
      operationId: 'getTimeseries',
      summary: 'Scans over time',
      description: seriesDescription,
    },
    breakdown: {
      path: `${path}/breakdown`,
      operationId: 'getBreakdown',
      summary: 'Scans by dimension',
      routes: ({ subject, range, labels }, by) =>
        by === 'missed'
          ? scans.analytics.missed(subject.code, range)
          : scans.analytics.routes(subject.code, range, (route) => labelOfRoute(labels, route)),
    },
  });
}

/** The range asked for, by default from the day of creation to today. @throws Failure not_found, validation_failed */
export function codeRange(
  { codes, clock }: Pick<CodeAnalyticsOptions, 'codes' | 'clock'>,
  actor: Actor,
  id: string,
  query: RangeQuery,
): { readonly code: QrCodeRecord; readonly range: DayRange } {
  const code = codes.getKept(actor.workspaceNo, id);
  const createdDay = dayOf(code.createdAtMs);
  const fromDay = query.from ?? createdDay;
  const today = dayOf(clock.now());
  // A clock that was set back must not turn the whole life of a code into a backwards range.
  const toDay = query.to ?? (query.from === undefined ? Math.max(today, createdDay) : today);
  checkOrder(fromDay, toDay);
  return { code, range: { fromDay, toDay } };
}
