/**
 * Loads the data of an analytics page, in reading order:
 *
 *   totals, series  ->  one breakdown for each card, as its open tab says  ->  hours of the week
 *
 * With filters, all at once: the service then reads single scans, and one pass answers all requests. The previous
 * answer stays until the new one arrives; outdated requests are canceled.
 */
import { useRef } from 'preact/hooks';
import { now } from '../../client/browser-clock.ts';
import { type Resource, useResource } from '../../client/resource.ts';
import { currentQuery } from '../../client/router.ts';
import { zoneOfWorkspace } from '../../client/session.ts';
import type { Breakdown, Series, Totals } from '../state/answers.ts';
import { dayIn } from '../state/days.ts';
import {
  dimensionOf,
  filtersOf,
  type Group,
  type GroupName,
  groupsOf,
  type Tab,
  tabIn,
} from '../state/groups.ts';
import type { Days } from '../state/ranges.ts';
import { breakdownPath, seriesPath, type Subject, totalsPath } from '../state/requests.ts';
import {
  readState,
  type ViewBounds,
  type ViewState,
  workspaceZone,
  zoneIn,
} from '../state/view-state.ts';
import { isAboutQuery } from './query-faults.ts';

export interface View {
  readonly subject: Subject;
  readonly bounds: ViewBounds;
  readonly state: ViewState;
  /** IANA name of the zone of the days. */
  readonly zone: string;
}

export interface ShownGroup extends Group {
  readonly tab: Tab;
  readonly path: string;
  readonly rows: Resource<Breakdown>;
}

export interface Loaded<T extends Totals = Totals> {
  readonly totals: Resource<T>;
  readonly series: Resource<Series>;
  readonly groups: readonly ShownGroup[];
  readonly hours: Resource<Breakdown>;
}

interface ViewOptions {
  readonly subject: Subject;
  /** First and last day with data; a function of today. */
  readonly wholeOf?: (today: string, zone: string) => Days;
  readonly standard?: ViewBounds['standard'];
}

const thirtyDays = { preset: '30d' } as const;

/** The state in the address. */
export function useView({ subject, wholeOf, standard = thirtyDays }: ViewOptions): View {
  const query = currentQuery.value;
  const named = zoneIn(query);
  const zone = named === workspaceZone ? zoneOfWorkspace() : named;
  const today = dayIn(zone, now());
  const whole = wholeOf?.(today, zone);
  const bounds = { today, whole, standard, filters: filtersOf[subject.kind] };
  const state = readState(query, bounds);
  return { subject, bounds, state, zone };
}

/** @param hasRoutes the code has more than one destination */
export function useAnalytics<T extends Totals>(view: View, hasRoutes: boolean): Loaded<T> {
  const { subject, state } = view;
  const isAtOnce = Object.keys(state.filters).length > 0;
  const totals = useResource<T>(totalsPath(subject, state));
  const series = useResource<Series>(seriesPath(subject, state));
  const isFirst = isSettled(totals) && isSettled(series);
  const mayLoad = !isAboutQuery(totals.problem) && (isAtOnce || isFirst);
  const groups = groupsOf(subject, state, hasRoutes);
  const pathOf = (name: GroupName): string | undefined => {
    const group = groups.find((one) => one.name === name);
    if (group === undefined) return undefined;
    return breakdownPath(subject, state, dimensionOf(tabIn(currentQuery.value, group)));
  };
  const locations = useLater<Breakdown>(pathOf('locations'), mayLoad);
  const technology = useLater<Breakdown>(pathOf('technology'), mayLoad);
  const scanned = useLater<Breakdown>(pathOf('scanned'), mayLoad);
  const isLast = mayLoad && (isAtOnce || (isSettled(locations) && isSettled(technology)));
  const hours = useLater<Breakdown>(breakdownPath(subject, state, 'hour_of_week'), isLast);
  const rows = { locations, technology, scanned };
  return {
    totals,
    series,
    hours,
    groups: groups.map((group) => ({
      ...group,
      tab: tabIn(currentQuery.value, group),
      path: pathOf(group.name) ?? '',
      rows: rows[group.name],
    })),
  };
}

/** Loads `path` once it `mayLoad`; until then the previous answer stays, marked as of another query. */
function useLater<T>(path: string | undefined, mayLoad: boolean): Resource<T> {
  const asked = useRef<string | undefined>(undefined);
  if (mayLoad || path === undefined) asked.current = path;
  const resource = useResource<T>(asked.current);
  if (asked.current === path) return resource;
  return { ...resource, isStale: resource.data !== undefined, problem: undefined };
}

/** An answer or a problem has arrived. */
const isSettled = ({ data, isStale, problem }: Resource<unknown>): boolean =>
  problem !== undefined || (data !== undefined && !isStale);
