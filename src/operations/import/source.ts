/**
 * Reads an import file as rows, from any known tool. The head of the file decides the format. The file is read once for
 * its fingerprint, then streamed.
 *
 *   csv, ndjson                       as for POST /qr-codes/bulk
 *   bitly, dub, shlink, kutt, yourls  as those tools write them: CSV, a JSON list, JSON lines, or an answer
 *                                     of their API with the list inside
 *
 * Memory holds one row, or a whole JSON document with the list inside: at most 256 MB.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { type BulkRow, bulkRows, ignoredColumns } from '../../product/codes/bulk/rows.ts';
import { csvColumns, readCsv } from '../../product/codes/bulk/csv-rows.ts';
import {
  missingFromTable,
  unusedColumns,
  vendorCode,
  type VendorFormat,
  vendorFormats,
  recognizeVendorExport,
} from '../../product/codes/bulk/vendor-exports.ts';
import { Failure, systemErrorCode } from '../../model/failure.ts';
import { shownText } from '../../model/text.ts';

type KnownFormat = 'csv' | 'ndjson' | VendorFormat;
export type ImportFormat = 'auto' | KnownFormat;

/** The text and its layout. */
type Layout = 'csv' | 'list' | 'lines' | 'document';

const headBytes = 65_536;
const documentBytesMax = 268_435_456;
const pieceBytes = 65_536;

export interface ImportRow extends Pick<BulkRow, 'line'> {
  /** Unchecked bodies of new codes: several for a link with several addresses. */
  readonly values: readonly unknown[];
  /** Data of the link that its codes lack, a sentence each. */
  readonly lost: readonly string[];
  /** Host of the old short link; undefined if the file lacks it. */
  readonly domain: string | undefined;
  /** Id of another tool's link, even of a refused one. */
  readonly slug?: string | undefined;
  readonly target?: string | undefined;
}

export interface ImportSource {
  readonly format: KnownFormat;
  readonly bytes: number;
  /** SHA-256 of its content, hex. */
  readonly hash: string;
  /** Missing or ignored data, for the operator. */
  readonly notices: readonly string[];
  /** @param onBytes called with the bytes read so far */
  rows(onBytes: (bytes: number) => void): AsyncIterable<ImportRow>;
}

/**
 * @param nowMs decides which links have ended
 * @param domain old domain to import; absent = all
 * @throws Failure with a text for the operator
 */
export async function openImportSource(
  file: string,
  format: ImportFormat,
  nowMs: number,
  domain?: string,
): Promise<ImportSource> {
  const head = await headOf(file);
  const layout = layoutOf(file, head);
  const known = format === 'auto' ? await recognize(file, layout, head) : format;
  const { size: bytes } = await stat(file);
  return {
    format: known,
    bytes,
    hash: await hashOf(file),
    notices: await noticesOf(layout, known, head),
    rows: (onBytes) => rowsOf({ file, layout, format: known, nowMs, domain }, onBytes),
  };
}

async function noticesOf(layout: Layout, format: KnownFormat, head: Buffer): Promise<string[]> {
  if (layout !== 'csv') return [];
  const columns = await csvColumns(head);
  const isVendor = isVendorFormat(format);
  const missing = isVendor ? missingFromTable(format, columns) : undefined;
  const unused = isVendor ? unusedColumns(format, columns) : ignoredColumns(columns);
  return [
    ...(missing === undefined ? [] : [missing]),
    ...(unused.length === 0 ? [] : [`These columns are not imported: ${unused.join(', ')}`]),
  ];
}

/** Reader of a file format. */
interface Reading {
  readonly file: string;
  readonly layout: Layout;
  readonly format: KnownFormat;
  readonly nowMs: number;
  readonly domain: string | undefined;
}

async function* rowsOf(
  reading: Reading,
  onBytes: (bytes: number) => void,
): AsyncGenerator<ImportRow> {
  const { file, layout, format } = reading;
  if (isVendorFormat(format)) {
    for await (const record of recordsOf(layout, file, onBytes)) {
      yield vendorRow(format, record, reading);
    }
    return;
  }
  if (layout === 'document') {
    throw unreadable('it is one JSON document, expected a list of codes');
  }
  for await (const row of bulkRows(bulkFormats[layout], piecesOf(file, onBytes))) {
    yield plainRow(row);
  }
}

const bulkFormats = { csv: 'csv', list: 'json', lines: 'ndjson' } as const;

function vendorRow(format: VendorFormat, { value, line }: BulkRow, reading: Reading): ImportRow {
  if (value instanceof Failure) return plainRow({ value, line });
  if (typeof value !== 'object' || value === null) {
    return plainRow({ value: unreadable('the row is not an object'), line });
  }
  return { ...vendorCode(format, { ...value }, reading.nowMs, reading.domain), line };
}

function plainRow({ value, line }: BulkRow): ImportRow {
  return { values: [value], lost: [], line, domain: undefined };
}

