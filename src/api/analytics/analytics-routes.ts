/**
 * The analytics of a code, a campaign or the workspace: three routes each, `totals`, `series` and `breakdown`, with the same
 * answers, the same bounds of their ranges, and the same numbers as CSV.
 *
 *   query --> calendar of its time zone --> scope of the resource: whose numbers, over which days
 *         --> codes that it is narrowed to --> filter --> the same of the period that is compared with (comparison.ts)
 */
import { z } from 'zod';
import type { Codes } from '../../product/codes/codes.ts';
import { type DayRange, formatDay } from '../../model/day.ts';
import type { FailureCode } from '../../model/failure.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import type { Clock } from '../../model/clock.ts';
import type { Calendar, WeekStart } from '../../model/zones/calendar.ts';
import { type Until, untilsOf } from '../../model/zones/comparison.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import type { Subject } from '../../engine/analytics/subject.ts';
import type { Analytics, BreakdownRow } from '../../engine/analytics/answers.ts';
import { undefinedWhereUnknown } from '../../engine/analytics/spans.ts';
import type { ScanFilter } from '../../engine/analytics/filter.ts';
import type { ScanQueries } from '../../engine/analytics/queries.ts';
import { csvResult, csvText, type Format, tableRoutes } from '../kernel/csv.ts';
import type { Tag } from '../openapi/tags.ts';
import {
  type Call,
  jsonResult,
  type Result,
  type Route,
  type StreamedResult,
} from '../kernel/route.ts';
import {
  calendarFor,
  changeOf,
  checkLength,
  directReferer,
  filterOf,
  narrowed,
  type Question,
  questionShape,
  type ZoneSettings,
} from './analytics-query.ts';
import { comparedDays, cutAt, formatUntil } from './comparison.ts';
import {
  type AnyBreakdownBy,
  breakdown,
  byOfCode,
  bySeveral,
  type GroupBreakdownBy,
  groupBreakdowns,
  interval,
  previousRows,
  type RangeQuery,
  type rangeShape,
  timeseries,
  type TotalsRow,
} from './analytics-schemas.ts';

export const analyticsTag = 'Analytics';
const totalsColumns = ['metric', 'key', 'value'];
const seriesColumns = ['start', 'scans'];

export const seriesDescription =
  'Points per quarter of an hour (at most 7 days), hour (92), day (3,660), week (120) or month (120), including ' +
  'empty points.';

/** Whose numbers over which days. */
export interface Scope {
  readonly subject: Subject;
  readonly range: LocalRange;
  /** The days that answers name and a series shows, when other than those counted. */
  readonly shown?: LocalRange;
}

/** A scope with the filter of a query. */
export type Asked<Of extends Scope> = Of & {
  readonly filter: ScanFilter;
  readonly weekStart: WeekStart;
};

export type ScopeCall = Pick<Call<RangeQuery, undefined>, 'actor' | 'id' | 'query'> & {
  readonly calendar: Calendar;
};

interface Described {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
}

export interface AnalyticsResource<Of extends Scope, Found extends Analytics> {
  readonly tag: Tag;
  readonly failures: readonly FailureCode[];
  readonly rangeShape: ReturnType<typeof rangeShape>;
  /** @throws Failure not_found, validation_failed when the range is backwards */
  readonly scopeOf: (call: ScopeCall) => Of;
  /** Numbers of a label; of a resource that has routes. */
  readonly routesOf?: (scope: Of, label: string) => readonly number[];
  readonly totals: Described & {
    readonly description: string;
    readonly schema: z.ZodType;
    /** Of the CSV file, without its days. */
    readonly fileName: string;
    readonly find: (scope: Asked<Of>, actor: ScopeCall['actor']) => Promise<Found>;
    /** Further fields of the period of `compare`. */
    readonly ofPrevious?: (before: Asked<Of>) => Promise<object>;
    readonly rows: (found: Found) => readonly TotalsRow[];
  };
  readonly series: Described & { readonly description: string };
  readonly breakdown: Described & {
    /** Name of a route; of a resource that has routes. */
    readonly nameOf?: (scope: Of) => (route: number) => string;
    /** Of a resource that has several codes. */
    readonly groups?: (
      scope: Asked<Of>,
      by: GroupBreakdownBy,
      workspaceNo: WorkspaceNo,
    ) => Promise<BreakdownRow[]>;
  };
}

export interface AnalyticsServices {
  readonly scans: ScanQueries;
  readonly codes: Codes;
  readonly zoneOf: (workspaceNo: WorkspaceNo) => ZoneSettings | undefined;
  readonly clock: Clock;
}

/** Two periods whose scans are compared. */
interface Comparison<Of extends Scope> {
  readonly now: Asked<Of>;
  readonly before: Asked<Of>;
  /** Absent = both are whole. */
  readonly until?: Until;
}

type AskedCall = Pick<Call<RangeQuery & Question, undefined>, 'actor' | 'id' | 'query'>;

