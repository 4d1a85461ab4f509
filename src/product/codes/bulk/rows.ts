/**
 * The rows of a bulk body in any format: JSON list, NDJSON or CSV. Each row becomes the value that a single create would
 * have as its body, so one schema checks both.
 *
 * All rows are read before the first code is made: a body that breaks off, is not a list or has too many rows makes
 * none. An unreadable row becomes a Failure in its place and does not stop the others.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { CsvRow } from './csv-rows.ts';
import { type JsonRow, listRows, ndjsonRows } from './json-rows.ts';
import { Failure, faultPathLengthMax } from '../../../model/failure.ts';
import { shownText } from '../../../model/text.ts';
import { unguarded } from '../../../model/csv.ts';
import { parseJson } from '../../../model/json.ts';
import { utmKeys } from '../../../model/routing/routing.ts';

export type BulkFormat = 'json' | 'ndjson' | 'csv';

export interface BulkRow {
  /** As the body of a single create, not yet checked. */
  readonly value: unknown;
  /** Line of the body or file that it begins on, from 1; blank lines before it count to it. */
  readonly line: number;
}

/** About 1 to 2 ms of a parser's work. */
const pieceBytes = 32_768;
/** JSON rows parsed without a pause: at about 30 us each, 2 ms. */
const parsedPerSlice = 64;
/** Characters of their names in one sentence. */
const namesLengthMax = 300;
/** Columns that begin so are keys of one object. */
const objects = ['metadata', 'utm'] as const;
const plainColumns: readonly string[] = [
  'target',
  'type',
  'dynamic',
  'name',
  'slug',
  'tags',
  'campaignIds',
  'startsAt',
  'expiresAt',
  'scanLimit',
  'externalId',
  'paused',
  'fallbackUrl',
  'metadata',
];
/** Further columns of the export of codes. */
const computedColumns: readonly string[] = [
  'id',
  'shortUrl',
  'imageUrl',
  'scans',
  'createdAt',
  'updatedAt',
  'status',
];
const wholeNumber = /^\d{1,15}$/;

/**
 * @param onIgnored called with the computed columns that a table has
 * @throws Failure for what makes the whole unreadable; a row's own is its value
 */
export async function* bulkRows(
  format: BulkFormat,
  source: AsyncIterable<Uint8Array>,
  onIgnored?: (columns: readonly string[]) => void,
): AsyncGenerator<BulkRow> {
  const pieces = smallPieces(source);
  if (format === 'csv') yield* csvRows(pieces, onIgnored);
  else yield* jsonRows(format === 'json' ? listRows(pieces) : ndjsonRows(pieces));
}

/** The same bytes in pieces that the event loop can wait for, with other requests in between. */
async function* smallPieces(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    for (let at = 0; at < piece.byteLength; at += pieceBytes) {
      yield piece.subarray(at, at + pieceBytes);
      await yieldToEventLoop();
    }
  }
}

async function* jsonRows(rows: AsyncIterable<JsonRow>): AsyncGenerator<BulkRow> {
  let parsed = 0;
  for await (const { bytes, line } of rows) {
    yield { value: bytes instanceof Failure ? bytes : valueOf(bytes), line };
    parsed += 1;
    if (parsed % parsedPerSlice === 0) await yieldToEventLoop();
  }
}

function valueOf(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

async function* csvRows(
  pieces: AsyncIterable<Uint8Array>,
  onIgnored?: (columns: readonly string[]) => void,
): AsyncGenerator<BulkRow> {
  // Loads its parser: few services ever read a table.
  const { readCsv } = await import('./csv-rows.ts');
  const { columns, rows } = await readCsv(pieces);
  const ignored = ignoredColumns(columns);
  onIgnored?.(ignored);
  for await (const { cells, line } of rows) {
    yield { value: cells instanceof Failure ? cells : fieldsOf(cells), line };
  }
}

/** The computed columns. @throws Failure for an unknown column, or without `target` */
export function ignoredColumns(columns: readonly string[]): readonly string[] {
  const faults = columns
    .filter((name) => name !== '' && !isColumn(name) && !computedColumns.includes(name))
    .map((name) => ({
      path: shownText(name, faultPathLengthMax),
      code: 'unknown_column',
      message: 'This column is unknown',
    }));
  if (!columns.includes('target')) {
    faults.push({ path: 'target', code: 'required', message: 'This column is missing' });
  }
  if (faults.length === 0) return columns.filter((name) => computedColumns.includes(name));
  const names = shownText(faults.map(({ path }) => path).join(', '), namesLengthMax);
  const known = [...plainColumns, 'metadata.…', 'utm.…'].join(', ');
  const message = `The CSV has unknown or missing columns: ${names}; known columns: ${known}`;
  throw new Failure('validation_failed', message, { faults });
}

export function isColumn(name: string): boolean {
  const [object, key] = objectColumn(name) ?? [];
  if (object === undefined || key === undefined) return plainColumns.includes(name);
  if (object === 'utm') return utmKeys.some((known) => known === key);
  return key !== '' && key !== '__proto__';
}

/** `metadata.table` -> `metadata`, `table`. */
function objectColumn(name: string): readonly [(typeof objects)[number], string] | undefined {
  const object = objects.find((known) => name.startsWith(`${known}.`));
  return object && [object, name.slice(object.length + 1)];
}

/** Cells as fields; a cell of another kind stays text, and the schema refuses it. */
function fieldsOf(cells: Exclude<CsvRow['cells'], Failure>): Record<string, unknown> {
  const fields: Array<[string, unknown]> = [];
  const parts = new Map<string, Array<[string, string]>>();
  for (const [name, cell] of cells) {
    if (computedColumns.includes(name)) continue;
    const text = unguarded(cell);
    const [object, key] = objectColumn(name) ?? [];
    if (object === undefined || key === undefined) fields.push([name, fieldOf(name, text)]);
    else parts.set(object, [...(parts.get(object) ?? []), [key, text]]);
  }
  for (const [object, pairs] of parts) {
    const [, rest = {}] = fields.find(([name]) => name === object) ?? [];
    const isWhole = typeof rest === 'object';
    fields.push([object, isWhole ? { ...rest, ...Object.fromEntries(pairs) } : rest]);
  }
  return Object.fromEntries(fields);
}

function fieldOf(name: string, text: string): unknown {
  if (name === 'tags' || name === 'campaignIds') return partsOf(text);
  if (name === 'metadata') return objectIn(text);
  if (name === 'scanLimit') return wholeNumber.test(text) ? Number(text) : text;
  if (name !== 'dynamic' && name !== 'paused') return text;
  const word = text.toLowerCase();
  return word === 'true' || word === 'false' ? word === 'true' : text;
}

/** An object from its JSON; other text stays as it is, and the schema refuses it. */
function objectIn(text: string): unknown {
  const value = text.startsWith('{') ? valueOf(Buffer.from(text)) : text;
  return value instanceof Failure ? text : value;
}

/** As the column has them; a separator in a tag has a backslash before it. */
export const tagsText = (tags: readonly string[]): string =>
  tags.map((tag) => tag.replaceAll(/[;|\\]/g, '\\$&')).join(';');

function partsOf(text: string): string[] {
  const parts = text.match(/(?:\\[;|\\]|[^;|])+/g) ?? [];
  return parts
    .map((part) => part.replaceAll(/\\([;|\\])/g, '$1').trim())
    .filter((part) => part !== '');
}
