/**
 * Scans over time, drawn by uPlot: an area or bars, the earlier period as a dashed line, a crosshair with the numbers,
 * colors of the theme. The running point is dotted, or a hatched bar. All points are one step apart, however long their
 * hours or months are.
 *
 * For screen readers it is a slider over its points: a label with the span, the sum and the highest point, and as its
 * value the point of the crosshair, which the arrow keys move.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { formatNumber, formatTick } from '../client/format.ts';
import { type Interval, labelsOf, type Point, ticksOf, tickOf } from '../client/point-labels.ts';
import { shownTheme } from '../client/theme.ts';

export interface ChartProps {
  readonly points: readonly Point[];
  readonly interval: Interval;
  readonly height: number;
  /** Index of the running point; later points are not drawn. */
  readonly running?: number | undefined;
  /** The earlier period, point by point. */
  readonly before?: readonly Point[];
  /** Flag texts, by the index of the point. */
  readonly flags?: Flags;
}

type Pair<T> = readonly [now: readonly T[], before: readonly T[]];
type Flags = ReadonlyMap<number, string>;

type Labels = (index: number) => readonly string[];

export function Chart(props: ChartProps) {
  const { points, interval, height, running, before = none, flags = noFlags } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [at, setAt] = useState<number | undefined>();
  const theme = shownTheme.value;
  const last = running ?? points.length - 1;
  const [label, labels] = useMemo(() => {
    const begun = points.slice(0, last + 1);
    const names = labelsOf(begun, interval, running);
    const then = labelsOf(before, interval);
    const texts = textsOf([begun, before], [names, then], flags);
    return [describe(begun, interval, names), texts] as const;
  }, [points, before, interval, running, flags]);
  // Before the page is painted, or printed.
  useLayoutEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const drawing = draw(current, { points, interval, height, running, before, flags }, labels);
    plot.current = drawing.plot;
    return drawing.stop;
  }, [points, interval, height, running, before, flags, theme]);
  useEffect(() => setAt(undefined), [points]);
  const move = (event: KeyboardEvent): void => {
    const next = nextOf(event.key, at ?? last, last);
    if (next === undefined || plot.current === undefined) return;
    event.preventDefault();
    setAt(next);
    plot.current.setCursor({ left: plot.current.valToPos(next, 'x'), top: 0 });
  };
  if (last < 0) return <div class="chart" role="img" aria-label={label} ref={place} />;
  return (
    <div
      class="chart"
      ref={place}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={at ?? last}
      aria-valuetext={labels(at ?? last).join('; ')}
      style={{ height: `${height}px` }}
      onKeyDown={move}
      onBlur={() => plot.current?.setCursor({ left: -10, top: -10 })}
    />
  );
}

const none: readonly Point[] = [];
const noFlags: Flags = new Map();

function nextOf(key: string, at: number, last: number): number | undefined {
  if (key === 'ArrowLeft' || key === 'ArrowDown') return Math.max(0, at - 1);
  if (key === 'ArrowRight' || key === 'ArrowUp') return Math.min(last, at + 1);
  if (key === 'Home') return 0;
  return key === 'End' ? last : undefined;
}

/** The texts of a point: its number, that of the earlier period, and its flag. */
function textsOf([points, before]: Pair<Point>, [now, then]: Pair<string>, flags: Flags): Labels {
  return (index) => {
    const [point, other, flag] = [points[index], before[index], flags.get(index)];
    return [
      ...(point === undefined ? [] : [`${now[index] ?? ''}: ${scansText(point)}`]),
      ...(other === undefined ? [] : [`Before, ${then[index] ?? ''}: ${scansText(other)}`]),
      ...(flag === undefined ? [] : [flag]),
    ];
  };
}

const scansText = ({ scans }: Point): string =>
  `${formatNumber(scans)} ${scans === 1 ? 'scan' : 'scans'}`;

type Drawn = ChartProps & Pick<Required<ChartProps>, 'before' | 'flags'>;

interface Drawing {
  readonly plot: uPlot;
  readonly stop: () => void;
}

/** Draws, and follows the element's width. */
function draw(place: HTMLElement, props: Drawn, labels: Labels): Drawing {
  const { points, before, height, running } = props;
  const whole = running ?? points.length;
  // The dashed end of a line begins at the previous point.
  const from = hasBars(props) ? whole : whole - 1;
  const data: uPlot.AlignedData = [
    points.map((_, index) => index),
    points.map((_, index) => before[index]?.scans ?? null),
    points.map(({ scans }, index) => (index < whole ? scans : null)),
    points.map(({ scans }, index) => (index >= from && index <= whole ? scans : null)),
  ];
  const plot = new uPlot(optionsOf(place, props, labels), data, place);
  const observer = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height }));
  observer.observe(place);
  return {
    plot,
    stop: () => {
      observer.disconnect();
      plot.destroy();
    },
  };
}

/** Least pixels between two texts of the axis. */
const tickSpace = 76;

