/**
 * A symbol in its look, drawn once for every format: shapes in modules, each with its paint, and where
 * the logo stands. The writers (svg, pdf, eps) only spell it out.
 *
 *   +---------------------------+   side = symbol + 2 x margin
 *   |  margin                   |
 *   |  [eye]  ........  [eye]   |   eyes that look like the modules are part of their outline;
 *   |  ........................ |   others are drawn apart
 *   |  .......+------+......... |
 *   |  .......| logo |......... |   modules under the logo and half a module round it are left out,
 *   |  .......+------+......... |   so that it stands on the ground
 *   |  [eye]  ................. |
 *   +---------------------------+
 */
import type { EyeStyle } from '../../model/design.ts';
import type { Rgb } from '../design/colour.ts';
import { type Style, type Paint, samePaint } from '../design/style.ts';
import type { Matrix } from './matrix.ts';
import { drawModules, type Grid } from './outline.ts';
import { Path } from './path.ts';

/** A logo, ready to be put into an image. */
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
  /** In modules: its upper left corner and its edges there. */
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
  /** So do the eyes: better left without smoothing. */
  readonly isSquare: boolean;
}

const eyeSide = 7;
/** Corner radii of an eye's ring, of the hole in it, and of its middle; the ring is 1 module thick. */
const eyeRadii: Readonly<Record<EyeStyle, readonly [number, number, number]>> = {
  square: [0, 0, 0],
  rounded: [2.2, 1.2, 0.9],
  circle: [3.5, 2.5, 1.5],
};
/** Left out round a logo, at least. */
const logoClearance = 0.5;

export function createPicture(matrix: Matrix, look: Style, logo: LogoImage | undefined): Picture {
  const { marginModules, dotStyle, eyeStyle, modules, eyes } = look;
  const areEyesApart = dotStyle !== 'square' || eyeStyle !== 'square' || !samePaint(modules, eyes);
  const grid = { side: matrix.side, modules: matrix.modules.slice() };
  if (areEyesApart) clearEyes(grid);
  const placed = logo === undefined ? undefined : placeLogo(grid, look, logo);
  const shapes: Shape[] = [{ path: drawModules(grid, dotStyle, marginModules), paint: modules }];
  if (areEyesApart) {
    shapes.push({ path: drawEyes(matrix.side, eyeStyle, marginModules), paint: eyes });
  }
  return {
    side: matrix.side + 2 * marginModules,
    marginModules,
    background: look.background,
    shapes,
    logo: placed,
    isOnGrid: dotStyle === 'square',
    isSquare: dotStyle === 'square' && eyeStyle === 'square',
  };
}

/** Upper left corners of the three eyes. */
const eyeCorners = (side: number): ReadonlyArray<readonly [x: number, y: number]> => [
  [0, 0],
  [side - eyeSide, 0],
  [0, side - eyeSide],
];

function clearEyes({ side, modules }: Grid): void {
  for (const [x, y] of eyeCorners(side)) {
    for (let row = y; row < y + eyeSide; row += 1) {
      modules.fill(0, row * side + x, row * side + x + eyeSide);
    }
  }
}

function drawEyes(side: number, style: EyeStyle, offset: number): Path {
  const path = new Path();
  const [ring, hole, middle] = eyeRadii[style];
  for (const [column, row] of eyeCorners(side)) {
    const [x, y] = [column + offset, row + offset];
    path.square(x, y, eyeSide, ring);
    path.hole(x + 1, y + 1, eyeSide - 2, hole);
    path.square(x + 2, y + 2, eyeSide - 4, middle);
  }
  return path;
}

/** Fits the logo into its square in the middle and takes the modules under it away. */
function placeLogo(grid: Grid, look: Style, logo: LogoImage): PlacedLogo {
  const { side, modules } = grid;
  const edge = side * look.logoScale;
  const longer = Math.max(logo.width, logo.height);
  const [width, height] = [(edge * logo.width) / longer, (edge * logo.height) / longer];
  const [x, y] = [(side - width) / 2, (side - height) / 2];
  const [firstColumn, firstRow] = [x, y].map((start) => Math.floor(start - logoClearance));
  const [endColumn, endRow] = [x + width, y + height].map((end) => Math.ceil(end + logoClearance));
  for (let row = firstRow ?? 0; row < (endRow ?? 0); row += 1) {
    modules.fill(0, row * side + (firstColumn ?? 0), row * side + (endColumn ?? 0));
  }
  const margin = look.marginModules;
  return { ...logo, at: { x: x + margin, y: y + margin, width, height } };
}
