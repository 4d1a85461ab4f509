/**
 * A picture as SVG: background, a path for the modules, a path for the finder patterns where they differ,
 * the logo. Coordinates are modules; `size` is only the size shown. The file refers to nothing outside itself.
 */
import { formatColor, type Rgb } from '../../../model/design/color.ts';
import type { Paint } from '../design/style.ts';
import { short } from './path.ts';
import type { Picture, PlacedLogo } from './picture.ts';

/** The part of the plane that is shown: the picture, possibly with more background around it. */
export interface View {
  /** Edge in pixels. */
  readonly size: number;
  /** Corner and edge in modules. */
  readonly start: number;
  readonly side: number;
}

/** The whole picture and nothing more. */
export function wholeView(picture: Picture, size: number): View {
  return { size, start: 0, side: picture.side };
}

export function writeSvg(picture: Picture, view: View): string {
  const { size, start, side } = view;
  const gradients = new Map<string, string>();
  const fill = (paint: Paint): string => {
    if (paint.kind === 'flat') return formatColor(paint.color);
    const id = gradientId(paint);
    gradients.set(id, gradientOf(id, paint, picture));
    return `url(#${id})`;
  };
  const shapes = picture.shapes.map(
    ({ path, paint }) => `<path fill="${fill(paint)}" d="${path.data}"/>`,
  );
  const definitions =
    gradients.size === 0 ? '' : `<defs>${[...gradients.values()].join('')}</defs>`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}" ` +
    `viewBox="${precise(start)} ${precise(start)} ${precise(side)} ${precise(side)}"` +
    `${picture.isSquare ? ' shape-rendering="crispEdges"' : ''}>${definitions}` +
    `${backgroundOf(picture.background, start, side)}${shapes.join('')}${logoOf(picture.logo)}</svg>\n`
  );
}

function backgroundOf(color: Rgb | undefined, start: number, side: number): string {
  if (color === undefined) return '';
  const [corner, edge] = [precise(start), precise(side)];
  return `<path fill="${formatColor(color)}" d="M${corner} ${corner}h${edge}v${edge}H${corner}z"/>`;
}

/** From the upper left to the lower right corner of the symbol, or from its middle to its corners. */
function gradientOf(id: string, paint: Exclude<Paint, { kind: 'flat' }>, picture: Picture): string {
  const { side, marginModules: margin } = picture;
  const [middle, end] = [short(side / 2), side - margin];
  const stops =
    `<stop stop-color="${formatColor(paint.from)}"/>` +
    `<stop offset="1" stop-color="${formatColor(paint.to)}"/>`;
  const radius = short((side / 2 - margin) * Math.SQRT2);
  return paint.kind === 'linear'
    ? `<linearGradient id="${id}" gradientUnits="userSpaceOnUse" x1="${margin}" y1="${margin}" ` +
        `x2="${end}" y2="${end}">${stops}</linearGradient>`
    : `<radialGradient id="${id}" gradientUnits="userSpaceOnUse" cx="${middle}" cy="${middle}" ` +
        `r="${radius}">${stops}</radialGradient>`;
}

/** Named by its colors: SVGs in the same page may share it, and different gradients never clash. */
function gradientId(paint: Exclude<Paint, { kind: 'flat' }>): string {
  const colors = [paint.from, paint.to].map((color) => formatColor(color).slice(1));
  return `qz-${paint.kind}-${colors.join('-')}`;
}

function logoOf(logo: PlacedLogo | undefined): string {
  if (logo === undefined) return '';
  const { x, y, width, height } = logo.at;
  const data = Buffer.from(logo.png).toString('base64');
  return (
    `<image x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" ` +
    `href="data:image/png;base64,${data}"/>`
  );
}

/** A view's edge may be any fraction of a module: fewer digits would move edges off their pixels. */
function precise(value: number): string {
  return String(Number(value.toFixed(9)));
}
