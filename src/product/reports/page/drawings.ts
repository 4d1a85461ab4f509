/**
 * Charts as markup: columns over time, and lists with bars. Vectors without text stretch to the available space; labels are
 * HTML, which stays readable on a phone. Each column has a tooltip; screen readers get a sentence, and a table if there is one.
 */
import { escapeHtml } from '../../../model/text.ts';
import { numberText, percentText, type Share } from '../labels.ts';

export interface Column {
  /** In full: what it is the number of. */
  readonly label: string;
  /** Below the axis. */
  readonly short?: string;
  readonly scans: number;
  /** Its time is not over: hatched. */
  readonly isSoFar?: boolean;
}

/** Space is left for as many: the bar of a single day stays narrow. */
const columnsMin = 7;
/** Labels below the axis. */
const ticksMax = 5;
/** Units of the drawing: a column's place, its height, the gap between two. */
const columnWidth = 10;
const height = 100;
const gap = 2;
/** From one line of a hatched column to the next. */
const hatch = 5;

/**
 * @param size `low` where the chart shares its row
 * @param ticks labels of the axis from edge to edge; absent = those of some columns
 */
export function columnChart(
  columns: readonly Column[],
  description: string,
  size: 'high' | 'low',
  ticks?: readonly string[],
): string {
  const top = roundUp(Math.max(...columns.map(({ scans }) => scans), 0));
  const count = Math.max(columns.length, columnsMin);
  const width = count * columnWidth;
  const drawn = columns.map(({ label, scans, isSoFar = false }, at) => {
    const tall = round((scans / top) * height);
    const x = at * columnWidth;
    const bar = scans === 0 ? '' : (isSoFar ? hatchedBar : filledBar)(x + gap / 2, tall);
    const title = `<title>${escapeHtml(`${label}: ${numberText(scans)}`)}</title>`;
    return `<g>${title}<rect class="hit" x="${x}" width="${columnWidth}" height="${height}"/>${bar}</g>`;
  });
  const marks = [top, top / 2, 0].map((mark) => `<span>${numberText(mark)}</span>`);
  const shown = ticks ?? tickPlaces(count).map((at) => columns[at]?.short ?? '');
  const labels = shown.map((tick) => `<span>${escapeHtml(tick)}</span>`);
  return (
    `<div class="chart ${size}"><div class="ys" aria-hidden="true">${marks.join('')}</div>` +
    `<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${escapeHtml(description)}">` +
    `<path class="lines" d="M0 0H${width}M0 ${height / 2}H${width}M0 ${height}H${width}"/>${drawn.join('')}</svg>` +
    `<div class="xs" aria-hidden="true">${labels.join('')}</div></div>`
  );
}

const barWidth = columnWidth - gap;
const filledBar = (x: number, tall: number): string =>
  `<rect class="bar" x="${x}" y="${round(height - tall)}" width="${barWidth}" height="${tall}"/>`;

/** An outline, and lines that rise across it. */
function hatchedBar(x: number, tall: number): string {
  const lines = Array.from({ length: Math.floor(tall / hatch) }, (_, at) => {
    return `M${x} ${height - at * hatch}l${barWidth} ${-hatch}`;
  });
  return `<path class="hatch" d="M${x} ${height}v${-tall}h${barWidth}v${tall}z${lines.join('')}"/>`;
}

/** The top of the axis: a round number with a whole half, at most a fifth above `most`. */
function roundUp(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  const step = Math.max(2, power / 5);
  return Math.max(4, Math.ceil(most / step) * step);
}

/** The first, the last, and some between: as far from each other where that is possible. */
function tickPlaces(count: number): number[] {
  const ticks = [5, 4, 3].find((some) => (count - 1) % (some - 1) === 0) ?? ticksMax;
  return Array.from({ length: ticks }, (_, at) => Math.round((at * (count - 1)) / (ticks - 1)));
}

/** A list of shares, each with a bar below its name; a share without a name has no bar. */
export function barList(shares: readonly Share[], other: number, total: number): string {
  if (total === 0) return '<p class="soft">No scans in these days</p>';
  const most = Math.max(...shares.map(({ scans }) => scans));
  const rows = shares.map(
    ({ label, scans }) => `<li>${row(label, scans, total)}${barOf(scans / most)}</li>`,
  );
  const rest = other > 0 ? `<li class="soft">${row('Other', other, total)}</li>` : '';
  return `<ol class="bars">${rows.join('')}${rest}</ol>`;
}

const row = (label: string, scans: number, total: number): string =>
  `<span dir="auto">${escapeHtml(label)}</span><span class="number">${numberText(scans)}</span>` +
  `<span class="number soft">${percentText(scans / total)}</span>`;

/** The longest has the whole width. */
const barOf = (share: number): string =>
  '<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">' +
  `<rect class="bar" width="${round(share * 100)}" height="1"/></svg>`;

const round = (value: number): number => Math.round(value * 100) / 100;
