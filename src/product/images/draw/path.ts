/**
 * A path in modules, x to the right and y down, as the text of SVG path data: relative, straight runs along an axis as `h`
 * and `v`, nothing that has no length. Lines and Bézier curves only (a circle is four curves, off by 0.03 % of its radius).
 * Filled areas run clockwise and holes counter-clockwise, for the non-zero fill rule: every format's default, under which
 * shapes may overlap.
 */

/** Distance of a Bézier curve's handles from the ends of a quarter circle, in radii. */
const quarterHandle = 0.5522847498;

export interface Corner {
  readonly x: number;
  readonly y: number;
  /** 0 = sharp. */
  readonly radius: number;
}

export class Path {
  /** Empty for an empty path. */
  data = '';
  #x = 0;
  #y = 0;

  /** A closed outline along the axes. */
  outline(corners: readonly Corner[]): void {
    const [first] = corners;
    if (first === undefined) return;
    const start = toward(first, corners.at(-1));
    this.#moveTo(...start);
    for (const [at, corner] of corners.entries()) {
      this.#lineTo(...toward(corner, corners.at(at - 1)));
      const next = toward(corner, corners[at + 1] ?? first);
      if (corner.radius > 0) this.#cornerTo(corner, ...next);
    }
    this.#lineTo(...start);
    this.data += 'z';
  }

  /** A square with corners rounded by `radius`; half its edge makes a circle. */
  square(x: number, y: number, edge: number, radius: number): void {
    this.outline(squareCorners(x, y, edge, radius));
  }

  /** The same counter-clockwise: a hole in the shape around it. */
  hole(x: number, y: number, edge: number, radius: number): void {
    this.outline(squareCorners(x, y, edge, radius).toReversed());
  }

  #moveTo(x: number, y: number): void {
    [this.#x, this.#y] = [round(x), round(y)];
    this.data += `M${short(x)} ${short(y)}`;
  }

  #lineTo(x: number, y: number): void {
    const [byX, byY] = [round(x) - this.#x, round(y) - this.#y];
    if (byX !== 0 && byY !== 0) this.data += `l${short(byX)} ${short(byY)}`;
    else if (byX !== 0) this.data += `h${short(byX)}`;
    else if (byY !== 0) this.data += `v${short(byY)}`;
    [this.#x, this.#y] = [round(x), round(y)];
  }

  /** A quarter of an ellipse from the current point around `corner` to (x, y). */
  #cornerTo(corner: Corner, x: number, y: number): void {
    const handle = (from: number, to: number): number => from + (to - from) * quarterHandle;
    const points = [
      [handle(this.#x, corner.x), handle(this.#y, corner.y)],
      [handle(x, corner.x), handle(y, corner.y)],
      [x, y],
    ] as const;
    const numbers = points.map(
      ([toX, toY]) => `${short(round(toX) - this.#x)} ${short(round(toY) - this.#y)}`,
    );
    this.data += `c${numbers.join(' ')}`;
    [this.#x, this.#y] = [round(x), round(y)];
  }
}

/** Where the rounding of a corner ends on its edge to `other`. */
function toward(corner: Corner, other = corner): [x: number, y: number] {
  const { x, y, radius } = corner;
  return [x + Math.sign(other.x - x) * radius, y + Math.sign(other.y - y) * radius];
}

const squareCorners = (x: number, y: number, edge: number, radius: number): Corner[] => [
  { x, y, radius },
  { x: x + edge, y, radius },
  { x: x + edge, y: y + edge, radius },
  { x, y: y + edge, radius },
];

/** A number rounded to thousandths of a module, finer than any printer, in as few characters as possible. */
export function short(value: number): string {
  return String(round(value)).replace(/^(-?)0\./, '$1.');
}

function round(value: number): number {
  const rounded = Math.round(value * 1_000) / 1_000;
  return rounded === 0 ? 0 : rounded;
}
