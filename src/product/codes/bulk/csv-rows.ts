/**
 * Rows of a CSV table (RFC 4180) while it arrives: the first row names the columns, every further one is
 * its cells by column. A byte order mark is passed over; the separator is a comma, or the semicolon or
 * tab that the header has instead (spreadsheets of many countries write those).
 *
 * A row that is too long, has too many cells or is not UTF-8 is reported and does not stop the others; a quote that
 * is never closed makes the table unreadable from there on.
 */
import { Readable } from 'node:stream';
import { CsvError, type Options, parse } from 'csv-parse';
import { Failure } from '../../../model/failure.ts';

/** A row longer than this is refused. */
const rowCharactersMax = 65_536;
/** A longer row is treated as a quote that is never closed: bounds memory. */
const recordBytesMax = 2_097_152;
/** A decoder replaces bytes that are not UTF-8 by it. */
const replacement = '\uFFFD';
/** A first row without a line break in so many bytes is not a header. */
const headerBytesMax = 65_536;
const columnsMax = 200;
const separators = [',', ';', '\t'] as const;
const newline = 0x0a;

export interface CsvRow {
  /** Cells by column name, trimmed; empty ones are left out. */
  readonly cells: ReadonlyMap<string, string> | Failure;
  /** Line of the file that the row begins on, from 1. */
  readonly line: number;
}

export interface CsvTable {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<CsvRow>;
}

/** @throws Failure validation_failed when there is no header; the rows throw it for invalid CSV */
export async function readCsv(pieces: AsyncIterable<Uint8Array>): Promise<CsvTable> {
  const source = pieces[Symbol.asyncIterator]();
  const head = await headOf(source);
  const records = recordsOf(head, source);
  const columns = await columnsOf(records);
  return { columns, rows: rowsOf(columns, records) };
}

/** The columns alone, from the beginning of a table. @throws as `readCsv` */
export async function csvColumns(head: Uint8Array): Promise<readonly string[]> {
  const nothing: AsyncIterator<Uint8Array> = {
    next: async () => await Promise.resolve({ done: true, value: undefined }),
  };
  // The rows may be cut anywhere: only the header is read.
  const records = recordsOf(head, nothing, { to: 1 });
  try {
    return await columnsOf(records);
  } finally {
    await records.return(undefined);
  }
}

async function columnsOf(records: AsyncGenerator<CsvRecord>): Promise<readonly string[]> {
  const first = await records.next();
  if (first.done === true) {
    throw unreadable('it is empty, expected a first row that names the columns');
  }
  const columns = first.value.cells.map((name) => name.trim());
  checkColumns(columns);
  return columns;
}

function checkColumns(columns: readonly string[]): void {
  if (columns.length > columnsMax) {
    throw unreadable(`it has ${columns.length} columns, expected at most ${columnsMax}`);
  }
  const twice = columns.find((name, at) => name !== '' && columns.indexOf(name) < at);
  if (twice === undefined) return;
  throw new Failure('validation_failed', `Column ${twice} appears twice`, {
    faults: [{ path: twice, code: 'repeated', message: 'Expected each column once' }],
  });
}

interface CsvRecord {
  readonly cells: readonly string[];
  /** Of the whole row, as it is in the file. */
  readonly characters: number;
  readonly line: number;
}

async function* rowsOf(
  columns: readonly string[],
  records: AsyncIterable<CsvRecord>,
): AsyncGenerator<CsvRow> {
  for await (const { cells, characters, line } of records) {
    const fault = rowFault(cells, characters, columns.length);
    if (fault !== undefined) {
      yield { cells: fault, line };
      continue;
    }
    const named = new Map<string, string>();
    for (const [at, cell] of cells.entries()) {
      const text = cell.trim();
      const name = columns[at] ?? '';
      if (text !== '' && name !== '') named.set(name, text);
    }
    yield { cells: named, line };
  }
}

async function* recordsOf(
  head: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
  more: Options = {},
): AsyncGenerator<CsvRecord> {
  const options: Options = {
    bom: true,
    delimiter: separatorOf(head),
    raw: true,
    max_record_size: recordBytesMax,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    ...more,
  };
  const parser = parse(options);
  const source = Readable.from(joined(head, rest), { objectMode: false });
  source.on('error', (error) => parser.destroy(error));
  source.pipe(parser);
  let line = 1;
  try {
    for await (const { record, raw } of parser) {
      const cells: readonly string[] = record;
      const text = String(raw);
      const blank = lineBreaks(/^[\r\n]*/.exec(text)?.[0] ?? '');
      yield { cells, characters: text.length, line: line + blank };
      line += lineBreaks(text);
    }
  } catch (error) {
    throw error instanceof CsvError ? unreadable(reasonOf(error)) : error;
  } finally {
    source.destroy();
  }
}

/** Of a record's raw text, where the parser leaves CR of CRLF; its own count takes a quoted CRLF for two. */
function lineBreaks(text: string): number {
  return text.match(/\r\n|\r|\n/g)?.length ?? 0;
}

/** Enough of the beginning to see the header. */
async function headOf(source: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array(0);
  while (!head.includes(newline) && head.byteLength < headerBytesMax) {
    const next = await source.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  return head;
}

function separatorOf(head: Uint8Array): string {
  const [header = ''] = Buffer.from(head).toString('utf8').split('\n', 1);
  const count = (separator: string): number => header.split(separator).length;
  const [first] = [...separators].sort((one, other) => count(other) - count(one));
  return first ?? ',';
}

async function* joined(
  head: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield head;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}

/** The parser's own words may quote the table; only what and where are passed on. */
function reasonOf(error: CsvError): string {
  const line: unknown = Reflect.get(error, 'lines');
  const what: Readonly<Record<string, string>> = {
    CSV_QUOTE_NOT_CLOSED: 'a quote is never closed',
    CSV_INVALID_CLOSING_QUOTE: 'text follows the closing quote of a cell',
    CSV_MAX_RECORD_SIZE: `a row is larger than ${recordBytesMax} bytes`,
  };
  return `${what[error.code] ?? 'it is not CSV'} (line ${String(line)})`;
}

function rowFault(
  cells: readonly string[],
  characters: number,
  columns: number,
): Failure | undefined {
  if (characters > rowCharactersMax) {
    return new Failure('body_too_large', `This row is longer than ${rowCharactersMax} characters`);
  }
  if (cells.length > columns) {
    return badRow('too_many_cells', `This row has ${cells.length} cells, the header ${columns}`);
  }
  return cells.some((cell) => cell.includes(replacement))
    ? badRow('invalid_characters', 'This row is not valid UTF-8')
    : undefined;
}

function badRow(code: string, message: string): Failure {
  return new Failure('validation_failed', message, { faults: [{ path: '', code, message }] });
}

function unreadable(reason: string): Failure {
  const message = `Cannot read the CSV: ${reason}`;
  return new Failure('validation_failed', message, {
    faults: [{ path: '', code: 'invalid_csv', message }],
  });
}
