/**
 * /analytics: the workspace as a whole, from sums that the engine maintains: they cost the same for ten codes and for 100,000.
 * They count every scan of the range, also those of deleted codes.
 */
import { z } from 'zod';
import type { Clock } from '../../model/clock.ts';
import { readOr } from '../../model/failure.ts';
import type { Calendar } from '../../model/zones/calendar.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import { isEmptyFilter } from '../../engine/analytics/filter.ts';
import { checkOrder, idField } from '../kernel/fields.ts';
import { shortUrl, shownName, shownTarget } from '../codes/code-schemas.ts';
import type { Route } from '../kernel/route.ts';
import {
  type AnalyticsServices,
  analyticsRoutes,
  analyticsTag,
  type Asked,
  formatRange,
  type Scope,
  seriesDescription,
} from './analytics-routes.ts';
import {
  comparedTotals,
  day,
  firstDay,
  lastDay,
  rangeShape,
  type RangeQuery,
  scanCount,
  scannersShape,
  totalsRows,
  totalsShape,
} from './analytics-schemas.ts';
import { checkLength } from './analytics-query.ts';
import { type CodeScans, mostScansFirst } from '../../engine/analytics/subject.ts';
import { groupRows, scansByCode } from './code-rows.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Without `from`: a month to look back at. */
const standardDays = 30;
/** Codes that a summary names. */
const topCodesMax = 10;

const topCode = z
  .object({
    id: idField('qr', 'Id of the code'),
    name: shownName,
    target: shownTarget,
    shortUrl,
    scans: scanCount,
  })
  .meta({ id: 'TopCode' });

const periodShape = {
  ...totalsShape,
  ...scannersShape,
  topCodes: z
    .array(topCode)
    .max(topCodesMax)
    .meta({ description: 'Existing codes, most scans first' }),
  unreadable: z.int().min(1).optional().meta({
    description: 'Codes omitted from `topCodes` because of damaged records; absent = none',
  }),
  scansPerDay: z
    .array(z.object({ day, scans: scanCount }))
    .meta({ description: 'Oldest first, including empty days' }),
};
const complete = z.boolean().meta({
  description: 'False if the workspace’s first scan came after the first day',
});
const summary = comparedTotals(periodShape, 'SummaryBefore', { complete })
  .extend({ from: firstDay, to: lastDay })
  .meta({ id: 'Summary' });
type Period = z.input<z.ZodObject<typeof periodShape>> & Readonly<Record<'from' | 'to', string>>;

export function workspaceAnalyticsRoutes(services: AnalyticsServices): Route[] {
  return analyticsRoutes<Scope, Period>(services, {
    tag: analyticsTag,
    failures: [],
    rangeShape: rangeShape('Workspace', '29 days before `to`', 'today'),
    scopeOf: ({ actor, query, calendar }): Scope => ({
      subject: { workspace: actor.workspaceNo },
      range: workspaceRange(services.clock, query, calendar),
    }),
    totals: {
      path: '/analytics/summary',
      operationId: 'getSummary',
      summary: 'Workspace summary',
      description:
        'All scans of the workspace over a range of days. `uniqueScanners` is ' +
        'the union over all codes: a scanner of two codes counts once.',
      schema: summary,
      fileName: 'summary',
      find: (scope, { workspaceNo }) => periodOf(services, workspaceNo, scope),
      ofPrevious: async (before) => ({ complete: await isComplete(services, before) }),
      rows: (found) => [
        ...totalsRows(found),
        ...found.topCodes.map(({ id, scans: value }) => ['code', id, value] as const),
        ...found.scansPerDay.map((point) => ['day', point.day, point.scans] as const),
      ],
    },
    series: {
      path: '/analytics/timeseries',
      operationId: 'getWorkspaceTimeseries',
      summary: 'Workspace scans over time',
      description: seriesDescription,
    },
    breakdown: {
      path: '/analytics/breakdown',
      operationId: 'getWorkspaceBreakdown',
      summary: 'Workspace scans by dimension',
      groups: (scope, by, workspaceNo) => groupRows(services, scope, by, workspaceNo),
    },
  });
}

async function periodOf(
  services: AnalyticsServices,
  workspaceNo: WorkspaceNo,
  scope: Asked<Scope>,
): Promise<Period> {
  const { subject, range, filter } = scope;
  checkLength(range, 'day');
  const totals = await services.scans.analytics.totalsWithScanners(subject, range, filter);
  const points = await services.scans.analytics.series(subject, range, 'day', { filter });
  const { topCodes, unreadable } = await topCodesOf(services, workspaceNo, scope);
  return {
    ...formatRange(range),
    ...totals,
    topCountries: [...totals.topCountries],
    topCodes,
    ...(unreadable > 0 ? { unreadable } : {}),
    scansPerDay: points.map(({ start, scans }) => ({ day: start.slice(0, 10), scans })),
  };
}

/** Whether the first scan came on its first day or earlier, in UTC days, which never expire. */
async function isComplete(
  { scans }: AnalyticsServices,
  { subject, range }: Scope,
): Promise<boolean> {
  return (await scans.analytics.scans(subject, { fromDay: 0, toDay: range.fromDay })) > 0;
}

/** Of the codes that exist, most scans first. */
async function topCodesOf(
  { codes, scans }: AnalyticsServices,
  workspaceNo: WorkspaceNo,
  { subject, range, filter }: Asked<Scope>,
): Promise<{ readonly topCodes: Period['topCodes']; readonly unreadable: number }> {
  const damaged = new Set<CodeNo>();
  const isListed = (codeNo: CodeNo): boolean => {
    const code = readOr(() => codes.findByNo(codeNo), 'damaged');
    if (code === 'damaged') damaged.add(codeNo);
    if (code === undefined || code === 'damaged') return false;
    return code.workspaceNo === workspaceNo && code.deletedAtMs === undefined;
  };
  let top: CodeScans[] = [];
  if (isEmptyFilter(filter) && !('codes' in subject)) {
    top = await scans.topCodes.find({ ...range, workspaceNo, limit: topCodesMax, isListed });
  } else {
    const found = await scansByCode(scans, { subject, range, filter }, workspaceNo);
    for (const row of found.sort(mostScansFirst)) {
      if (top.length === topCodesMax) break;
      if (isListed(row.codeNo)) top.push(row);
    }
  }
  const topCodes = top.flatMap(({ codeNo, scans: count }) => {
    const code = codes.findByNo(codeNo);
    if (code === undefined) return [];
    const { id, name = null, target } = code;
    const shortUrl = codes.shortUrl(code);
    return [{ id, name, target, ...(shortUrl === undefined ? {} : { shortUrl }), scans: count }];
  });
  return { topCodes, unreadable: damaged.size };
}

/** @throws Failure when the range is backwards */
function workspaceRange(clock: Clock, query: RangeQuery, calendar: Calendar): LocalRange {
  const toDay = query.to ?? calendar.dayOf(clock.now());
  const fromDay = query.from ?? Math.max(0, toDay - standardDays + 1);
  checkOrder(fromDay, toDay);
  return { fromDay, toDay, calendar };
}
