/**
 * /analytics: the workspace as a whole, from sums that the engine keeps, so that they cost the same over
 * ten codes and over 100,000. They count every scan that was made in the range, also those of codes that
 * were deleted since.
 */
import { z } from 'zod';
import type { Codes } from '../../codes/codes.ts';
import type { Clock } from '../../model/clock.ts';
import { formatDay } from '../../model/day.ts';
import { Failure, readOr } from '../../model/failure.ts';
import type { Calendar } from '../../model/zones/calendar.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import { isEmptyFilter } from '../../scans/query/filter.ts';
import type { ScanQueries } from '../../scans/query/queries.ts';
import { checkOrder, count, idField } from '../fields.ts';
import { shortUrl, shownName, shownTarget } from '../codes/code-schemas.ts';
import type { Route } from '../route.ts';
import {
  type AnalyticsServices,
  analyticsRoutes,
  analyticsTag,
  type Asked,
  checkLength,
  formatRange,
  type Scope,
  seriesDescription,
} from './analytics-routes.ts';
import {
  changeShape,
  day,
  firstDay,
  lastDay,
  rangeShape,
  type RangeQuery,
  scanCount,
  scannersShape,
  timezoneName,
  type TotalsRow,
  totalsRows,
  totalsShape,
} from './analytics-schemas.ts';
import { changeOf } from './analytics-query.ts';
import type { CodeScans } from '../../scans/query/subject.ts';
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

const summary = z
  .object({
    from: firstDay,
    to: lastDay,
    timezone: timezoneName,
    ...totalsShape,
    ...scannersShape,
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
        from: day.meta({ description: 'Its first day', example: '2026-01-29' }),
        to: day.meta({ description: 'Its last day', example: '2026-02-28' }),
        totalScans: count.nullable().meta({
          description:
            'Scans of those days; null where they are not known in this time zone, or with this filter',
          example: 34,
        }),
        uniqueScanners: count.nullable().meta({
          description: 'Different scanners of those days; null as above',
          example: 30,
        }),
        complete: z.boolean().meta({
          description:
            'False when the first scan of the workspace came after its first day, and where it is not known',
        }),
      })
      .meta({
        description:
          'The period of equal length right before; with `compare` that period, with all that is above',
      }),
    change: z.union([z.number().nullable(), changeShape]).meta({
      description:
        'Of `totalScans` against the period before, as a fraction; null when that had none, or when ' +
        'counting began within it. With `compare` those of both numbers',
      example: 0.25,
    }),
  })
  .meta({ id: 'Summary' });
type Summary = z.input<typeof summary>;

export interface WorkspaceAnalyticsOptions {
  readonly codes: Codes;
  readonly scans: ScanQueries;
  readonly clock: Clock;
  readonly zoneOf: AnalyticsServices['zoneOf'];
}

