/**
 * Drawings of numbers as markup: columns over time, and lists whose rows are bars. Vectors without text, stretched to
 * the space there is, with labels in HTML beside them, which stay readable on a phone. Each column names itself on hover;
 * for screen readers a chart has a sentence, and a table where there is one.
 */
import { escapeHtml } from '../../model/text.ts';
import { numberText, percentText, type Share } from '../labels.ts';

export interface Column {
  /** In full: what it is the number of. */
  readonly label: string;
  /** Below the axis. */
  readonly short: string;
  readonly scans: number;
}

/** Space is left for as many: a day alone is no wall. */
const columnsMin = 7;
/** Labels below the axis. */
const ticksMax = 5;
/** Units of the drawing: a column's place, its height, the gap between two. */
const columnWidth = 10;
const height = 100;
const gap = 2;

/** @param size `low`: beside other parts */
export function columnChart(
  columns: readonly Column[],
  description: string,
  size: 'high' | 'low',
): string {
  const top = roundUp(Math.max(...columns.map(({ scans }) => scans), 0));
  const count = Math.max(columns.length, columnsMin);
  const width = count * columnWidth;
  const drawn = columns.map(({ label, scans }, at) => {
    const tall = round((scans / top) * height);
    const x = at * columnWidth;
    const bar =
      scans === 0
        ? ''
        : `<rect class="bar" x="${x + gap / 2}" y="${round(height - tall)}" width="${columnWidth - gap}" height="${tall}"/>`;
    const title = `<title>${escapeHtml(`${label}: ${numberText(scans)}`)}</title>`;
    return `<g>${title}<rect class="hit" x="${x}" width="${columnWidth}" height="${height}"/>${bar}</g>`;
  });
  const marks = [top, top / 2, 0].map((mark) => `<span>${numberText(mark)}</span>`);
  const ticks = tickPlaces(count).map(
    (at) => `<span>${escapeHtml(columns[at]?.short ?? '')}</span>`,
  );
  return (
    `<div class="chart ${size}"><div class="ys" aria-hidden="true">${marks.join('')}</div>` +
    `<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${escapeHtml(description)}">` +
    `<path class="lines" d="M0 0H${width}M0 ${height / 2}H${width}M0 ${height}H${width}"/>${drawn.join('')}</svg>` +
    `<div class="xs" aria-hidden="true">${ticks.join('')}</div></div>`
  );
}

/** A number a little above, or the same, whose half is as round. */
function roundUp(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  const found = [1, 2, 3, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= most);
  return Math.max(4, found ?? most);
}

/** The first, the last, and some between. */
function tickPlaces(count: number): number[] {
  const ticks = Math.min(ticksMax, count);
  if (ticks < 2) return [0];
  return Array.from({ length: ticks }, (_, at) => Math.round((at * (count - 1)) / (ticks - 1)));
}

/** A list of shares, each with a bar below its name; what has no name of its own has no bar. */
export function barList(shares: readonly Share[], other: number, total: number): string {
  if (total === 0) return '<p class="soft">No scans in these days</p>';
  const rows = shares.map(
    ({ label, scans }) => `<li>${row(label, scans, total)}${barOf(scans / total)}</li>`,
  );
  const rest = other > 0 ? `<li class="soft">${row('Other', other, total)}</li>` : '';
  return `<ol class="bars">${rows.join('')}${rest}</ol>`;
}

const row = (label: string, scans: number, total: number): string =>
  `<span dir="auto">${escapeHtml(label)}</span><span class="number">${numberText(scans)}</span>` +
  `<span class="number soft">${percentText(scans / total)}</span>`;

/** Its whole width is all scans. */
const barOf = (share: number): string =>
  '<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">' +
  `<rect class="bar" width="${round(share * 100)}" height="1"/></svg>`;

const round = (value: number): number => Math.round(value * 100) / 100;
