/**
 * A path in modules, x to the right and y down, as every vector writer needs it: straight lines and Bézier
 * curves only (a circle is four curves, off by 0.03 % of its radius). Filled areas run clockwise and holes
 * counter-clockwise, for the non-zero fill rule: every format's default, under which shapes may overlap.
 */

/** Distance of a Bézier curve's handles from the ends of a quarter circle, in radii. */
const quarterHandle = 0.5522847498;
/** Thousandths of a module: finer than any printer. */
const decimals = 3;

export type Segment =
  | { readonly kind: 'move' | 'line'; readonly x: number; readonly y: number }
  | {
      readonly kind: 'curve';
      readonly x1: number;
      readonly y1: number;
      readonly x2: number;
      readonly y2: number;
      readonly x: number;
      readonly y: number;
    }
  | { readonly kind: 'close' };

export class Path {
  readonly segments: Segment[] = [];

  get isEmpty(): boolean {
    return this.segments.length === 0;
  }

  moveTo(x: number, y: number): void {
    this.segments.push({ kind: 'move', x, y });
  }

  lineTo(x: number, y: number): void {
    this.segments.push({ kind: 'line', x, y });
  }

  close(): void {
    this.segments.push({ kind: 'close' });
  }

  /** A quarter of an ellipse from the current point around the corner (cornerX, cornerY) to (x, y). */
  cornerTo(cornerX: number, cornerY: number, x: number, y: number): void {
    const last = this.segments.at(-1);
    if (last === undefined || last.kind === 'close') {
      throw new Error('Cannot round a corner: the path is nowhere, expected a point');
    }
    const toward = (from: number, to: number): number => from + (to - from) * quarterHandle;
    this.segments.push({
      kind: 'curve',
      x1: toward(last.x, cornerX),
      y1: toward(last.y, cornerY),
      x2: toward(x, cornerX),
      y2: toward(y, cornerY),
      x,
      y,
    });
  }

  /** A square with corners rounded by `radius`; half its edge makes a circle. */
  square(x: number, y: number, edge: number, radius: number): void {
    const [right, bottom, r] = [x + edge, y + edge, radius];
    this.moveTo(x + r, y);
    this.lineTo(right - r, y);
    if (r > 0) this.cornerTo(right, y, right, y + r);
    this.lineTo(right, bottom - r);
    if (r > 0) this.cornerTo(right, bottom, right - r, bottom);
    this.lineTo(x + r, bottom);
    if (r > 0) this.cornerTo(x, bottom, x, bottom - r);
    this.lineTo(x, y + r);
    if (r > 0) this.cornerTo(x, y, x + r, y);
    this.close();
  }

  /** The same counter-clockwise: a hole in the shape around it. */
  hole(x: number, y: number, edge: number, radius: number): void {
    const [right, bottom, r] = [x + edge, y + edge, radius];
    this.moveTo(x, y + r);
    this.lineTo(x, bottom - r);
    if (r > 0) this.cornerTo(x, bottom, x + r, bottom);
    this.lineTo(right - r, bottom);
    if (r > 0) this.cornerTo(right, bottom, right, bottom - r);
    this.lineTo(right, y + r);
    if (r > 0) this.cornerTo(right, y, right - r, y);
    this.lineTo(x + r, y);
    if (r > 0) this.cornerTo(x, y, x, y + r);
    this.close();
  }
}

/** SVG path data: relative, straight runs along an axis as `h` and `v`, nothing that has no length. */
export function svgData(path: Path): string {
  let data = '';
  let [atX, atY] = [0, 0];
  for (const segment of path.segments) {
    if (segment.kind === 'close') {
      data += 'z';
      continue;
    }
    const [x, y] = [round(segment.x), round(segment.y)];
    const by = (value: number, from: number): string => short(round(value) - from);
    if (segment.kind === 'move') {
      data += `M${short(x)} ${short(y)}`;
    } else if (segment.kind === 'curve') {
      const { x1, y1, x2, y2 } = segment;
      const handles = `${by(x1, atX)} ${by(y1, atY)} ${by(x2, atX)} ${by(y2, atY)}`;
      data += `c${handles} ${by(x, atX)} ${by(y, atY)}`;
    } else if (y === atY) {
      if (x !== atX) data += `h${by(x, atX)}`;
    } else {
      data += x === atX ? `v${by(y, atY)}` : `l${by(x, atX)} ${by(y, atY)}`;
    }
    [atX, atY] = [x, y];
  }
  return data;
}

/** A number rounded to thousandths, in as few characters as possible. */
export function short(value: number): string {
  const text = String(round(value));
  return text.replace(/^(-?)0\./, '$1.');
}

function round(value: number): number {
  const factor = 10 ** decimals;
  const rounded = Math.round(value * factor) / factor;
  return rounded === 0 ? 0 : rounded;
}