function optionsOf(place: HTMLElement, props: Drawn, labels: Labels): uPlot.Options {
  const { points, interval, height, flags } = props;
  const style = getComputedStyle(place);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--soft'),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  const isBars = hasBars(props);
  const accent = color('--accent');
  const line = { stroke: accent, points: { show: false } };
  return {
    width: place.clientWidth,
    height,
    padding: [10, 24, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 8 }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: () => spanOf(points.length, isBars) },
      y: { range: (_plot, _low, high) => [0, Math.max(4, high * 1.1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        splits: ({ width }) => ticksOf(points, interval, Math.floor(width / tickSpace)),
        values: (_plot, places) => places.map((index) => tickText(points[index], interval)),
      },
      {
        ...axis,
        size: 44,
        gap: 8,
        space: 34,
        incrs: wholeSteps,
        values: (_plot, ticks) => ticks.map(formatTick),
      },
    ],
    series: [
      {},
      { stroke: color('--edge'), width: 2, dash: [5, 4], points: { show: false } },
      { ...line, ...(isBars ? bar(accent) : { fill: color('--accent-veil'), width: 2 }) },
      { ...line, ...(isBars ? bar(() => hatched(accent)) : { width: 2, dash: [3, 4] }) },
    ],
    plugins: [tooltip(labels), pennants(flags, color('--soft'))],
  };
}

/** Up to this many points are drawn as bars, which would hide a comparison line. */
const barsMax = 62;
const hasBars = ({ points, before }: Drawn): boolean =>
  points.length <= (before.length > 0 ? 1 : barsMax);

const bar = (fill: string | (() => CanvasPattern | string)) => ({
  paths: uPlot.paths.bars!({ size: [0.7, 40], radius: 0.15 }),
  fill,
  width: 0,
});

/** Pixels between two strokes of the running bar. */
const hatchStep = 6;

function hatched(color: string): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = hatchStep;
  tile.height = hatchStep;
  const context = tile.getContext('2d');
  if (context === null) return color;
  context.strokeStyle = color;
  context.lineWidth = 2;
  // Again at two corners, so that the strokes of adjacent tiles meet.
  for (const shift of [-hatchStep, 0, hatchStep]) {
    context.moveTo(shift, hatchStep);
    context.lineTo(shift + hatchStep, 0);
  }
  context.stroke();
  return context.createPattern(tile, 'repeat') ?? color;
}

const stepsMin = 7;

/** The shown range: all points, half a step around bars, and at least seven steps. */
function spanOf(count: number, isBars: boolean): [number, number] {
  const last = Math.max(0, count - 1);
  if (!isBars) return [0, last];
  const around = Math.max(1, stepsMin - last) / 2;
  return [-around, last + around];
}

const tickText = (point: Point | undefined, interval: Interval): string =>
  point === undefined ? '' : tickOf(point, interval);

/** Ascending, because uPlot uses the first that fits: 1, 2, 5, 10 … 5,000,000,000. */
const wholeSteps = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((power) =>
  [1, 2, 5].map((one) => one * 10 ** power),
);

/** Pixels between the crosshair and its numbers. */
const tipGap = 12;

/** Shows the numbers next to the crosshair, a line each; on a narrow chart, over it. */
function tooltip(labels: Labels): uPlot.Plugin {
  const box = document.createElement('div');
  box.className = 'chart-tip';
  box.hidden = true;
  return {
    hooks: {
      init: (plot) => plot.over.append(box),
      setCursor(plot) {
        const { idx, left = 0 } = plot.cursor;
        const lines = typeof idx === 'number' && left >= 0 ? labels(idx) : [];
        box.hidden = lines.length === 0;
        if (box.hidden) return;
        box.textContent = lines.join('\n');
        const { clientWidth: width } = plot.over;
        const beside = left > width / 2 ? left - tipGap - box.offsetWidth : left + tipGap;
        box.style.left = `${Math.max(0, Math.min(beside, width - box.offsetWidth))}px`;
      },
    },
  };
}

/** Draws each flag behind the numbers: a hairline over the height, a pennant of 9 × 6 pixels at its top. */
function pennants(flags: Flags, color: string): uPlot.Plugin {
  const drawAxes = (plot: uPlot): void => {
    const { ctx, bbox } = plot;
    const [unit, top] = [uPlot.pxRatio, bbox.top];
    ctx.fillStyle = color;
    for (const index of flags.keys()) {
      const left = Math.round(plot.valToPos(index, 'x', true));
      ctx.fillRect(left, top, unit, bbox.height);
      ctx.fillRect(left, top, 9 * unit, 6 * unit);
    }
  };
  return { hooks: { drawAxes } };
}

const intervalNames: Readonly<Record<Interval, string>> = {
  quarter_hour: 'quarter of an hour',
  hour: 'hour',
  day: 'day',
  week: 'week',
  month: 'month',
};

function describe(points: readonly Point[], interval: Interval, labels: readonly string[]): string {
  const [first] = labels;
  if (first === undefined) return 'No scans';
  const scans = points.map((point) => point.scans);
  const sum = scans.reduce((total, count) => total + count, 0);
  const most = Math.max(...scans);
  const top =
    sum === 0 ? '' : `, most at ${labels[scans.indexOf(most)] ?? ''}: ${formatNumber(most)}`;
  const span = `from ${first} to ${labels.at(-1) ?? ''}`;
  return `Scans by ${intervalNames[interval]} ${span}: ${formatNumber(sum)} in total${top}`;
}
