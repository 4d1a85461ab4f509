/**
 * The cards of breakdowns. Each has tabs; only the open one is loaded. The address has the open tab, under the name of
 * the card: `?technology=os`.
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
  /** Most rows at first: the card keeps their space. */
  readonly rowsMax: number;
}

const locations: Group = {
  name: 'locations',
  title: 'Locations',
  tabs: ['country', 'map', 'city', 'referer'],
  rowsMax: 10,
};
const technology: Group = {
  name: 'technology',
  title: 'Technology',
  tabs: ['device', 'os', 'browser', 'bot'],
  rowsMax: 6,
};
/** Bots are not scans, so filters do not apply to them. */
const filteredTechnology: Group = { ...technology, tabs: ['device', 'os', 'browser'] };
const routes: Group = { name: 'scanned', title: 'By route', tabs: ['route'], rowsMax: 10 };
const scanned: Group = { ...routes, title: 'What was scanned', tabs: ['code', 'campaign', 'tag'] };
const scannedOfCampaign: Group = { ...scanned, tabs: ['code', 'tag'] };

/** The cards of a subject. @param hasRoutes the code has more than one destination */
export function groupsOf(
  { kind }: Subject,
  { filters }: Pick<ViewState, 'filters'>,
  hasRoutes: boolean,
): readonly Group[] {
  const isFiltered = Object.keys(filters).length > 0;
  const last = isFiltered ? filteredTechnology : technology;
  if (kind === 'workspace') return [locations, scanned, last];
  if (kind === 'campaign') return [locations, scannedOfCampaign, last];
  return hasRoutes ? [locations, last, routes] : [locations, last];
}

/** The open tab of a group. */
export const tabIn = (query: URLSearchParams, { name, tabs }: Group): Tab =>
  tabs.find((tab) => tab === query.get(name)) ?? tabs[0] ?? 'country';

export const dimensionOf = (tab: Tab): Dimension => (tab === 'map' ? 'country' : tab);

const ofScans = ['country', 'city', 'device', 'os', 'browser', 'referer'] as const;

export const filtersOf: Readonly<Record<Subject['kind'], readonly FilterName[]>> = {
  workspace: [...ofScans, 'tag', 'campaign', 'code'],
  campaign: [...ofScans, 'tag', 'code'],
  code: [...ofScans, 'route'],
};
