/**
 * The rows of a bulk body, whatever it is written in: JSON list, NDJSON or CSV. What comes out of each is
 * the value that a single create would have as its body, so one schema checks both.
 *
 * All rows are read before the first is made: a body that breaks off, is no list or has too many rows makes
 * nothing. A row that cannot be read is a Failure in its place and stops no other.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { CsvRow } from './csv-rows.ts';
import { type JsonRow, listRows, ndjsonRows } from './json-rows.ts';
import { Failure, faultPathLengthMax } from '../../model/failure.ts';
import { shownText } from '../../model/text.ts';
import { parseJson } from '../../model/json.ts';
import { utmKeys } from '../../model/routing/routing.ts';

export type BulkFormat = 'json' | 'ndjson' | 'csv';

export interface BulkRow {
  /** As the body of a single create, not yet checked. */
  readonly value: unknown;
  /** Line of the body or file that it begins on, from 1; blank lines before it count to it. */
  readonly line: number;
}

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
];
const tagSeparators = /[;|]/;
const wholeNumber = /^\d{1,15}$/;

/**
 * @param pieces small ones (codes/bulk/pieces.ts)
 * @throws Failure for what makes the whole unreadable; a row's own is its value
 */
export async function* bulkRows(
  format: BulkFormat,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<BulkRow> {
  if (format === 'csv') yield* csvRows(pieces);
  else yield* jsonRows(format === 'json' ? listRows(pieces) : ndjsonRows(pieces));
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

async function* csvRows(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<BulkRow> {
  // Loads its parser: few services ever read a table.
  const { readCsv } = await import('./csv-rows.ts');
  const { columns, rows } = await readCsv(pieces);
  checkColumns(columns);
  for await (const { cells, line } of rows) {
    yield { value: cells instanceof Failure ? cells : fieldsOf(cells), line };
  }
}

function checkColumns(columns: readonly string[]): void {
  const faults = columns
    .filter((name) => name !== '' && !isColumn(name))
    .map((name) => ({
      path: shownText(name, faultPathLengthMax),
      code: 'unknown_column',
      message: 'There is no such column here',
    }));
  if (!columns.includes('target')) {
    faults.push({ path: 'target', code: 'required', message: 'This column is required' });
  }
  if (faults.length === 0) return;
  const names = shownText(faults.map(({ path }) => path).join(', '), namesLengthMax);
  throw new Failure('validation_failed', `The CSV has columns at fault: ${names}`, { faults });
}

function isColumn(name: string): boolean {
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

/** Cells as the fields they stand for; a cell of another kind stays text, and the schema refuses it. */
function fieldsOf(cells: Exclude<CsvRow['cells'], Failure>): Record<string, unknown> {
  const fields: Array<[string, unknown]> = [];
  const parts = new Map<string, Array<[string, string]>>();
  for (const [name, text] of cells) {
    const [object, key] = objectColumn(name) ?? [];
    if (object === undefined || key === undefined) fields.push([name, fieldOf(name, text)]);
    else parts.set(object, [...(parts.get(object) ?? []), [key, text]]);
  }
  for (const [object, pairs] of parts) fields.push([object, Object.fromEntries(pairs)]);
  return Object.fromEntries(fields);
}

function fieldOf(name: string, text: string): unknown {
  if (name === 'tags') return partsOf(text, tagSeparators);
  if (name === 'campaignIds') return partsOf(text, ';');
  if (name === 'scanLimit') return wholeNumber.test(text) ? Number(text) : text;
  if (name !== 'dynamic' && name !== 'paused') return text;
  const word = text.toLowerCase();
  return word === 'true' || word === 'false' ? word === 'true' : text;
}

function partsOf(text: string, separator: RegExp | string): string[] {
  const parts = text.split(separator).map((part) => part.trim());
  return parts.filter((part) => part !== '');
}
