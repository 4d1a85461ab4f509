/** A breakdown with tabs for others. A click on a row filters the page by it, another one takes that back. */
import type { Resource } from '../../client/resource.ts';
import { pushQuery, setQuery } from '../../client/router.ts';
import { Tabs } from '../../parts/list.tsx';
import { Card, Ready } from '../../parts/page.tsx';
import { BarList } from '../bar-list.tsx';
import type { Breakdown, Row } from '../state/answers.ts';
import { type Dimension, dimensionLabels, isFilter, keyLabel } from '../state/filters.ts';
import { dimensionOf, type Tab } from '../state/groups.ts';
import { filterChange, type ViewState } from '../state/view-state.ts';
import { WorldMap } from '../world-map.tsx';
import type { ShownGroup, View } from './use-analytics.ts';

const tabLabel = (tab: Tab): string => (tab === 'map' ? 'Map' : dimensionLabels[tab]);

interface GroupProps {
  readonly view: View;
  readonly group: ShownGroup;
}

export function GroupCard({ view, group }: GroupProps) {
  const { name, title, tabs, tab, rows, path, rowsMax } = group;
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
      <Rows key={tab} view={view} tab={tab} rows={rows} path={path} expected={rowsMax} />
    </Card>
  );
}

interface RowsProps {
  readonly view: View;
  readonly tab: Tab;
  readonly rows: Resource<Breakdown>;
  /** Of the request. */
  readonly path: string;
  readonly expected: number;
}

function Rows({ view: { state, bounds }, tab, rows, path, expected }: RowsProps) {
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
    expected,
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

/** Nothing is filtered by what the page has no filter for. */
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
