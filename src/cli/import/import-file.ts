/**
 * `quietzone import FILE`: links of a file, of any length, as QR codes; beside a running service or without.
 *
 *   file -> rows (source.ts) -> drafts -> 100 a transaction, with the note how far it has come
 *        -> the running service follows the numbered changes of links (codes/links/link-refresher.ts)
 *
 * Given the same file again, it goes on where it stopped, and does nothing when there is nothing left.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBody } from '../../api/codes/code-schemas.ts';
import { check, validationFailure } from '../../api/faults.ts';
import type { Administration } from '../../app.ts';
import { type ImportDraft, importBatchRows } from '../../codes/bulk/code-import.ts';
import type { CodeDraft } from '../../codes/code-creation.ts';
import type { Clock } from '../../model/clock.ts';
import { foldShortCode } from '../../model/code.ts';
import { isoTime } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import type { ImportRecord } from '../../store/management/bulk.ts';
import { FailureReport, type ImportPrinter, ImportProgress } from './report.ts';
import {
  type ImportFormat,
  type ImportRow,
  type ImportSource,
  openImportSource,
} from './source.ts';
import { workspaceOf } from '../command.ts';

/** Between two batches the store's lock is free for the service that runs beside. */
const pauseMs = 1;

export interface ImportRequest {
  readonly file: string;
  readonly workspace?: string;
  readonly format: ImportFormat;
  readonly isDryRun: boolean;
  readonly errors?: string;
  /** Only links of this old domain. */
  readonly domain?: string;
}

type Parts = Pick<Administration, 'services' | 'codes'>;

/** @returns whether every row became a code, in this run or before @throws Failure */
export async function importFile(
  options: Parts,
  request: ImportRequest,
  printer: ImportPrinter,
  clock: Clock,
): Promise<boolean> {
  const source = await openImportSource(request.file, request.format);
  printer.progress(`${request.file}: ${source.bytes} bytes, read as ${source.format}`);
  const run = request.isDryRun ? dryRun : realRun;
  return await run(options, request, source, printer, clock);
}

async function realRun(
  { services, codes }: Parts,
  request: ImportRequest,
  source: ImportSource,
  printer: ImportPrinter,
  clock: Clock,
): Promise<boolean> {
  const actor = actorOf(services, request.workspace);
  const run = codes.openImport(actor, fingerprintOf(source, request));
  const { rows: rowsBefore, finishedAtMs } = run.record;
  if (finishedAtMs !== undefined) {
    printer.result(`Imported already, at ${isoTime(finishedAtMs)}: ${sumsOf(run.record)}`);
    return failedOf(run.record) === 0;
  }
  if (rowsBefore > 0) printer.progress(`Going on behind row ${rowsBefore}: ${sumsOf(run.record)}`);
  const report = new FailureReport(request.errors, rowsBefore);
  const progress = new ImportProgress(printer, clock, source.bytes);
  let bytes = 0;
  try {
    const rows = source.rows((read) => (bytes = read));
    for await (const batch of batchesOf(rows, rowsBefore)) {
      const first = run.record.rows + 1;
      await run.batch(
        batch.map((row) => draftOf(row, request.domain)),
        (offset, failure) => report.add(failedRow(codes, batch[offset], first + offset, failure)),
      );
      progress.show(bytes, run.record.rows, failedOf(run.record));
      await sleep(pauseMs);
    }
    await run.finish();
  } finally {
    progress.stop();
  }
  if (report.text !== '') printer.progress(report.text);
  printer.result(`Imported ${request.file}: ${sumsOf(run.record)}`);
  return failedOf(run.record) === 0;
}

async function dryRun(
  { codes }: Parts,
  request: ImportRequest,
  source: ImportSource,
  printer: ImportPrinter,
  clock: Clock,
): Promise<boolean> {
  const report = new FailureReport(request.errors, 0);
  const progress = new ImportProgress(printer, clock, source.bytes);
  const slugs = new Map<string, string>();
  let bytes = 0;
  let record: ImportRecord = { rows: 0, created: 0, skipped: 0, startedAtMs: 0 };
  try {
    for await (const row of source.rows((read) => (bytes = read))) {
      const draft = draftOf(row, request.domain);
      const { rows, created, skipped } = record;
      record = { ...record, rows: rows + 1 };
      if (draft === 'skip') record = { ...record, skipped: skipped + 1 };
      else {
        const failure = failureOf(codes, draft, slugs);
        if (failure === undefined) record = { ...record, created: created + 1 };
        else report.add(failedRow(codes, row, record.rows, failure, slugs));
      }
      progress.show(bytes, record.rows, failedOf(record));
    }
  } finally {
    progress.stop();
  }
  if (report.text !== '') printer.progress(report.text);
  printer.result(`Nothing is changed. ${request.file} would be imported: ${sumsOf(record)}`);
  return failedOf(record) === 0;
}

