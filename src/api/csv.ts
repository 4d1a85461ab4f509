/** Which form an answer takes, JSON, NDJSON or CSV, and answers that are a file. */
import { z } from 'zod';
import { type Cell, csvLine } from '../model/csv.ts';
import type { StreamedResult } from './route.ts';

export type Format = 'json' | 'csv' | 'ndjson';

/** Media types by form, in the order in which a wildcard finds them. */
export const formatTypes = {
  json: 'application/json',
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
} as const satisfies Readonly<Record<Format, string>>;

/** What answers that may be a file have, for the document. */
export const tableHeaders = ['Vary', 'Content-Disposition'] as const;

/** The example of an answer as a table. */
export function tableSample(...rows: ReadonlyArray<readonly Cell[]>) {
  return { answer: { [formatTypes.csv]: rows.map(csvLine).join('') } };
}

export const csvFormat = z
  .enum(['json', 'csv'])
  .optional()
  .meta({
    description: 'In place of the Accept header, which a link cannot send',
    param: { id: 'Format' },
  });
export const streamFormat = z.enum(['json', 'csv', 'ndjson']).optional().meta({
  description: 'In place of the Accept header, which a link cannot send',
});

/** The first of `offered` unless the query or the Accept header asks for another (RFC 9110, 12.5.1). */
export function formatOf<F extends Format>(
  asked: F | undefined,
  accept: string | undefined,
  offered: readonly [F, ...F[]],
): F {
  if (asked !== undefined) return asked;
  let best: F = offered[0];
  let bestWeight = 0;
  const ranges = parseAccept(accept ?? '*/*');
  for (const format of offered) {
    const weight = weightOf(formatTypes[format], ranges);
    if (weight > bestWeight) [best, bestWeight] = [format, weight];
  }
  return best;
}

/** @param name of the file, without its ending */
export function csvResult(
  name: string,
  columns: readonly string[],
  rows: ReadonlyArray<readonly Cell[]>,
): StreamedResult {
  const lines = [columns, ...rows].map(csvLine).join('');
  return { status: 200, headers: fileHeaders('csv', name), body: Buffer.from(lines) };
}

/** @param name must be of letters, digits, `-`, `_` and dots */
export function fileHeaders(format: 'csv' | 'ndjson', name: string): Record<string, string> {
  return {
    'Content-Type':
      format === 'csv' ? 'text/csv; charset=utf-8; header=present' : formatTypes[format],
    'Content-Disposition': `attachment; filename="${name}.${format}"`,
    Vary: 'Accept',
  };
}

interface Range {
  readonly type: string;
  readonly weight: number;
}

/** Ranges that are malformed are passed over. */
function parseAccept(accept: string): Range[] {
  const ranges: Range[] = [];
  for (const part of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    if (/^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight))
      ranges.push({ type, weight: Number(weight) });
  }
  return ranges;
}

/** The most specific range that has the type decides. */
function weightOf(type: string, ranges: readonly Range[]): number {
  const wide = `${type.split('/')[0]}/*`;
  for (const wanted of [type, wide, '*/*']) {
    const range = ranges.find((found) => found.type === wanted);
    if (range !== undefined) return range.weight;
  }
  return 0;
}
