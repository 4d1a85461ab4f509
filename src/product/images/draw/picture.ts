/**
 * A symbol in its style, independent of the format: shapes measured in modules, each with its paint, and
 * the place of the logo. The writers (svg, pdf, eps) only serialise it.
 *
 *   +---------------------------+   side = symbol + 2 x margin
 *   |  margin                   |
 *   |  [fp]   ........   [fp]   |   finder patterns that look like the modules are part of their outline;
 *   |  ........................ |   others are separate shapes
 *   |  .......+------+......... |
 *   |  .......| logo |......... |   modules under the logo and half a module around it are left out,
 *   |  .......+------+......... |   so that the logo has the background behind it
 *   |  [fp]   ................. |
 *   +---------------------------+
 */
import type { EyeStyle } from '../../../model/design.ts';
import type { Rgb } from '../../../model/design/color.ts';
import { type Style, type Paint, samePaint } from '../design/style.ts';
import type { Matrix } from './matrix.ts';
import { drawModules } from './outline.ts';
import { Path } from './path.ts';

/** A cleaned logo. */
export interface LogoImage {
  readonly png: Uint8Array;
  readonly width: number;
  readonly height: number;
}

export interface Shape {
  readonly path: Path;
  readonly paint: Paint;
}

export interface PlacedLogo extends LogoImage {
  /** Upper left corner and size, in modules. */
  readonly at: {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  };
}

export interface Picture {
  /** Modules on an edge, margins included. */
  readonly side: number;
  readonly marginModules: number;
  readonly background: Rgb | undefined;
  readonly shapes: readonly Shape[];
  readonly logo: PlacedLogo | undefined;
  /** Modules fill their squares: sharpest when a module is a whole number of pixels. */
  readonly isOnGrid: boolean;
  /** Finder patterns do too: drawn without smoothing. */
  readonly isSquare: boolean;
}

const finderSide = 7;
/** Corner radii of a finder pattern's ring, of the hole in it, and of its middle; the ring is 1 module thick. */
const finderRadii: Readonly<Record<EyeStyle, readonly [number, number, number]>> = {
  square: [0, 0, 0],
  rounded: [2.2, 1.2, 0.9],
  circle: [3.5, 2.5, 1.5],
};
/** Modules left out around a logo, at least. */
const logoClearance = 0.5;

export function createPicture(matrix: Matrix, style: Style, logo: LogoImage | undefined): Picture {
  const { marginModules, dotStyle, eyeStyle, modules, finderPatterns } = style;
  const isSquare = dotStyle === 'square' && eyeStyle === 'square';
  const areFindersSeparate = !isSquare || !samePaint(modules, finderPatterns);
  const grid = { side: matrix.side, modules: matrix.modules.slice() };
  if (areFindersSeparate) clearFinders(grid);
  const placed = logo === undefined ? undefined : placeLogo(grid, style, logo);
  const shapes: Shape[] = [{ path: drawModules(grid, dotStyle, marginModules), paint: modules }];
  if (areFindersSeparate) {
    const path = drawFinders(matrix.side, eyeStyle, marginModules);
    shapes.push({ path, paint: finderPatterns });
  }
  return {
    side: matrix.side + 2 * marginModules,
    marginModules,
    background: style.background,
    shapes,
    logo: placed,
    isOnGrid: dotStyle === 'square',
    isSquare,
  };
}

/** Upper left corners of the three finder patterns. */
const finderCorners = (side: number): ReadonlyArray<readonly [x: number, y: number]> => [
  [0, 0],
  [side - finderSide, 0],
  [0, side - finderSide],
];

function clearFinders({ side, modules }: Matrix): void {
  for (const [x, y] of finderCorners(side)) {
    for (let row = y; row < y + finderSide; row += 1) {
      modules.fill(0, row * side + x, row * side + x + finderSide);
    }
  }
}

function drawFinders(side: number, style: EyeStyle, offset: number): Path {
  const path = new Path();
  const [ring, hole, middle] = finderRadii[style];
  for (const [column, row] of finderCorners(side)) {
    const [x, y] = [column + offset, row + offset];
    path.square(x, y, finderSide, ring);
    path.hole(x + 1, y + 1, finderSide - 2, hole);
    path.square(x + 2, y + 2, finderSide - 4, middle);
  }
  return path;
}

/** Fits the logo into a square in the middle and clears the modules under it. */
function placeLogo(grid: Matrix, style: Style, logo: LogoImage): PlacedLogo {
  const { side, modules } = grid;
  const edge = side * style.logoScale;
  const longer = Math.max(logo.width, logo.height);
  const [width, height] = [(edge * logo.width) / longer, (edge * logo.height) / longer];
  const [x, y] = [(side - width) / 2, (side - height) / 2];
  const [firstColumn, firstRow] = [x, y].map((start) => Math.floor(start - logoClearance));
  const [endColumn, endRow] = [x + width, y + height].map((end) => Math.ceil(end + logoClearance));
  for (let row = firstRow ?? 0; row < (endRow ?? 0); row += 1) {
    modules.fill(0, row * side + (firstColumn ?? 0), row * side + (endColumn ?? 0));
  }
  const margin = style.marginModules;
  return { ...logo, at: { x: x + margin, y: y + margin, width, height } };
}