export function analyticsRoutes<Of extends Scope, Found extends Analytics>(
  services: AnalyticsServices,
  resource: AnalyticsResource<Of, Found>,
): Route[] {
  return [
    ...totalsRoutes(services, resource),
    ...seriesRoutes(services, resource),
    ...breakdownRoutes(services, resource),
  ];
}

/** The scope of a call, and its comparisons. @throws Failure not_found, validation_failed */
async function ask<Of extends Scope, Found extends Analytics>(
  { codes, zoneOf, clock }: AnalyticsServices,
  { scopeOf, routesOf }: AnalyticsResource<Of, Found>,
  { actor, id, query }: AskedCall,
) {
  const settings = zoneOf(actor.workspaceNo);
  const calendar = calendarFor(query.timezone, settings);
  const within = async (days: RangeQuery): Promise<Asked<Of>> => {
    const scope = scopeOf({ actor, id, query: days, calendar });
    const filter = filterOf(query, routesOf && ((label) => routesOf(scope, label)));
    const subject = await narrowed(scope.subject, actor.workspaceNo, query, codes);
    return { ...scope, subject, filter, weekStart: settings?.weekStart ?? 'mon' };
  };
  const scope = await within(query);
  const range = scope.shown ?? scope.range;
  const period = comparedDays(query.compare, range);
  const asked = { scope, timezone: calendar.zone };
  if (period === undefined) return { ...asked, comparisons: [] };
  const untils = untilsOf(range, period, clock.now());
  let before = await within({ from: period.fromDay, to: period.toDay });
  const { fromDay, toDay } = before.shown ?? before.range;
  if (fromDay > toDay) {
    // No day of the campaign's schedule is in the range: each requested day has zero scans.
    const days = { ...period, calendar };
    const noCodes = { codes: [], workspace: actor.workspaceNo };
    before = { ...before, subject: noCodes, range: days, shown: days };
  }
  const whole: Comparison<Of> = { now: scope, before };
  const comparisons = untils.map((until): Comparison<Of> => ({
    now: cutAt(scope, until.nowMs),
    before: cutAt(before, until.beforeMs),
    until,
  }));
  return { ...asked, comparisons: comparisons.length === 0 ? [whole] : comparisons };
}

const totalsOf = (
  { scans }: AnalyticsServices,
  { subject, range, filter }: Asked<Scope>,
): Promise<Analytics> => scans.analytics.totals(subject, range, filter);

/**
 * The fields of the first comparison whose numbers are available; undefined without a comparison.
 * @param totals of the whole range, if they are loaded
 * @param read returns the shown fields and the totals of the period before
 * @throws Failure validation_failed if no comparison is available; overloaded
 */
async function compare<Of extends Scope>(
  services: AnalyticsServices,
  comparisons: ReadonlyArray<Comparison<Of>>,
  totals: Analytics | undefined,
  read: (before: Asked<Of>) => Promise<readonly [shown: object, totals: Analytics]>,
) {
  const answer = async ({ now, before, until }: Comparison<Of>) => {
    const one = until === undefined ? totals : undefined;
    const { totalScans, uniqueScanners } = one ?? (await totalsOf(services, now));
    const [shown, other] = await read(before);
    const days = before.shown ?? before.range;
    return {
      totals: other,
      fields: {
        ...(until && formatUntil(days, until.nowMs)),
        previous: {
          ...formatRange(days),
          ...(until && formatUntil(days, until.beforeMs)),
          ...shown,
        },
        change: {
          totalScans: changeOf(totalScans, other.totalScans),
          uniqueScanners: changeOf(uniqueScanners, other.uniqueScanners),
        },
      },
    };
  };
  const last = comparisons.at(-1);
  for (const comparison of comparisons.slice(0, -1)) {
    const known = await undefinedWhereUnknown(answer(comparison));
    if (known !== undefined) return known;
  }
  return last && (await answer(last));
}

function totalsRoutes<Of extends Scope, Found extends Analytics>(
  services: AnalyticsServices,
  resource: AnalyticsResource<Of, Found>,
): Route[] {
  const { tag, failures, rangeShape: range } = resource;
  const { schema, fileName, find, ofPrevious, rows, ...described } = resource.totals;
  return tableRoutes({
    ...described,
    access: 'viewer',
    tag,
    query: z.object({ ...range, ...questionShape }),
    jsonOnly: [],
    answer: { status: 200, schema, what: 'The numbers' },
    files: csvAs(totalsColumns, ['totalScans', '', 42], ['device', 'ios', 20]),
    failures,
    handle: async (call, format) => {
      const { scope, comparisons, timezone } = await ask(services, resource, call);
      const found = await find(scope, call.actor);
      const compared = await compare(services, comparisons, found, async (before) => {
        const previous = await find(before, call.actor);
        return [{ ...previous, ...(await ofPrevious?.(before)) }, previous];
      });
      if (format === 'json') return jsonResult(200, { ...found, timezone, ...compared?.fields });
      const before = compared === undefined ? [] : previousRows(compared.totals);
      const shown = scope.shown ?? scope.range;
      return csvFile(fileName, shown, [totalsColumns, ...rows(found), ...before]);
    },
  });
}

