/**
 * `quietzone import FILE`: imports the links of a file of any length as QR codes, whether or not a service runs.
 *
 *   file -> rows (source.ts) -> batches -> import.rows: one transaction for 100 codes and the import's position
 *
 * A second run of the same file resumes at its position, or does nothing if it is complete. A dry run uses
 * `import.check` instead.
 */
import { createHash } from 'node:crypto';
import type { InputOf } from '../../app/administration/operations.ts';
import {
  importBatchCodes,
  noRows,
  reasonOf,
  recordAfter,
} from '../../product/codes/bulk/code-import.ts';
import { taken } from '../../product/codes/code-creation.ts';
import type { Clock } from '../../model/clock.ts';
import { foldShortCode } from '../../model/code.ts';
import { isoTime } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import type { ImportReason, ImportRecord } from '../../store/management/product-tables.ts';
import { ProgressLines } from '../copy-progress.ts';
import type { Ask } from '../session.ts';
import { FailureReport, type ImportPrinter } from './report.ts';
import {
  type ImportFormat,
  type ImportRow,
  type ImportSource,
  openImportSource,
} from './source.ts';

/** JSON of a batch's rows; a message may have twice this size. */
const batchBytesMax = 524_288;

export interface ImportRequest {
  readonly file: string;
  readonly workspace?: string;
  readonly format: ImportFormat;
  readonly isDryRun: boolean;
  readonly errors?: string;
  /** Only links of this old domain. */
  readonly domain?: string;
}

type Rows = InputOf<'import.rows'>['rows'];

interface Run {
  /** Rows done in this and earlier runs. */
  record: ImportRecord;
  batch(rows: Rows): Promise<void>;
  finish(): Promise<void>;
}

/** @returns whether every row became codes without loss, in this run or earlier @throws Failure */
export async function importFile(
  ask: Ask,
  request: ImportRequest,
  printer: ImportPrinter,
  clock: Clock,
): Promise<boolean> {
  const { file, isDryRun, domain } = request;
  const source = await openImportSource(file, request.format, clock.now(), domain);
  printer.progress(`${file}: ${source.bytes} bytes, read as ${source.format}`);
  for (const notice of source.notices) printer.progress(notice);
  const run: Run = isDryRun ? dryRun(ask, request) : await openFileRun(ask, request, source);
  const { rows: rowsBefore, finishedAtMs } = run.record;
  if (finishedAtMs !== undefined) {
    printer.result(`Imported already, at ${isoTime(finishedAtMs)}: ${sumsOf(run.record)}`);
    return isWhole(run.record);
  }
  if (rowsBefore > 0) printer.progress(`Resumed after row ${rowsBefore}: ${sumsOf(run.record)}`);
  // An earlier run may have died before it wrote the lines of its last batch.
  const reported = rowsBefore - run.record.reasons.length;
  const report = new FailureReport(request.errors, reported);
  const last = run.record.reasons;
  const progress = new ProgressLines(printer.progress, clock, source.bytes);
  let bytes = 0;
  const rows = source.rows((read) => (bytes = read));
  const onDone = (row: ImportRow, number: number): void =>
    reportRow(report, row, number, last[number - reported - 1] ?? []);
  for await (const batch of batchesOf(rows, rowsBefore, domain, onDone)) {
    const first = run.record.rows + 1;
    await run.batch(batch.map(({ sent }) => sent));
    const { reasons } = run.record;
    for (const [offset, { row }] of batch.entries()) {
      reportRow(report, row, first + offset, reasons[offset] ?? []);
    }
    progress.update(bytes, `${run.record.rows} rows, ${failedOf(run.record)} failed`);
  }
  await run.finish();
  if (report.text !== '') printer.progress(report.text);
  const outcome = isDryRun ? `Dry run: ${file} would be imported` : `Imported ${file}`;
  printer.result(`${outcome}: ${sumsOf(run.record)}`);
  return isWhole(run.record);
}

interface BatchRow {
  readonly row: ImportRow;
  readonly sent: Rows[number];
}

/**
 * Batches of a hundred codes or of `batchBytesMax`. @param done rows that are done
 * @param domain the wanted one @param onDone gets those rows, and their numbers
 */
