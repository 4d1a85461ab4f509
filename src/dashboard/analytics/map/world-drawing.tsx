/**
 * The drawn map. Loaded when a map is opened, with d3-geo and the atlas: nothing else needs them.
 *
 * Countries with scans are buttons: one stop of the Tab key, from which the arrow keys go on by rank, as the table
 * beside the map has them. A country too small for the atlas is a dot, drawn when it has scans.
 */
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
  const scans = useMemo(() => new Map(rows.map((row) => [row.key, row.scans])), [rows]);
  const drawn = useMemo(
    () => new Set([...world.lands, ...world.dots].map(({ key }) => key)),
    [world],
  );
  const ranked = rows.filter((row) => row.scans > 0 && drawn.has(row.key)).map(({ key }) => key);
  const [focused, setFocused] = useState<string | undefined>();
  const stop = focused !== undefined && ranked.includes(focused) ? focused : ranked[0];
  const total = sumOf(rows);
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
  const draw = (shape: Shape, kind: 'map-land' | 'map-dot') => {
    const { key } = shape;
    const count = key === undefined ? 0 : (scans.get(key) ?? 0);
    const look = { class: `${kind} ${stepClass(count, steps)}`, d: shape.path };
    if (key === undefined) return <path {...look} />;
    const text = tipText(key, count, total);
    const tip = { 'data-tip': text, 'data-at': shape.at.join(',') };
    if (count === 0) return <path key={key} {...look} {...tip} />;
    return (
      <path
        key={key}
        {...look}
        {...tip}
        {...(onSelect === undefined
          ? ({ role: 'img' } as const)
          : ({ role: 'button', 'aria-pressed': key === selected } as const))}
        data-key={key}
        aria-label={text}
        tabIndex={key === stop ? 0 : -1}
        onFocus={() => setFocused(key)}
        onClick={() => choose(key)}
      />
    );
  };
  const edgeClass = (key: string | undefined): string =>
    key === selected || key === focused ? 'map-dot-edge map-dot-marked' : 'map-dot-edge';
  const outline = (key: string | undefined, kind: string) =>
    world.lands
      .filter((land) => key !== undefined && land.key === key)
      .map(({ path }) => <path class={kind} d={path} aria-hidden="true" />);
  return (
    <Tips>
      <svg
        ref={element}
        class={`map${onSelect === undefined ? '' : ' map-clickable'}`}
        viewBox={world.viewBox}
        role="group"
        aria-label="Map of scans by country, the arrow keys go by rank"
        onKeyDown={press}
        onFocusOut={() => setFocused(undefined)}
      >
        {world.lands.map((shape) => draw(shape, 'map-land'))}
        {world.dots
          .filter(({ key }) => key !== undefined && scans.has(key))
          .flatMap((shape) => [
            <path class={edgeClass(shape.key)} d={shape.path} aria-hidden="true" />,
            draw(shape, 'map-dot'),
          ])}
        {outline(selected, 'map-selected')}
        {outline(focused, 'map-focused')}
      </svg>
    </Tips>
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