/** @param slugs of the rows before, by their folded form; takes this one's */
function failureOf(
  codes: Parts['codes'],
  draft: CodeDraft | Failure,
  slugs: Map<string, string>,
): Failure | undefined {
  if (draft instanceof Failure) return draft;
  const failure = codes.faultOf(draft);
  const { slug } = draft;
  if (failure !== undefined || slug === undefined) return failure;
  if (slugs.has(foldShortCode(slug))) return slugTaken('An earlier row has this slug');
  slugs.set(foldShortCode(slug), slug);
  return undefined;
}

/** Rows from 100 to 100, behind those that are done. */
async function* batchesOf(
  rows: AsyncIterable<ImportRow>,
  done: number,
): AsyncGenerator<ImportRow[]> {
  let seen = 0;
  let batch: ImportRow[] = [];
  for await (const row of rows) {
    seen += 1;
    if (seen <= done) continue;
    batch.push(row);
    if (batch.length < importBatchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function draftOf({ value, domain }: ImportRow, wanted: string | undefined): ImportDraft {
  if (wanted !== undefined && domain !== undefined && domain !== wanted.toLowerCase())
    return 'skip';
  if (value instanceof Failure) return value;
  const checked = check(createBody, value);
  if (!checked.ok) return validationFailure(checked.faults, 'row');
  const { expiresAt, ...rest } = checked.value;
  if ('design' in rest && rest.design !== undefined) {
    const message = 'Designs are judged by the running service: use POST /v1/qr-codes/bulk';
    const faults = [{ path: 'design', code: 'not_importable', message }];
    return new Failure('validation_failed', message, { faults });
  }
  return { ...rest, expiresAtMs: expiresAt };
}

function failedRow(
  codes: Parts['codes'],
  row: ImportRow | undefined,
  number: number,
  failure: Failure,
  slugs?: ReadonlyMap<string, string>,
) {
  const slug = textOf(row, 'slug');
  const target = textOf(row, 'target');
  const told = { row: number, line: row?.line ?? number, slug, target };
  if (failure.code !== 'slug_taken' || slug === undefined) return { ...told, failure };
  const holder = codes.holderOf(slug) ?? slugs?.get(foldShortCode(slug));
  if (holder === undefined || holder === slug) return { ...told, failure };
  const message = `${slug} differs from ${holder} by case alone, and short codes are found in any case`;
  return { ...told, failure: slugTaken(message) };
}

function slugTaken(message: string): Failure {
  const faults = [{ path: 'slug', code: 'slug_taken', message }];
  return new Failure('slug_taken', message, { faults });
}

function textOf(row: ImportRow | undefined, name: string): string | undefined {
  const value: unknown =
    typeof row?.value === 'object' && row.value !== null ? Reflect.get(row.value, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Of everything that decides what the rows become. */
function fingerprintOf(source: ImportSource, { domain }: ImportRequest): string {
  const options = `${source.format}\n${domain?.toLowerCase() ?? ''}\n`;
  return createHash('sha256').update(options).update(source.hash).digest('hex');
}

/** Codes that come by the command line are their workspace's owner's. @throws Failure not_found */
function actorOf(services: Parts['services'], id: string | undefined): Actor {
  const workspace = workspaceOf(services, id);
  const owner = services.users.firstOwner(workspace.no);
  if (owner === undefined) throw new Failure('not_found', 'The workspace has no owner');
  return {
    userId: owner.id,
    workspaceId: workspace.id,
    workspaceNo: workspace.no,
    role: 'owner',
  };
}

const failedOf = ({ rows, created, skipped }: ImportRecord): number => rows - created - skipped;

function sumsOf(record: ImportRecord): string {
  const skipped = record.skipped === 0 ? '' : `, ${record.skipped} of other domains left out`;
  return `${record.rows} rows, ${record.created} created, ${failedOf(record)} failed${skipped}`;
}
