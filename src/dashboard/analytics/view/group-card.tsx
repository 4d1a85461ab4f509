/** Breakdowns as tabs of a card. A click on a row filters the page by it; a second click removes the filter. */
import { pushQuery, setQuery } from '../../client/router.ts';
import { Tabs } from '../../parts/list.tsx';
import { Card, Ready } from '../../parts/page.tsx';
import { BarList } from '../bar-list.tsx';
import type { Row } from '../state/answers.ts';
import { type Dimension, dimensionLabels, isFilter, keyLabel } from '../state/filters.ts';
import { dimensionOf, type Tab } from '../state/groups.ts';
import { filterChange, type ViewState } from '../state/view-state.ts';
import { WorldMap } from '../world-map.tsx';
import type { ShownGroup, View } from './use-analytics.ts';

const tabLabel = (tab: Tab): string => (tab === 'map' ? 'Map' : dimensionLabels[tab]);

interface GroupProps {
  readonly view: View;
  readonly group: ShownGroup;
  /** The total for the shares. */
  readonly scans: number | undefined;
}

export function GroupCard({ view, group, scans }: GroupProps) {
  const { name, title, tabs, tab } = group;
  return (
    <Card
      {...(tab === 'map' ? { class: 'card-wide' } : {})}
      title={title}
      actions={
        tabs.length > 1 && (
          <Tabs
            label={title}
            value={tab}
            tabs={tabs.map((value) => ({ value, label: tabLabel(value) }))}
            onChange={(value) => setQuery({ [name]: value === tabs[0] ? undefined : value })}
          />
        )
      }
    >
      <Rows key={tab} view={view} group={group} scans={scans} />
    </Card>
  );
}

/** A scan counts for each tag and campaign of its code; scans of a deleted code count for none. */
const ofAllScans: ReadonlySet<Dimension> = new Set(['code', 'campaign', 'tag']);

function Rows({ view: { state, bounds }, group, scans }: GroupProps) {
  const { tab, rows, path, rowsMax } = group;
  const dimension = dimensionOf(tab);
  const filter = filterOf(dimension, state, bounds.filters);
  if (tab === 'map') {
    const whole = { rows: undefined, ...filter };
    return (
      <Ready of={rows} skeleton={<WorldMap {...whole} />}>
        {({ data }) => <WorldMap rows={data} {...filter} />}
      </Ready>
    );
  }
  const list = {
    name: dimensionLabels[dimension],
    csv: { path, fileName: `scans-by-${dimension}.csv` },
    expected: rowsMax,
    of: ofAllScans.has(dimension) ? scans : undefined,
    emptyText: dimension === 'bot' ? 'No bots in this period' : 'No scans in this period',
    ...filter,
  };
  const labelOf = labeller(dimension, rows.data?.data ?? []);
  return (
    <Ready of={rows} skeleton={<BarList rows={undefined} labelOf={labelOf} {...list} />}>
      {({ data }) => <BarList rows={data} labelOf={labelOf} {...list} />}
    </Ready>
  );
}

/** Rows filter only if the page has a filter for the dimension. */
function filterOf(dimension: Dimension, { filters }: ViewState, names: readonly string[]) {
  if (!isFilter(dimension) || !names.includes(dimension)) return {};
  return {
    selected: filters[dimension],
    onSelect: (key: string | undefined) => pushQuery(filterChange(dimension, key)),
  };
}

function labeller(dimension: Dimension, rows: readonly Row[]): (key: string) => string {
  const names = new Map(rows.map(({ key, name }) => [key, name]));
  return (key) => names.get(key) ?? keyLabel(dimension, key);
}
