/**
 * The cards of breakdowns, each with tabs of which one is loaded. Which tab is open stands in the address, under the
 * name of the card: `?technology=os`.
 */
import type { Dimension, FilterName } from './filters.ts';
import type { Subject } from './requests.ts';
import type { ViewState } from './view-state.ts';

/** The map shows the countries. */
export type Tab = Dimension | 'map';
export type GroupName = 'locations' | 'technology' | 'scanned';

export interface Group {
  readonly name: GroupName;
  readonly title: string;
  readonly tabs: readonly Tab[];
}

const locations: Group = {
  name: 'locations',
  title: 'Locations',
  tabs: ['country', 'city', 'map', 'referer'],
};
const technology: Group = {
  name: 'technology',
  title: 'Technology',
  tabs: ['device', 'os', 'browser'],
};
const routes: Group = { name: 'scanned', title: 'By route', tabs: ['route'] };
const scanned: Readonly<Record<Subject['kind'], Group | undefined>> = {
  workspace: { name: 'scanned', title: 'What was scanned', tabs: ['code', 'campaign', 'tag'] },
  campaign: { name: 'scanned', title: 'What was scanned', tabs: ['code'] },
  code: undefined,
};

/** What can be told apart. @param hasRoutes the code leads to more than its destination */
export function groupsOf(
  { kind }: Subject,
  { filters }: Pick<ViewState, 'filters'>,
  hasRoutes: boolean,
): readonly Group[] {
  const isOfCode = kind === 'code' || filters.code !== undefined;
  const last = isOfCode && hasRoutes ? routes : isOfCode ? undefined : scanned[kind];
  return [locations, technology, ...(last === undefined ? [] : [last])];
}

/** The open tab of a group. */
export const tabIn = (query: URLSearchParams, { name, tabs }: Group): Tab =>
  tabs.find((tab) => tab === query.get(name)) ?? tabs[0] ?? 'country';

export const dimensionOf = (tab: Tab): Dimension => (tab === 'map' ? 'country' : tab);

export const filtersOf: Readonly<Record<Subject['kind'], readonly FilterName[]>> = {
  workspace: [
    'country',
    'city',
    'device',
    'os',
    'browser',
    'referer',
    'tag',
    'campaign',
    'code',
    'route',
  ],
  campaign: ['country', 'city', 'device', 'os', 'browser', 'referer', 'code', 'route'],
  code: ['country', 'city', 'device', 'os', 'browser', 'referer', 'route'],
};
