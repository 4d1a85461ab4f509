/**
 * The modules of a symbol as shapes.
 *
 * Square and rounded modules are drawn as outlines of the dark areas: neighbouring dark modules are one shape,
 * so no renderer and no printer can leave a hairline between them.
 *
 *   Outlines run clockwise around dark areas (dark on the right hand), counter-clockwise around holes:
 *
 *       +--->---+        edges of a dark module:  top  ->  right  v  bottom  <-  left  ^
 *       ^ dark  v        where two dark modules touch only at a corner, the outline turns right,
 *       +---<---+        so that they stay separate areas
 */
import type { DotStyle } from '../../../model/design.ts';
import type { Matrix } from './matrix.ts';
import { type Corner, Path } from './path.ts';

const right = 0;
const down = 1;
const left = 2;
/** Steps of the four directions. */
const stepX = [1, 0, -1, 0] as const;
const stepY = [0, 1, 0, -1] as const;

/** Of an outer corner: half a module makes the end of a line a half circle. */
const outerRadius = 0.5;
/** Of an inner corner: it darkens a light module's corner, so it stays small. */
const innerRadius = 0.25;
/**
 * Of a dot: a little more than half a module, so that neighbours just touch. With gaps, some readers cannot
 * count modules: from 300 px on, jsQR read 0 of 12 codes at 0.46, 6 of 12 at 0.5, and 12 of 12 at 0.54.
 */
const dotRadius = 0.54;

/** Draws the dark modules of `matrix` with their upper left corner at (`offset`, `offset`). */
export function drawModules(matrix: Matrix, style: DotStyle, offset: number): Path {
  const path = new Path();
  if (style === 'dots') drawDots(matrix, offset, path);
  else for (const corners of outlines(matrix, style, offset)) path.outline(corners);
  return path;
}

function drawDots({ side, modules }: Matrix, offset: number, path: Path): void {
  const inset = 0.5 - dotRadius;
  for (let y = 0; y < side; y += 1) {
    for (let x = 0; x < side; x += 1) {
      if (modules[y * side + x] !== 1) continue;
      path.square(x + offset + inset, y + offset + inset, 2 * dotRadius, dotRadius);
    }
  }
}

/** The corners of every outline, in reading order of their first. */
function outlines({ side, modules }: Matrix, style: DotStyle, offset: number): Corner[][] {
  const [outer, inner] = style === 'rounded' ? [outerRadius, innerRadius] : [0, 0];
  const dark = (x: number, y: number): boolean =>
    x >= 0 && y >= 0 && x < side && y < side && modules[y * side + x] === 1;
  /** Whether an edge of an outline leaves corner (x, y) in this direction, with dark on its right. */
  const isEdge = (x: number, y: number, direction: number): boolean => {
    if (direction === right) return dark(x, y) && !dark(x, y - 1);
    if (direction === down) return dark(x - 1, y) && !dark(x, y);
    if (direction === left) return dark(x - 1, y - 1) && !dark(x - 1, y);
    return dark(x, y - 1) && !dark(x - 1, y - 1);
  };
  // Every outline has an edge that runs right. Followed edges are marked at their left corner.
  const walked = new Uint8Array(side * (side + 1));
  /** Follows one outline from its first corner, which is the upper left one and comes first. */
  const walk = (startX: number, startY: number): Corner[] => {
    const corners: Corner[] = [];
    let [x, y, direction] = [startX, startY, right];
    do {
      if (direction === right) walked[y * side + x] = 1;
      x += stepX[direction] ?? 0;
      y += stepY[direction] ?? 0;
      const turns = [(direction + 1) % 4, direction, (direction + 3) % 4];
      const next = turns.find((turn) => isEdge(x, y, turn));
      if (next === undefined) throw new Error('Cannot follow an outline: it ends, expected a loop');
      if (next === direction) continue;
      const radius = next === turns[0] ? outer : inner;
      corners.push({ x: x + offset, y: y + offset, radius });
      direction = next;
    } while (x !== startX || y !== startY || direction !== right);
    return [...corners.slice(-1), ...corners.slice(0, -1)];
  };
  const found: Corner[][] = [];
  for (let y = 0; y <= side; y += 1) {
    for (let x = 0; x < side; x += 1) {
      if (walked[y * side + x] !== 1 && isEdge(x, y, right)) found.push(walk(x, y));
    }
  }
  return found;
}
