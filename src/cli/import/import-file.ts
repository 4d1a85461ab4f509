/**
 * `quietzone import FILE`: links of a file, of any length, as QR codes; beside a running service or without.
 *
 *   file -> rows (source.ts) -> drafts -> 100 a transaction, with the note how far the file has come
 *        -> the running service reads the numbered changes of links (codes/links/link-refresher.ts)
 *
 * The same file again goes on where it stopped, and does nothing when it is done. A dry run takes the same
 * way and checks the drafts in place of storing them (dry-run.ts).
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Administration } from '../../app.ts';
import { type ImportDraft, importBatchRows } from '../../codes/bulk/code-import.ts';
import type { Clock } from '../../model/clock.ts';
import { isoTime } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import type { ImportRecord } from '../../store/management/bulk.ts';
import type { ImportFormat } from './formats.ts';
import { DryRun, slugTaken } from './dry-run.ts';
import { type FailedRow, FailureReport, type ImportPrinter, ImportProgress } from './report.ts';
import { type ImportRow, type ImportSource, openImportSource } from './source.ts';
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

export type ImportServices = Pick<Administration, 'services' | 'codes' | 'draftOf'>;

/** @returns whether every row became a code, in this run or before @throws Failure */
export async function importFile(
  options: ImportServices,
  request: ImportRequest,
  printer: ImportPrinter,
  clock: Clock,
): Promise<boolean> {
  const { file, isDryRun } = request;
  const source = await openImportSource(file, request.format, clock.now());
  printer.progress(`${file}: ${source.bytes} bytes, read as ${source.format}`);
  if (source.notice !== undefined) printer.progress(source.notice);
  const run = isDryRun ? new DryRun(options.codes) : openRun(options, request, source);
  const { rows: rowsBefore, finishedAtMs } = run.record;
  if (finishedAtMs !== undefined) {
    printer.result(`Imported already, at ${isoTime(finishedAtMs)}: ${sumsOf(run.record)}`);
    return failedOf(run.record) === 0;
  }
  if (rowsBefore > 0) printer.progress(`Resumed after row ${rowsBefore}: ${sumsOf(run.record)}`);
  const holderOf = (slug: string): string | undefined =>
    options.codes.holderOf(slug) ?? (run instanceof DryRun ? run.holderOf(slug) : undefined);
  const report = new FailureReport(request.errors, rowsBefore);
  const progress = new ImportProgress(printer, clock, source.bytes);
  try {
    let bytes = 0;
    const rows = source.rows((read) => (bytes = read));
    for await (const batch of batchesOf(rows, rowsBefore)) {
      const first = run.record.rows + 1;
      const drafts = batch.map((row) => draftOf(options, row, request.domain));
      await run.batch(drafts, (offset, failure) =>
        report.add(failedRow(holderOf, batch[offset], first + offset, failure)),
      );
      progress.show(bytes, run.record.rows, failedOf(run.record));
      if (!isDryRun) await sleep(pauseMs);
    }
    await run.finish();
  } finally {
    progress.stop();
  }
  if (report.text !== '') printer.progress(report.text);
  const outcome = isDryRun ? `Dry run: ${file} would be imported` : `Imported ${file}`;
  printer.result(`${outcome}: ${sumsOf(run.record)}`);
  return failedOf(run.record) === 0;
}

function openRun(
  { services, codes }: ImportServices,
  request: ImportRequest,
  source: ImportSource,
) {
  const actor = actorOf(services, request.workspace);
  return codes.openImport(actor, fingerprintOf(source, request));
}

/** Rows by the hundred, after those that are done. */
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

function draftOf(
  options: ImportServices,
  { value, domain }: ImportRow,
  wanted: string | undefined,
): ImportDraft {
  const isWanted = wanted === undefined || domain === undefined || domain === wanted.toLowerCase();
  return isWanted ? options.draftOf(value) : 'skip';
}

/** @param holderOf finds who has a slug already: one that differs by case alone looks free */
function failedRow(
  holderOf: (slug: string) => string | undefined,
  row: ImportRow | undefined,
  number: number,
  failure: Failure,
): FailedRow {
  const slug = textOf(row, 'slug');
  const fields = { row: number, line: row?.line ?? number, slug, target: textOf(row, 'target') };
  const holder = failure.code === 'slug_taken' && slug !== undefined ? holderOf(slug) : slug;
  if (holder === undefined || holder === slug) return { ...fields, failure };
  const message = `${slug} differs from ${holder} by case alone, and short codes are found in any case`;
  return { ...fields, failure: slugTaken(message) };
}

function textOf(row: ImportRow | undefined, name: 'slug' | 'target'): string | undefined {
  const value: unknown =
    typeof row?.value === 'object' && row.value !== null ? Reflect.get(row.value, name) : undefined;
  return typeof value === 'string' ? value : row?.[name];
}

/** Of everything that decides what the rows become. */
function fingerprintOf(source: ImportSource, { domain }: ImportRequest): string {
  const options = `${source.format}\n${domain?.toLowerCase() ?? ''}\n`;
  return createHash('sha256').update(options).update(source.hash).digest('hex');
}

/** Codes that come by the command line are their workspace's owner's. @throws Failure not_found */
function actorOf(services: ImportServices['services'], id: string | undefined): Actor {
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
