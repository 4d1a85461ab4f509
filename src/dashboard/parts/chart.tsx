/**
 * Scans over time, drawn by uPlot: an area, a crosshair with the numbers, colours of the theme. For screen
 * readers, a label with its span, its sum and its highest point.
 */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { formatMoment, formatNumber, formatTick, formatUtcDay } from '../client/format.ts';
import { shownTheme } from '../client/theme.ts';

export interface ChartPoint {
  readonly start: string;
  readonly scans: number;
}

export interface ChartProps {
  readonly points: readonly ChartPoint[];
  readonly interval: 'hour' | 'day';
  readonly height: number;
}

export function Chart({ points, interval, height }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const theme = shownTheme.value;
  useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    return draw(current, points, interval, height);
  }, [points, interval, height, theme]);
  return (
    <div
      class="chart"
      ref={place}
      role="img"
      aria-label={describe(points, interval)}
      style={{ height: `${height}px` }}
    />
  );
}

/** Draws, and follows the element's width. @returns a function that stops it */
function draw(
  place: HTMLElement,
  points: readonly ChartPoint[],
  interval: 'hour' | 'day',
  height: number,
): () => void {
  const x = points.map(secondsOf);
  const y = points.map(({ scans }) => scans);
  const plot = new uPlot(optionsOf(place, points, interval, height), [x, y], place);
  const observer = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height }));
  observer.observe(place);
  return () => {
    observer.disconnect();
    plot.destroy();
  };
}

function optionsOf(
  place: HTMLElement,
  points: readonly ChartPoint[],
  interval: 'hour' | 'day',
  height: number,
): uPlot.Options {
  const style = getComputedStyle(place);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--soft'),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: place.clientWidth,
    height,
    padding: [10, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 8 }, drag: { x: false, y: false } },
    // Days are UTC days; hours are shown in the user's time zone.
    ...(interval === 'day'
      ? { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') }
      : {}),
    scales: {
      x: { range: () => spanOf(points, interval) },
      y: { range: (_plot, _low, high) => [0, Math.max(4, high * 1.1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 76,
        size: 28,
        incrs: timeSteps,
        values: (_plot, ticks) => ticks.map((seconds) => tickText(seconds, interval)),
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
      {
        stroke: color('--accent'),
        points: { show: false },
        ...(points.length <= barsMax && bars !== undefined
          ? {
              paths: bars({ size: [0.7, 40], radius: 0.15 }),
              fill: color('--accent'),
              width: 0,
            }
          : { fill: color('--accent-veil'), width: 2 }),
      },
    ],
    plugins: [tooltip(interval)],
  };
}

/** Up to this many points are drawn as bars: a line needs more than one day. */
const barsMax = 62;
const { bars } = uPlot.paths;
/** Seconds between two points. */
const stepOf = { hour: 3_600, day: 86_400 } as const;
const stepsMin = 7;

/** The seconds shown: all points with half a step around them, and at least seven steps. */
function spanOf(points: readonly ChartPoint[], interval: 'hour' | 'day'): [number, number] {
  const step = stepOf[interval];
  const first = secondsOf(points[0]);
  const last = secondsOf(points.at(-1));
  const around = Math.max(step, stepsMin * step - (last - first)) / 2;
  return [first - around, last + around];
}

const secondsOf = (point: ChartPoint | undefined): number =>
  point === undefined ? 0 : new Date(point.start).getTime() / 1_000;

/** Seconds: hours that divide a day, then days, weeks and months of days. */
const timeSteps = [
  ...[1, 3, 6, 12].map((hours) => hours * 3_600),
  ...[1, 2, 3, 4, 7, 14, 30, 90, 180].map((days) => days * 86_400),
];

const dayTicks = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
});
const hourTicks = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

const tickText = (seconds: number, interval: 'hour' | 'day'): string =>
  (interval === 'day' ? dayTicks : hourTicks).format(new Date(seconds * 1_000));

/** Rising, because uPlot takes the first that fits: 1, 2, 5, 10 … 5,000,000,000. */
const wholeSteps = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((power) =>
  [1, 2, 5].map((one) => one * 10 ** power),
);

const labelOf = (start: string, interval: 'hour' | 'day'): string =>
  interval === 'day' ? formatUtcDay(start.slice(0, 10)) : formatMoment(start);

/** Shows the numbers beside the crosshair. */
function tooltip(interval: 'hour' | 'day'): uPlot.Plugin {
  const box = document.createElement('div');
  box.className = 'chart-tip';
  box.hidden = true;
  return {
    hooks: {
      init: (plot) => plot.over.append(box),
      setCursor(plot) {
        const { idx, left = 0 } = plot.cursor;
        const seconds = typeof idx === 'number' ? plot.data[0][idx] : undefined;
        const scans = typeof idx === 'number' ? plot.data[1]?.[idx] : undefined;
        box.hidden = seconds === undefined || typeof scans !== 'number' || left < 0;
        if (box.hidden || seconds === undefined || typeof scans !== 'number') return;
        const start = new Date(seconds * 1_000).toISOString();
        box.textContent = `${labelOf(start, interval)}: ${formatNumber(scans)}`;
        const isRight = left > plot.over.clientWidth / 2;
        box.style.left = isRight ? '' : `${left + 12}px`;
        box.style.right = isRight ? `${plot.over.clientWidth - left + 12}px` : '';
      },
    },
  };
}

function describe(points: readonly ChartPoint[], interval: 'hour' | 'day'): string {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) return 'No scans';
  const sum = points.reduce((total, { scans }) => total + scans, 0);
  const highest = points.reduce((best, point) => (point.scans > best.scans ? point : best), first);
  const top =
    sum === 0
      ? ''
      : `, most at ${labelOf(highest.start, interval)}: ${formatNumber(highest.scans)}`;
  return `Scans by ${interval} from ${labelOf(first.start, interval)} to ${labelOf(last.start, interval)}: ${formatNumber(sum)} in all${top}`;
}
