/** Tables and figures in plain text, and whether a target is met: for people; a missed target fails no run. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >>> 1;
  if (sorted.length === 0) throw new Error('Cannot take a median: there are no values');
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** @param share 0 to 1 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Lowest and highest. */
export function spread(values: readonly number[]): string {
  return `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`;
}

/** First column to the left, numbers to the right. */
export function formatTable(headings: readonly string[], rows: ReadonlyArray<string[]>): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
      )
      .join('  ')
      .trimEnd();
  return [
    line(headings),
    widths.map((width) => '-'.repeat(width)).join('  '),
    ...rows.map(line),
  ].join('\n');
}

export interface Target {
  readonly what: string;
  readonly measured: number;
  readonly unit?: string;
  readonly atMost?: number;
  readonly atLeast?: number;
}

export function formatTarget({ what, measured, unit = '', atMost, atLeast }: Target): string {
  const isMet =
    (atMost === undefined || measured <= atMost) && (atLeast === undefined || measured >= atLeast);
  const bound = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`;
  return `  ${isMet ? 'ok    ' : 'MISSED'}  ${what}: ${measured.toFixed(2)}${unit}, target ${bound}${unit}`;
}

/** Of the line through the points by least squares; 0 where they all have one x. */
export function slopeOf(points: ReadonlyArray<readonly [x: number, y: number]>): number {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  let above = 0;
  let below = 0;
  for (const [x, y] of points) {
    above += (x - meanX) * (y - meanY);
    below += (x - meanX) ** 2;
  }
  return below === 0 ? 0 : above / below;
}
