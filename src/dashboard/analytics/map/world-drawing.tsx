/**
 * The drawn map. Loaded when a map is opened, with d3-geo and the atlas.
 *
 * Countries with scans are buttons: one stop in the Tab order; the arrow keys move by rank, as in the table next to the
 * map. A country too small for the atlas is a dot, drawn if it has scans.
 */
import { Fragment } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { countryName, formatPercent, plural } from '../../client/format.ts';
import { stepClass } from '../color-steps.ts';
import { type FilterProps, type Row, sumOf } from '../rows.ts';
import { Tips } from '../tips.tsx';
import { type Atlas, type Shape, worldOf } from './shapes.ts';

export interface DrawingProps extends FilterProps {
  readonly atlas: Atlas;
  /** Most scans first. */
  readonly rows: readonly Row[];
  readonly steps: readonly number[];
}

export function WorldDrawing({ atlas, rows, steps, selected, onSelect }: DrawingProps) {
  const world = useMemo(() => worldOf(atlas), [atlas]);
  const element = useRef<SVGSVGElement>(null);
  const [focused, setFocused] = useState<string | undefined>();
  const scans = new Map(rows.map((row) => [row.key, row.scans]));
  const total = sumOf(rows);
  const drawn = new Set([...world.lands, ...world.dots].map(({ key }) => key));
  const ranked = rows.filter((row) => row.scans > 0 && drawn.has(row.key)).map(({ key }) => key);
  const stop = focused !== undefined && ranked.includes(focused) ? focused : ranked[0];
  const choose = (key: string): void => onSelect?.(key === selected ? undefined : key);
  const press = (event: KeyboardEvent): void => {
    if (stop === undefined) return;
    const next = nextOf(event.key, ranked, stop);
    if (next !== undefined) {
      element.current?.querySelector<SVGElement>(`[data-key="${next}"]`)?.focus();
    } else if (event.key === 'Enter' || event.key === ' ') choose(stop);
    else return;
    event.preventDefault();
  };
  const countryOf = (shape: Shape) => ({
    shape,
    steps,
    total,
    scans: scans.get(shape.key ?? '') ?? 0,
    isStop: shape.key === stop,
    isSelected: shape.key === selected,
    onFocus: setFocused,
    onChoose: onSelect === undefined ? undefined : choose,
  });
  const isMarked = ({ key }: Shape): boolean =>
    key !== undefined && (key === selected || key === focused);
  return (
    <Tips>
      <svg
        ref={element}
        class="map"
        viewBox={world.viewBox}
        role="group"
        aria-label="Map of scans by country. Arrow keys move by rank"
        onKeyDown={press}
        onFocusOut={() => setFocused(undefined)}
      >
        {world.lands.map((land) => (
          <Country {...countryOf(land)} kind="land" />
        ))}
        {world.dots
          .filter(({ key }) => scans.has(key ?? ''))
          .map((dot) => (
            <Fragment key={dot.key}>
              <path class={`map-edge${isMarked(dot) ? ' map-marked' : ''}`} d={dot.path} />
              <Country {...countryOf(dot)} kind="dot" />
            </Fragment>
          ))}
        {world.lands.filter(isMarked).map(({ key, path }) => (
          <path class={key === focused ? 'map-outline map-focused' : 'map-outline'} d={path} />
        ))}
      </svg>
    </Tips>
  );
}

interface CountryProps {
  readonly shape: Shape;
  readonly kind: 'land' | 'dot';
  readonly scans: number;
  readonly total: number;
  readonly steps: readonly number[];
  readonly isStop: boolean;
  readonly isSelected: boolean;
  readonly onFocus: (key: string) => void;
  readonly onChoose: ((key: string) => void) | undefined;
}

/** A button if the country has scans to filter by. */
function Country(props: CountryProps) {
  const { shape, kind, scans, total, steps, isStop, isSelected, onFocus, onChoose } = props;
  const { key, path, at } = shape;
  const drawing = { class: `map-${kind} ${stepClass(scans, steps)}`, d: path };
  if (key === undefined) return <path {...drawing} />;
  const text = tipText(key, scans, total);
  const tip = { 'data-tip': text, 'data-at': at.join(',') };
  if (scans === 0) return <path {...drawing} {...tip} />;
  const role = onChoose === undefined ? 'img' : 'button';
  return (
    <path
      {...drawing}
      {...tip}
      role={role}
      aria-label={text}
      aria-pressed={onChoose === undefined ? undefined : isSelected}
      data-key={key}
      tabIndex={isStop ? 0 : -1}
      onFocus={() => onFocus(key)}
      onClick={() => onChoose?.(key)}
    />
  );
}

function tipText(key: string, scans: number, total: number): string {
  const name = countryName(key);
  return scans === 0
    ? `${name}: no scans`
    : `${name}: ${plural(scans, 'scan')}, ${formatPercent(scans / total)}`;
}

function nextOf(key: string, ranked: readonly string[], from: string): string | undefined {
  const at = ranked.indexOf(from);
  if (key === 'ArrowRight' || key === 'ArrowDown') return ranked[at + 1] ?? ranked[0];
  if (key === 'ArrowLeft' || key === 'ArrowUp') return ranked.at(at - 1);
  if (key === 'Home') return ranked[0];
  return key === 'End' ? ranked.at(-1) : undefined;
}