/** Rows as objects, or their failures. In a document the line of a record is its number, from 1. */
async function* recordsOf(
  layout: Layout,
  file: string,
  onBytes: (bytes: number) => void,
): AsyncGenerator<BulkRow> {
  if (layout === 'document') {
    const records = await recordsIn(file);
    yield* records.map((value, index) => ({ value, line: index + 1 }));
  } else if (layout === 'csv') {
    for await (const { cells, line } of (await readCsv(piecesOf(file, onBytes))).rows) {
      yield { value: cells instanceof Failure ? cells : Object.fromEntries(cells), line };
    }
  } else yield* bulkRows(bulkFormats[layout], piecesOf(file, onBytes));
}

async function recordsIn(file: string): Promise<unknown[]> {
  const { size } = await stat(file);
  if (size > documentBytesMax) {
    throw unreadable(
      `it is one JSON document of ${size} bytes, expected at most ${documentBytesMax}`,
    );
  }
  let document: unknown;
  try {
    document = JSON.parse((await readFile(file, 'utf8')).replace(/^\ufeff/, ''));
  } catch {
    throw unreadable('it is not JSON');
  }
  const records = listIn(document);
  if (records === undefined) throw unreadable('it has no list of links');
  return records;
}

/** The list's place in API answers of Kutt, Shlink and YOURLS, and in phpMyAdmin's tables. */
function listIn(document: unknown): unknown[] | undefined {
  if (Array.isArray(document)) {
    const tables = document.flatMap((part: unknown) => {
      const isTable = field(part, 'type') === 'table';
      const data = isTable ? field(part, 'data') : undefined;
      return Array.isArray(data) ? [data] : [];
    });
    return tables[0] ?? document;
  }
  for (const name of ['data', 'links', 'result', 'shortUrls']) {
    const found = field(document, name);
    if (Array.isArray(found)) return found;
    if (name === 'links' && typeof found === 'object' && found !== null)
      return Object.values(found);
    const below = field(found, 'data');
    if (Array.isArray(below)) return below;
  }
  return undefined;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** @throws Failure for an unknown format */
async function recognize(file: string, layout: Layout, head: Buffer): Promise<KnownFormat> {
  const names = await namesOf(file, layout, head);
  const vendor = recognizeVendorExport(names);
  // Kutt and YOURLS also have `target`; their other columns identify them.
  if (vendor !== undefined) return vendor;
  if (names.includes('target') && layout !== 'document') return layout === 'csv' ? 'csv' : 'ndjson';
  const seen = names.length === 0 ? 'none' : shownText(names.slice(0, 12).join(', '), 300);
  throw unreadable(`its format is unknown (columns: ${seen}); name it with --format`);
}

/** Columns, or the keys of the first record. */
async function namesOf(file: string, layout: Layout, head: Buffer): Promise<readonly string[]> {
  if (layout === 'csv') return await csvColumns(head);
  if (layout === 'document') return keysOf((await recordsIn(file))[0]);
  for await (const { value } of bulkRows(bulkFormats[layout], once(head))) return keysOf(value);
  return [];
}

const keysOf = (value: unknown): string[] =>
  typeof value === 'object' && value !== null && !(value instanceof Failure)
    ? Object.keys(value)
    : [];

/** By the first bytes; for a brace, by whether the first line is a whole record. */
function layoutOf(file: string, head: Buffer): Layout {
  const text = head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart();
  if (/^\[\s*\{\s*"type"\s*:\s*"header"/.test(text)) return 'document';
  if (text.startsWith('[')) return 'list';
  if (!text.startsWith('{')) return 'csv';
  if (/\.(ndjson|jsonl)$/i.test(file)) return 'lines';
  const [first = ''] = text.split('\n', 1);
  try {
    return listIn(JSON.parse(first)) === undefined ? 'lines' : 'document';
  } catch {
    return 'document';
  }
}

function isVendorFormat(format: KnownFormat): format is VendorFormat {
  return vendorFormats.some((vendor) => vendor === format);
}

async function headOf(file: string): Promise<Buffer> {
  try {
    const handle = await open(file);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    const code = systemErrorCode(error);
    throw new Failure('not_found', `Cannot read ${file}: ${code}, expected a file`);
  }
}

async function* piecesOf(
  file: string,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let read = 0;
  const stream: AsyncIterable<Buffer> = createReadStream(file, { highWaterMark: pieceBytes });
  for await (const piece of stream) {
    read += piece.byteLength;
    onBytes(read);
    yield piece;
  }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  const stream: AsyncIterable<Buffer> = createReadStream(file, { highWaterMark: 1_048_576 });
  for await (const piece of stream) hash.update(piece);
  return hash.digest('hex');
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function unreadable(reason: string): Failure {
  return new Failure('validation_failed', `Cannot import the file: ${reason}`);
}
