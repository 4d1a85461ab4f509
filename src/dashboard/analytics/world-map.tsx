/**
 * Scans by country: a map, and a table with every country for people who cannot see the colors. The table appears at
 * once. The map loads when it is first shown; if it cannot load, the table has the same numbers.
 */
import { useEffect, useState } from 'preact/hooks';
import { countryName, formatNumber, formatPercent } from '../client/format.ts';
import { Icon } from '../parts/icon.tsx';
import { Empty } from '../parts/notice.tsx';
import { Skeleton } from '../parts/page.tsx';
import { Table } from '../parts/table.tsx';
import { ColorLegend } from './color-legend.tsx';
import { stepsOf } from './color-steps.ts';
import { type FilterProps, type Row, sumOf } from './rows.ts';

interface MapProps extends FilterProps {
  /** By country, `DE`; undefined while they load. */
  readonly rows: readonly Row[] | undefined;
}

/** Height of the card's content while it loads. */
const placeHeight = 420;

export function WorldMap({ rows, selected, onSelect }: MapProps) {
  if (rows === undefined) return <Skeleton height={placeHeight} />;
  if (sumOf(rows) === 0) return <Empty icon="scan" title="No scans in this period" />;
  const ranked = rows.toSorted((a, b) => b.scans - a.scans);
  const most = ranked[0]?.scans ?? 0;
  const steps = stepsOf(most, 'rising');
  return (
    <div class="world">
      <div class="world-map">
        <LazyDrawing rows={ranked} steps={steps} selected={selected} onSelect={onSelect} />
        <ColorLegend steps={steps} most={most} />
      </div>
      <Countries rows={ranked} selected={selected} onSelect={onSelect} />
    </div>
  );
}

type Loaded = Awaited<ReturnType<typeof loadParts>>;
let loaded: Loaded | undefined;

/** Loads the code and the atlas at the same time. */
async function loadParts() {
  const [{ WorldDrawing }, { default: atlas }] = await Promise.all([
    import('./map/world-drawing.tsx'),
    import('world-atlas/countries-110m.json'),
  ]);
  return { WorldDrawing, atlas };
}

async function load(): Promise<Loaded | 'failed'> {
  try {
    return (loaded ??= await loadParts());
  } catch {
    return 'failed';
  }
}

interface LazyProps extends FilterProps {
  readonly rows: readonly Row[];
  readonly steps: readonly number[];
}

function LazyDrawing(props: LazyProps) {
  const [drawing, setDrawing] = useState<Loaded | 'failed' | undefined>(loaded);
  useEffect(() => {
    if (loaded === undefined) void load().then(setDrawing);
  }, []);
  if (drawing === 'failed') {
    return <p class="map-place soft">Cannot load the map. The table has the same numbers.</p>;
  }
  if (drawing === undefined) return <div class="map-place skeleton-block" aria-hidden="true" />;
  return <drawing.WorldDrawing {...props} atlas={drawing.atlas} />;
}

function Countries({ rows, selected, onSelect }: FilterProps & { readonly rows: readonly Row[] }) {
  const total = sumOf(rows);
  // A keyboard user scrolls by the buttons, or by the container.
  const scroller =
    onSelect === undefined
      ? ({ tabIndex: 0, role: 'group', 'aria-label': 'Countries' } as const)
      : {};
  return (
    <div class="world-table" {...scroller}>
      <Table caption="Scans by country" columns={['Country', { end: 'Scans' }, { end: 'Share' }]}>
        {rows.map(({ key, scans }) => (
          <tr key={key} class={key === selected ? 'row-selected' : undefined}>
            <th scope="row">
              <CountryName of={key} selected={selected} onSelect={onSelect} />
            </th>
            <td class="number">{formatNumber(scans)}</td>
            <td class="number">{formatPercent(scans / total)}</td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

/** Scans from unknown countries, and the sum of countries beyond those that the service keeps. */
const unnamed: ReadonlySet<string> = new Set(['', 'ZZ', 'other']);

function CountryName({ of, selected, onSelect }: FilterProps & { readonly of: string }) {
  const name = of === 'other' ? 'Other' : countryName(of);
  if (onSelect === undefined || unnamed.has(of)) return <span>{name}</span>;
  const isSelected = of === selected;
  return (
    <button
      type="button"
      class="row-button"
      aria-pressed={isSelected}
      title={isSelected ? 'Remove this filter' : undefined}
      onClick={() => onSelect(isSelected ? undefined : of)}
    >
      {isSelected && <Icon name="close" size={14} />}
      {name}
    </button>
  );
}