export function workspaceAnalyticsRoutes(options: WorkspaceAnalyticsOptions): Route[] {
  const { scans, clock, codes, zoneOf } = options;
  return analyticsRoutes(
    { scans: scans.analytics, codes, zoneOf },
    {
      tag: analyticsTag,
      failures: [],
      rangeShape: rangeShape('Workspace', '29 days before `to`', 'today'),
      scopeOf: ({ actor, query, calendar }): Scope => ({
        subject: { workspace: actor.workspaceNo },
        range: workspaceRange(clock, query, calendar),
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
        find: (scope, { workspaceNo }) => summaryOf(options, workspaceNo, scope),
        rows: (found) => [
          ...totalsRows(found),
          ...found.topCodes.map(({ id, scans: value }) => ['code', id, value] as const),
          ...found.scansPerDay.map((point) => ['day', point.day, point.scans] as const),
          ...knownRow('previousTotalScans', found.previous.totalScans),
          ...knownRow('previousUniqueScanners', found.previous.uniqueScanners),
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
        groups: (scope, by, workspaceNo) => groupRows(options, scope, by, workspaceNo),
      },
    },
  );
}

const knownRow = (metric: string, value: number | null): TotalsRow[] =>
  value === null ? [] : [[metric, '', value]];

async function summaryOf(
  options: WorkspaceAnalyticsOptions,
  workspaceNo: WorkspaceNo,
  scope: Asked<Scope>,
): Promise<Omit<Summary, 'timezone'>> {
  const { analytics } = options.scans;
  const { subject, range, filter } = scope;
  checkLength(range, 'day');
  const { fromDay, toDay } = range;
  const before = { ...range, fromDay: fromDay - (toDay - fromDay + 1), toDay: fromDay - 1 };
  const now = await analytics.totalsWithScanners(subject, range, filter);
  const points = await analytics.series(subject, range, 'day', { filter });
  const then = await analytics.totals(subject, before, filter).catch(nothingWhereUnknown);
  const isWhole = await hasScans(options, scope, { ...before, fromDay: 0, toDay: before.fromDay });
  const { topCodes, unreadable } = await topCodesOf(options, workspaceNo, scope);
  return {
    ...formatRange(range),
    ...now,
    topCountries: [...now.topCountries],
    topCodes,
    ...(unreadable > 0 ? { unreadable } : {}),
    scansPerDay: points.map(({ start, scans: value }) => ({
      day: start.slice(0, 10),
      scans: value,
    })),
    previous: {
      from: formatDay(Math.max(0, before.fromDay)),
      to: formatDay(Math.max(0, before.toDay)),
      totalScans: then?.totalScans ?? null,
      uniqueScanners: then?.uniqueScanners ?? null,
      complete: isWhole && then !== undefined,
    },
    change: isWhole && then !== undefined ? changeOf(now.totalScans, then.totalScans) : null,
  };
}

/** Of the period before nobody has asked: its raw scans may have expired, or its days have been cut in another zone. */
function nothingWhereUnknown(error: unknown): undefined {
  if (error instanceof Failure && error.code === 'validation_failed') return undefined;
  throw error;
}

/** Without its scanners, which are most of the cost: months are read as one each. */
async function hasScans(
  { scans }: WorkspaceAnalyticsOptions,
  { subject }: Scope,
  { fromDay, toDay }: LocalRange,
): Promise<boolean> {
  // Of UTC days, which are known as far back as there are scans.
  const devices = await scans.analytics.breakdown(subject, { fromDay, toDay }, 'device');
  return devices.some(({ scans: count }) => count > 0);
}

/** Of the codes that exist, most scans first. */
async function topCodesOf(
  { codes, scans }: WorkspaceAnalyticsOptions,
  workspaceNo: WorkspaceNo,
  { subject, range, filter }: Asked<Scope>,
): Promise<{ readonly topCodes: Summary['topCodes']; readonly unreadable: number }> {
  const damaged = new Set<CodeNo>();
  const isListed = (codeNo: CodeNo): boolean => {
    const code = readOr(() => codes.findByNo(codeNo), 'damaged');
    if (code === 'damaged') damaged.add(codeNo);
    if (code === undefined || code === 'damaged') return false;
    return code.workspaceNo === workspaceNo && code.deletedAtMs === undefined;
  };
  const rowOf = ({ codeNo, scans: count }: CodeScans) => topCodeOf(codes, codeNo, count);
  if (isEmptyFilter(filter) && !('codes' in subject)) {
    const request = { ...range, workspaceNo, limit: topCodesMax, isListed };
    const top = await scans.topCodes.find(request);
    return { topCodes: top.flatMap(rowOf), unreadable: damaged.size };
  }
  const found = await scansByCode(scans, { subject, range, filter }, workspaceNo);
  found.sort((one, other) => other.scans - one.scans || one.codeNo - other.codeNo);
  const top: CodeScans[] = [];
  for (const row of found) {
    if (top.length === topCodesMax) break;
    if (isListed(row.codeNo)) top.push(row);
  }
  return { topCodes: top.flatMap(rowOf), unreadable: damaged.size };
}

function topCodeOf(codes: Codes, codeNo: CodeNo, scans: number): Summary['topCodes'] {
  const code = codes.findByNo(codeNo);
  if (code === undefined) return [];
  const shortUrl = codes.shortUrl(code);
  const { id, name = null, target } = code;
  return [{ id, name, target, ...(shortUrl === undefined ? {} : { shortUrl }), scans }];
}

/** @throws Failure when the range is backwards */
function workspaceRange(clock: Clock, query: RangeQuery, calendar: Calendar): LocalRange {
  const toDay = query.to ?? calendar.dayOf(clock.now());
  const fromDay = query.from ?? Math.max(0, toDay - standardDays + 1);
  checkOrder(fromDay, toDay);
  return { fromDay, toDay, calendar };
}