function seriesRoutes<Of extends Scope, Found extends Analytics>(
  services: AnalyticsServices,
  resource: AnalyticsResource<Of, Found>,
): Route[] {
  const { tag, failures, rangeShape: range, series } = resource;
  return tableRoutes({
    ...series,
    access: 'viewer',
    tag,
    query: z.object({ ...range, interval, ...questionShape }),
    jsonOnly: ['compare'],
    answer: { status: 200, schema: timeseries, what: 'The points, oldest first' },
    files: csvAs(seriesColumns, ['2026-03-01T00:00:00.000Z', 42]),
    failures,
    handle: async (call, format) => {
      const { interval: length } = call.query;
      return await answerTable(services, resource, call, format, {
        named: { interval: length },
        columns: seriesColumns,
        rowsOf: async ({ subject, weekStart, filter, range: counted, shown = counted }) => {
          checkLength(shown, length);
          return await services.scans.analytics.series(subject, shown, length, {
            weekStart,
            filter,
          });
        },
        cells: ({ start, scans }) => [start, scans],
      });
    },
  });
}

function breakdownRoutes<Of extends Scope, Found extends Analytics>(
  services: AnalyticsServices,
  resource: AnalyticsResource<Of, Found>,
): Route[] {
  const { tag, failures, rangeShape: range } = resource;
  const { path, operationId, summary, nameOf } = resource.breakdown;
  const by = nameOf === undefined ? bySeveral : byOfCode;
  return tableRoutes({
    path,
    operationId,
    access: 'viewer',
    summary,
    tag,
    description: 'Scans by value. Cities and referrers beyond a day’s bound are `other`.',
    query: z.object({ ...range, by, ...questionShape }),
    jsonOnly: ['compare'],
    answer: { status: 200, schema: breakdown, what: 'The shares, most scans first' },
    files: csvAs(['country', 'scans'], ['DE', 30], ['AT', 12]),
    failures,
    handle: async (call, format) => {
      const wanted: AnyBreakdownBy = call.query.by;
      return await answerTable(services, resource, call, format, {
        named: { by: wanted },
        columns: [wanted, 'scans'],
        rowsOf: async (of) => await rowsBy(services, resource, of, wanted, call.actor.workspaceNo),
        cells: ({ key, scans }) => [key, scans],
      });
    },
  });
}

/** Rows of a range; JSON also has those of the period before. */
async function answerTable<Of extends Scope, Found extends Analytics, Row>(
  services: AnalyticsServices,
  resource: AnalyticsResource<Of, Found>,
  call: AskedCall,
  format: Format,
  table: {
    readonly named: Readonly<Record<string, string>>;
    readonly columns: readonly string[];
    readonly rowsOf: (scope: Asked<Of>) => Promise<readonly Row[]>;
    readonly cells: (row: Row) => Rows[number];
  },
): Promise<Result | StreamedResult> {
  const { scope, comparisons, timezone } = await ask(services, resource, call);
  const { named, columns, rowsOf, cells } = table;
  const data = await rowsOf(scope);
  const shown = scope.shown ?? scope.range;
  const [name = ''] = Object.values(named);
  if (format === 'csv') return csvFile(`scans-by-${name}`, shown, [columns, ...data.map(cells)]);
  const compared = await compare(services, comparisons, undefined, async (before) => [
    { ...named, data: await rowsOf(before) },
    await totalsOf(services, before),
  ]);
  return jsonResult(200, { ...named, ...formatRange(shown), data, timezone, ...compared?.fields });
}

async function rowsBy<Of extends Scope, Found extends Analytics>(
  { scans }: AnalyticsServices,
  { breakdown: { nameOf, groups } }: AnalyticsResource<Of, Found>,
  scope: Asked<Of>,
  by: AnyBreakdownBy,
  workspaceNo: WorkspaceNo,
): Promise<readonly BreakdownRow[]> {
  if (isOfGroups(by)) return (await groups?.(scope, by, workspaceNo)) ?? [];
  const { subject, range, weekStart, filter } = scope;
  const choice = { weekStart, filter, nameOf: nameOf?.(scope) };
  const rows = await scans.analytics.breakdown(subject, range, by, choice);
  if (by !== 'referer') return rows;
  return rows.map((row) => (row.key === '' ? { ...row, key: directReferer } : row));
}

const isOfGroups = (by: AnyBreakdownBy): by is GroupBreakdownBy =>
  groupBreakdowns.some((one) => one === by);

export const formatRange = ({ fromDay, toDay }: DayRange) => ({
  from: formatDay(Math.max(0, fromDay)),
  to: formatDay(Math.max(0, toDay)),
});

export function fileNameOf(what: string, range: DayRange): string {
  const { from, to } = formatRange(range);
  return `${what}-${from}-${to}`;
}

type Rows = Parameters<typeof csvText>[0];

const csvFile = (what: string, range: DayRange, rows: Rows): StreamedResult =>
  csvResult(fileNameOf(what, range), rows);

const csvAs = (...sample: Rows) => [{ format: 'csv', sample: csvText(sample) } as const];
