/**
 * /analytics: the workspace as a whole, from sums that the engine keeps, so that they cost the same over
 * ten codes and over 100,000. They count every scan that was made in the range, also those of codes that
 * were deleted since.
 */
import { z } from 'zod';
import type { Codes } from '../../codes/codes.ts';
import type { Clock } from '../../model/clock.ts';
import { dayOf, type DayRange, formatDay } from '../../model/day.ts';
import { readOr } from '../../model/failure.ts';
import type { Subject } from '../../scans/query/analytics.ts';
import type { ScanQueries } from '../../scans/query/queries.ts';
import { checkOrder, count, idField } from '../fields.ts';
import { shortUrl, shownName, shownTarget } from '../codes/code-schemas.ts';
import type { Route } from '../route.ts';
import {
  analyticsRoutes,
  analyticsTag,
  checkLength,
  day,
  firstDay,
  formatRange,
  lastDay,
  rangeShape,
  type RangeQuery,
  scanCount,
  seriesDescription,
  totalsRows,
  totalsShape,
} from './analytics-routes.ts';
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

const summary = z
  .object({
    from: firstDay,
    to: lastDay,
    ...totalsShape,
    topCodes: z
      .array(topCode)
      .max(topCodesMax)
      .meta({ description: 'Of the codes that exist, most scans first' }),
    unreadable: z.int().min(1).optional().meta({
      description: 'Codes left out of `topCodes` because their records are damaged; absent = none',
    }),
    scansPerDay: z
      .array(z.object({ day, scans: scanCount }))
      .meta({ description: 'Oldest first, empty days too' }),
    previous: z
      .object({
        from: day.meta({ description: 'Its first UTC day', example: '2026-01-29' }),
        to: day.meta({ description: 'Its last UTC day', example: '2026-02-28' }),
        totalScans: count.meta({ description: 'Scans of those days', example: 34 }),
        uniqueScanners: count.meta({
          description: 'Different scanners of those days',
          example: 30,
        }),
        complete: z.boolean().meta({
          description: 'False when the first scan of the workspace came after its first day',
        }),
      })
      .meta({ description: 'The period of equal length right before' }),
    change: z
      .number()
      .nullable()
      .meta({
        description:
          'Of `totalScans` against the period before, as a fraction; null when that had none, or when ' +
          'counting began within it',
        example: 0.25,
      }),
  })
  .meta({ id: 'Summary' });
type Summary = z.input<typeof summary>;

export interface WorkspaceAnalyticsOptions {
  readonly codes: Codes;
  readonly scans: ScanQueries;
  readonly clock: Clock;
}

export function workspaceAnalyticsRoutes(options: WorkspaceAnalyticsOptions): Route[] {
  const { scans, clock } = options;
  return analyticsRoutes(scans.analytics, {
    tag: analyticsTag,
    failures: [],
    rangeShape: rangeShape('Workspace', '29 days before `to`', 'today'),
    scopeOf: ({ actor, query }) => ({
      subject: { workspace: actor.workspaceNo },
      range: workspaceRange(clock, query),
    }),
    totals: {
      path: '/analytics/summary',
      operationId: 'getSummary',
      summary: 'Workspace summary',
      description:
        'All scans of the workspace over a range of days, with the period before. `uniqueScanners` is ' +
        'the union over all codes: who scans two of them counts once.',
      schema: summary,
      fileName: 'summary',
      find: ({ range }, { workspaceNo }) => summaryOf(options, workspaceNo, range),
      rows: (found) => [
        ...totalsRows(found),
        ...found.topCodes.map(({ id, scans: value }) => ['code', id, value] as const),
        ...found.scansPerDay.map((point) => ['day', point.day, point.scans] as const),
        ['previousTotalScans', '', found.previous.totalScans],
        ['previousUniqueScanners', '', found.previous.uniqueScanners],
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
    },
  });
}

async function summaryOf(
  { codes, scans }: WorkspaceAnalyticsOptions,
  workspaceNo: WorkspaceNo,
  range: DayRange,
): Promise<Summary> {
  checkLength(range, 'day');
  const { fromDay, toDay } = range;
  const subject = { workspace: workspaceNo };
  const before = { fromDay: fromDay - (toDay - fromDay + 1), toDay: fromDay - 1 };
  const now = await scans.analytics.totals(subject, range);
  const points = await scans.analytics.series(subject, range, 'day');
  const then = await scans.analytics.totals(subject, before);
  const isWhole = await hasScans(scans, subject, { fromDay: 0, toDay: before.fromDay });
  const unreadable = new Set<CodeNo>();
  const isListed = (codeNo: CodeNo): boolean => {
    const code = readOr(() => codes.findByNo(codeNo), 'damaged');
    if (code === 'damaged') unreadable.add(codeNo);
    if (code === undefined || code === 'damaged') return false;
    return code.workspaceNo === workspaceNo && code.deletedAtMs === undefined;
  };
  const top = await scans.topCodes.find({ ...range, workspaceNo, limit: topCodesMax, isListed });
  return {
    ...formatRange(range),
    ...now,
    topCountries: [...now.topCountries],
    topCodes: top.flatMap(({ codeNo, scans: value }) => topCodeOf(codes, codeNo, value)),
    ...(unreadable.size > 0 ? { unreadable: unreadable.size } : {}),
    scansPerDay: points.map(({ start, scans: value }) => ({
      day: start.slice(0, 10),
      scans: value,
    })),
    previous: {
      from: formatDay(Math.max(0, before.fromDay)),
      to: formatDay(Math.max(0, before.toDay)),
      totalScans: then.totalScans,
      uniqueScanners: then.uniqueScanners,
      complete: isWhole,
    },
    change:
      isWhole && then.totalScans > 0 ? (now.totalScans - then.totalScans) / then.totalScans : null,
  };
}

/** Without its scanners, which are most of the cost: months are read as one each. */
async function hasScans(scans: ScanQueries, subject: Subject, range: DayRange): Promise<boolean> {
  const devices = await scans.analytics.breakdown(subject, range, 'device');
  return devices.some(({ scans: count }) => count > 0);
}

function topCodeOf(codes: Codes, codeNo: CodeNo, scans: number): Summary['topCodes'] {
  const code = codes.findByNo(codeNo);
  if (code === undefined) return [];
  const shortUrl = codes.shortUrl(code);
  const { id, name = null, target } = code;
  return [{ id, name, target, ...(shortUrl === undefined ? {} : { shortUrl }), scans }];
}

/** @throws Failure when the range is backwards */
function workspaceRange(clock: Clock, query: RangeQuery): DayRange {
  const toDay = query.to ?? dayOf(clock.now());
  const fromDay = query.from ?? Math.max(0, toDay - standardDays + 1);
  checkOrder(fromDay, toDay);
  return { fromDay, toDay };
}
