/**
 * The comparison of redirects as a chart for README: a bar for each contestant, the CPU of a redirect in µs.
 *
 *   name  ████████████▒▒▒▒▒▒  13.0 + 4.2 µs      the thread that redirects, and lighter all the others
 *
 * SVG of plain shapes and texts, drawn twice: a page shows the one for its colours. The same figures give the same bytes.
 */

export interface Bar {
  readonly name: string;
  readonly isOurs: boolean;
  /** µs of CPU a redirect. */
  readonly redirect: number;
  /** The same, of all other threads. */
  readonly others: number;
}

export interface Chart {
  readonly bars: readonly Bar[];
  /** Machine and date, a line each. */
  readonly caption: readonly string[];
}

/** GitHub's two backgrounds and texts. */
export const themes = {
  light: {
    background: '#ffffff',
    text: '#1f2328',
    muted: '#59636e',
    ours: { redirect: '#0550ae', others: '#4493f8' },
    rival: { redirect: '#59636e', others: '#8c959f' },
  },
  dark: {
    background: '#0d1117',
    text: '#f0f6fc',
    muted: '#9198a1',
    ours: { redirect: '#79c0ff', others: '#316dca' },
    rival: { redirect: '#9198a1', others: '#656c76' },
  },
};

type Theme = typeof themes.light;

const width = 720;
const margin = 16;
const barStart = 232;
/** Of the longest bar; its figures are behind it. */
const barWidthMax = 376;
const barHeight = 18;
const rowHeight = 30;
const firstRow = 72;
const captionGap = 14;
const captionHeight = 18;
/** Between the two parts of a bar: a reader who cannot distinguish the shades sees where one ends. */
const gap = 2;

export function drawChart({ bars, caption }: Chart, theme: Theme): string {
  const longest = Math.max(...bars.map(({ redirect, others }) => redirect + others));
  const captionTop = firstRow + bars.length * rowHeight + captionGap;
  const height = captionTop + caption.length * captionHeight + margin - 6;
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="14">`,
    `<title>${escapeText(summaryOf(bars))}</title>`,
    `<rect width="${width}" height="${height}" rx="6" fill="${theme.background}"/>`,
    text({ x: margin, y: 28, fill: theme.text, weight: 600 }, 'CPU time of one redirect, µs'),
    ...legend(theme),
    ...bars.flatMap((bar, row) => drawBar(bar, row, { theme, scale: barWidthMax / longest })),
    ...caption.map((line, index) =>
      text({ x: margin, y: captionTop + index * captionHeight, fill: theme.muted, size: 12 }, line),
    ),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

function legend({ ours, rival, muted }: Theme): string[] {
  const keys = [
    { x: barStart, name: 'thread that redirects', shade: 'redirect' },
    { x: barStart + 190, name: 'other threads: counting', shade: 'others' },
  ] as const;
  return keys.flatMap(({ x, name, shade }) => [
    rectangle({ x, y: 43, width: 12, height: 12, fill: ours[shade] }),
    rectangle({ x: x + 14, y: 43, width: 12, height: 12, fill: rival[shade] }),
    text({ x: x + 32, y: 54, fill: muted, size: 12 }, name),
  ]);
}

function drawBar(
  { name, isOurs, redirect, others }: Bar,
  row: number,
  { theme, scale }: { readonly theme: Theme; readonly scale: number },
): string[] {
  const place = { y: firstRow + row * rowHeight, height: barHeight };
  const textY = place.y + barHeight - 4;
  const shades = isOurs ? theme.ours : theme.rival;
  const hasOthers = shown(others) !== shown(0);
  const middle = barStart + redirect * scale;
  const end = hasOthers ? middle + others * scale : middle;
  const bars = [
    { ...place, x: barStart, width: redirect * scale, fill: shades.redirect },
    { ...place, x: middle + gap, width: others * scale - gap, fill: shades.others },
  ];
  const figures = [redirect, others].slice(0, hasOthers ? 2 : 1).map(shown);
  return [
    text({ x: margin, y: textY, fill: theme.text, weight: isOurs ? 600 : 400 }, name),
    ...bars.slice(0, figures.length).map(rectangle),
    text({ x: end + 8, y: textY, fill: theme.text }, figures.join(' + ')),
  ];
}

/** For those who do not see the bars. */
function summaryOf(bars: readonly Bar[]): string {
  const each = bars.map(({ name, redirect, others }) => `${name} ${shown(redirect + others)}`);
  return `CPU time of one redirect in µs, all threads: ${each.join(', ')}`;
}

type Rectangle = Readonly<Record<'x' | 'y' | 'width' | 'height', number> & { fill: string }>;

function rectangle({ x, y, width: length, height, fill }: Rectangle): string {
  const [left, wide] = [x, Math.max(0, length)].map(rounded);
  return `<rect x="${left}" y="${y}" width="${wide}" height="${height}" fill="${fill}"/>`;
}

interface TextPlace {
  readonly x: number;
  readonly y: number;
  readonly fill: string;
  readonly size?: number;
  readonly weight?: number;
}

function text({ x, y, fill, size = 14, weight = 400 }: TextPlace, content: string): string {
  const font = `font-size="${size}" font-weight="${weight}"`;
  return `<text x="${rounded(x)}" y="${y}" fill="${fill}" ${font}>${escapeText(content)}</text>`;
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
const shown = (microseconds: number): string => microseconds.toFixed(1);

function escapeText(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
