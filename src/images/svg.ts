/**
 * A symbol as SVG: one white square, one path of the outlines of the dark areas.
 *
 * Neighbouring dark modules are one shape, so no renderer and no printer can leave a hairline between
 * them, as it may between squares. Coordinates are whole modules; `size` is only the size shown.
 *
 *   Outlines run clockwise around dark areas (dark on the right hand), counter-clockwise around holes:
 *
 *       +--->---+        edges of a dark module:  top  ->  right  v  bottom  <-  left  ^
 *       ^ dark  v        where two dark modules touch by a corner only, the walk turns right,
 *       +---<---+        so the areas stay apart
 */
import type { Matrix } from './matrix.ts';
import type { Frame } from './png.ts';

const right = 0;
const down = 1;
const left = 2;
const up = 3;
/** Steps of the four directions. */
const stepX = [1, 0, -1, 0] as const;
const stepY = [0, 1, 0, -1] as const;

/** Draws `matrix` for a square of `frame.size` pixels. */
export function writeSvg(matrix: Matrix, frame: Frame): Uint8Array {
  const { size, marginModules } = frame;
  const side = matrix.side + 2 * marginModules;
  return new TextEncoder().encode(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}" ` +
      `viewBox="0 0 ${side} ${side}" shape-rendering="crispEdges">` +
      `<path fill="#fff" d="M0 0h${side}v${side}H0z"/>` +
      `<path fill="#000" d="${outlines(matrix, marginModules)}"/></svg>\n`,
  );
}

/** The path data of all outlines, in reading order of their first corner. */
function outlines(matrix: Matrix, margin: number): string {
  const { side } = matrix;
  const dark = (x: number, y: number): boolean =>
    x >= 0 && y >= 0 && x < side && y < side && matrix.modules[y * side + x] === 1;
  /** Is there an outline edge that leaves corner (x, y) in this direction, dark on its right? */
  const isEdge = (x: number, y: number, direction: number): boolean => {
    if (direction === right) return dark(x, y) && !dark(x, y - 1);
    if (direction === down) return dark(x - 1, y) && !dark(x, y);
    if (direction === left) return dark(x - 1, y - 1) && !dark(x - 1, y);
    return dark(x, y - 1) && !dark(x - 1, y - 1);
  };
  // Every outline has an edge that runs right; those already walked are marked at their left corner.
  const walked = new Uint8Array(side * (side + 1));
  let path = '';
  for (let y = 0; y <= side; y += 1) {
    for (let x = 0; x < side; x += 1) {
      if (walked[y * side + x] === 1 || !isEdge(x, y, right)) continue;
      path += walk({ x, y, side, margin, isEdge, walked });
    }
  }
  return path;
}

/** Follows one outline from its first corner, merging edges that go on straight into one run. */
function walk(from: {
  x: number;
  y: number;
  side: number;
  margin: number;
  isEdge: (x: number, y: number, direction: number) => boolean;
  walked: Uint8Array;
}): string {
  const { side, margin, isEdge, walked } = from;
  let { x, y } = from;
  let direction = right;
  let run = 0;
  let path = `M${x + margin} ${y + margin}`;
  do {
    if (direction === right) walked[y * side + x] = 1;
    x += stepX[direction] ?? 0;
    y += stepY[direction] ?? 0;
    run += 1;
    const turns = [(direction + 1) % 4, direction, (direction + 3) % 4];
    const next = turns.find((turn) => isEdge(x, y, turn));
    if (next === undefined) throw new Error('Cannot follow an outline: it ends, expected a loop');
    if (next === direction) continue;
    path += stretch(direction, run);
    direction = next;
    run = 0;
  } while (x !== from.x || y !== from.y || direction !== right || run !== 0);
  return `${path}z`;
}

/** The command of a straight run; `z` makes the last one superfluous, kept for simple readers. */
function stretch(direction: number, run: number): string {
  const length = direction === left || direction === up ? -run : run;
  return `${direction === right || direction === left ? 'h' : 'v'}${length}`;
}