async function* batchesOf(
  rows: AsyncIterable<ImportRow>,
  done: number,
  domain: string | undefined,
  onDone: (row: ImportRow, number: number) => void,
): AsyncGenerator<BatchRow[]> {
  let seen = 0;
  let batch: BatchRow[] = [];
  let [codes, bytes] = [0, 0];
  for await (const read of rows) {
    seen += 1;
    if (seen <= done) {
      onDone(read, seen);
      continue;
    }
    const { row, sent, size } = sendable(read, domain);
    if (codes >= importBatchCodes || bytes + size > batchBytesMax) {
      if (batch.length > 0) yield batch;
      batch = [];
      [codes, bytes] = [0, 0];
    }
    batch.push({ row, sent });
    codes += sent.values.length;
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** A row as sent; refuses a too large one. */
function sendable(
  row: ImportRow,
  wanted: string | undefined,
): BatchRow & { readonly size: number } {
  const isWanted =
    wanted === undefined || row.domain === undefined || row.domain === wanted.toLowerCase();
  const values = isWanted ? row.values : [];
  const sent = {
    values: values.map((value) =>
      value instanceof Failure
        ? { isReadable: false, body: null }
        : { isReadable: true, body: value },
    ),
    lost: [...row.lost],
  };
  const size = Buffer.byteLength(JSON.stringify(sent));
  if (size <= batchBytesMax) return { row, sent, size };
  const tooLarge = new Failure('body_too_large', `This row is larger than ${batchBytesMax} bytes`);
  return sendable({ ...row, values: [tooLarge], lost: [] }, wanted);
}

/**
 * One line for a row that failed, lost data or became several codes.
 * @param reasons of each code; none for a row that is left out
 */
function reportRow(
  report: FailureReport,
  row: ImportRow,
  number: number,
  reasons: ReadonlyArray<ImportReason | null>,
): void {
  if (reasons.length === 0) return;
  const { line, values, lost } = row;
  const slugs = values.map((value) => textOf(value, 'slug') ?? row.slug);
  const made = slugs.filter((_, at) => reasons[at] === null);
  const names = made.map((slug) => slug ?? 'a generated slug').join(', ');
  const faults = reasons.flatMap((reason, at) => {
    if (reason === null) return [];
    const value = values[at];
    const own = value instanceof Failure ? reasonOf(value, undefined, () => undefined) : reason;
    const { code, message } = own;
    return [{ code, message: values.length === 1 ? message : `${slugs[at]}: ${message}` }];
  });
  if (faults.length + lost.length === 0) {
    if (made.length > 1) report.addNote(`line ${line}: ${made.length} codes of one link: ${names}`);
    return;
  }
  const target = textOf(values[0], 'target') ?? row.target;
  const code = made.length > 0 ? 'incomplete' : (faults[0]?.code ?? '');
  const imported = made.length > 0 ? [`imported as ${names}`] : [];
  const message = [...imported, ...faults.map((fault) => fault.message), ...lost].join('; ');
  report.add({ row: number, line, slug: slugs[0], target, code, message });
}

function textOf(value: unknown, name: 'slug' | 'target' | 'externalId'): string | undefined {
  const text: unknown =
    typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  return typeof text === 'string' ? text : undefined;
}

/** Hash of the file and of the options that affect its codes. */
function fingerprintOf(source: ImportSource, { domain }: ImportRequest): string {
  const options = `${source.format}\n${domain?.toLowerCase() ?? ''}\n`;
  return createHash('sha256').update(options).update(source.hash).digest('hex');
}

const failedOf = ({ rows, created, partial, skipped }: ImportRecord): number =>
  rows - created - partial - skipped;

const isWhole = (record: ImportRecord): boolean => failedOf(record) + record.partial === 0;

function sumsOf(record: ImportRecord): string {
  const partial = record.partial === 0 ? '' : `, ${record.partial} incomplete`;
  const skipped = record.skipped === 0 ? '' : `, ${record.skipped} of other domains left out`;
  const rows = record.rows === 1 ? '1 row' : `${record.rows} rows`;
  return `${rows}, ${record.created} created${partial}, ${failedOf(record)} failed${skipped}`;
}

async function openFileRun(ask: Ask, request: ImportRequest, source: ImportSource): Promise<Run> {
  const { workspace } = request;
  const file = { workspace, fingerprint: fingerprintOf(source, request) };
  const run: Run = {
    record: await ask('import.open', file),
    async batch(rows) {
      const after = run.record.rows;
      run.record = await ask('import.rows', { ...file, after, rows }).catch(orResume);
    },
    async finish() {
      const after = run.record.rows;
      run.record = await ask('import.finish', { ...file, after }).catch(orResume);
    },
  };
  return run;
}

/** If the leader does not answer. A batch commits with its record, so the next run resumes here. */
function orResume(error: unknown): never {
  if (!(error instanceof Failure) || error.code !== 'outcome_unknown') throw error;
  throw new Failure(
    'outcome_unknown',
    'The leading core did not answer; run the import again: it resumes',
  );
}

/** Finds rows that would fail; does not store anything. */
function dryRun(ask: Ask, { workspace }: ImportRequest): Run {
  /** Slugs of the rows so far, by their folded form, and their external ids. */
  const slugs = new Map<string, string>();
  const externalIds = new Set<string>();
  /** The conflict of a code with earlier rows. */
  const repeated = (body: unknown): ImportReason | null => {
    const [slug, externalId] = [textOf(body, 'slug'), textOf(body, 'externalId')];
    const folded = slug && foldShortCode(slug);
    if (externalId && externalIds.has(externalId)) return reasonOf(idRepeated, slug, () => slug);
    if (folded && slugs.has(folded)) return reasonOf(slugRepeated, slug, () => slugs.get(folded));
    if (slug && folded) slugs.set(folded, slug);
    if (externalId) externalIds.add(externalId);
    return null;
  };
  const run: Run = {
    record: { ...noRows, startedAtMs: 0 },
    async batch(rows) {
      const checked = await ask('import.check', { workspace, rows });
      const reasons = checked.map((row, offset) =>
        row.map((reason, at) => reason ?? repeated(rows[offset]?.values[at]?.body)),
      );
      run.record = recordAfter(run.record, rows, reasons);
    },
    finish: () => Promise.resolve(),
  };
  return run;
}

const slugRepeated = taken('slug', 'slug_taken', 'An earlier row has this slug');
const idRepeated = taken('externalId', 'external_id_taken', 'An earlier row has this id');
