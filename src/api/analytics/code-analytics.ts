/**
 * /qr-codes/:id/analytics: scans over a range of days of a time zone, both ends included. Deleted codes have analytics for
 * 90 days, like their records.
 */
import type { QrCodeRecord } from '../../model/code.ts';
import { labelOfRoute, labelsMax } from '../../model/routing/labels.ts';
import type { Actor } from '../../model/workspace.ts';
import { checkOrder } from '../kernel/fields.ts';
import type { Route } from '../kernel/route.ts';
import { type Calendar, utcCalendar } from '../../model/zones/calendar.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import {
  type AnalyticsServices,
  analyticsRoutes,
  analyticsTag,
  seriesDescription,
} from './analytics-routes.ts';
import {
  comparedTotals,
  rangeShape,
  type RangeQuery,
  scannersShape,
  totalsRows,
  totalsShape,
} from './analytics-schemas.ts';

const path = '/qr-codes/:id/analytics';
export const codeRangeShape = rangeShape('Code', 'the day of creation', 'today');

const analytics = comparedTotals({ ...totalsShape, ...scannersShape }, 'AnalyticsBefore').meta({
  id: 'Analytics',
  example: {
    totalScans: 42,
    uniqueScanners: 35,
    devices: { ios: 20, android: 18, other: 4 },
    topCountries: [
      { code: 'DE', scans: 30 },
      { code: 'AT', scans: 12 },
    ],
    newScanners: 25,
    returningScanners: 10,
    error: 0,
    timezone: 'Europe/Berlin',
  },
});

const routeNumbers = Array.from({ length: labelsMax + 1 }, (_, route) => route);

export function codeAnalyticsRoutes(services: AnalyticsServices): Route[] {
  const { analytics: numbers } = services.scans;
  return analyticsRoutes(services, {
    tag: analyticsTag,
    failures: ['not_found'],
    rangeShape: codeRangeShape,
    scopeOf: ({ actor, id, query, calendar }) => {
      const { code, range } = codeRange(services, actor, id, query, calendar);
      const subject = { code: code.no, workspace: actor.workspaceNo };
      return { subject, range, labels: code.routing?.labels ?? [] };
    },
    routesOf: ({ labels }, label) =>
      routeNumbers.filter((route) => labelOfRoute(labels, route) === label),
    totals: {
      path,
      operationId: 'getAnalytics',
      summary: 'Scan analytics',
      description:
        'Totals over a range of days. `devices` sums to `totalScans`. `timezone`, `compare` and filters work for ' +
        'all analytics; filters need the raw scans of the range.',
      schema: analytics,
      fileName: 'analytics',
      find: ({ subject, range, filter }) => numbers.totalsWithScanners(subject, range, filter),
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
      nameOf:
        ({ labels }) =>
        (route) =>
          labelOfRoute(labels, route),
    },
  });
}

/** The range asked for, by default from the day of creation to today. @throws Failure not_found, validation_failed */
export function codeRange(
  { codes, clock }: Pick<AnalyticsServices, 'codes' | 'clock'>,
  actor: Actor,
  id: string,
  query: RangeQuery,
  calendar: Calendar = utcCalendar,
): { readonly code: QrCodeRecord; readonly range: LocalRange } {
  const code = codes.getKept(actor.workspaceNo, id);
  const createdDay = calendar.dayOf(code.createdAtMs);
  const fromDay = query.from ?? createdDay;
  const today = calendar.dayOf(clock.now());
  // A clock that was set back must not turn the whole life of a code into a backwards range.
  const toDay = query.to ?? (query.from === undefined ? Math.max(today, createdDay) : today);
  checkOrder(fromDay, toDay);
  return { code, range: { fromDay, toDay, calendar } };
}
