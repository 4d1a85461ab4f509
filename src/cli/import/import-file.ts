/**
 * `quietzone import FILE`: links of a file, of any length, as QR codes; whether or not a service runs.
 *
 *   file -> rows (source.ts) -> drafts -> 100 a transaction, with the note how far the file has come
 *        -> the running service reads the numbered changes of links (codes/links/link-refresher.ts)
 *
 * The same file again continues where it stopped, and does nothing when it is done. A dry run takes the same
 * way and checks the drafts in place of storing them.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Administration } from '../../app.ts';
import {
  type ImportDraft,
  importBatchCodes,
  type OnRow,
  recordAfter,
} from '../../codes/bulk/code-import.ts';
import type { CodeDraft } from '../../codes/code-creation.ts';
import type { Codes } from '../../codes/codes.ts';
import type { Clock } from '../../model/clock.ts';
import { foldShortCode } from '../../model/code.ts';
import { isoTime } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import type { ImportRecord } from '../../store/management/product-tables.ts';
import { FailureReport, type ImportPrinter } from './report.ts';
import {
  type ImportFormat,
  type ImportRow,
  type ImportSource,
  openImportSource,
} from './source.ts';
import { workspaceOf } from '../command.ts';
import { ProgressBar } from '../copy-progress.ts';

/** Between two batches the store's lock is free for a running service. */
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

/** @returns whether every row became codes and lost nothing, in this run or before @throws Failure */
export async function importFile(
  options: ImportServices,
  request: ImportRequest,
  printer: ImportPrinter,
  clock: Clock,
): Promise<boolean> {
  const { file, isDryRun } = request;
  const source = await openImportSource(file, request.format, clock.now(), request.domain);
  printer.progress(`${file}: ${source.bytes} bytes, read as ${source.format}`);
  for (const notice of source.notices) printer.progress(notice);
  const run = isDryRun ? new DryRun(options.codes) : openRun(options, request, source);
  const { rows: rowsBefore, finishedAtMs } = run.record;
  if (finishedAtMs !== undefined) {
    printer.result(`Imported already, at ${isoTime(finishedAtMs)}: ${sumsOf(run.record)}`);
    return isWhole(run.record);
  }
  if (rowsBefore > 0) printer.progress(`Resumed after row ${rowsBefore}: ${sumsOf(run.record)}`);
  const holderOf = (slug: string): string | undefined =>
    options.codes.holderOf(slug) ?? (run instanceof DryRun ? run.holderOf(slug) : undefined);
  const report = new FailureReport(request.errors, rowsBefore);
  const format = '{rows} rows, {failed} failed | {eta_formatted}';
  const progress = new ProgressBar(printer, clock, format);
  progress.start(source.bytes, { rows: 0, failed: 0 });
  try {
    let bytes = 0;
    const rows = source.rows((read) => (bytes = read));
    for await (const batch of batchesOf(rows, rowsBefore)) {
      const first = run.record.rows + 1;
      const drafts = batch.map((row) => draftOf(options, row, request.domain));
      await run.batch(drafts, (offset, failures) => {
        const row = batch[offset];
        if (row !== undefined) reportRow(report, holderOf, row, first + offset, failures);
      });
      const [done, failed] = [run.record.rows, failedOf(run.record)];
      progress.update(bytes, { rows: done, failed }, `${done} rows, ${failed} failed`);
      if (!isDryRun) await sleep(pauseMs);
    }
    await run.finish();
  } finally {
    progress.stop();
  }
  if (report.text !== '') printer.progress(report.text);
  const outcome = isDryRun ? `Dry run: ${file} would be imported` : `Imported ${file}`;
  printer.result(`${outcome}: ${sumsOf(run.record)}`);
  return isWhole(run.record);
}

function openRun(
  { services, codes }: ImportServices,
  request: ImportRequest,
  source: ImportSource,
) {
  const actor = actorOf(services, request.workspace);
  return codes.openImport(actor, fingerprintOf(source, request));
}

/** Rows of a hundred codes or more, after those that are done. */
async function* batchesOf(
  rows: AsyncIterable<ImportRow>,
  done: number,
): AsyncGenerator<ImportRow[]> {
  let seen = 0;
  let batch: ImportRow[] = [];
  let codes = 0;
  for await (const row of rows) {
    seen += 1;
    if (seen <= done) continue;
    batch.push(row);
    codes += row.values.length;
    if (codes < importBatchCodes) continue;
    yield batch;
    batch = [];
    codes = 0;
  }
  if (batch.length > 0) yield batch;
}

function draftOf(
  options: ImportServices,
  { values, lost, domain }: ImportRow,
  wanted: string | undefined,
): ImportDraft {
  const isWanted = wanted === undefined || domain === undefined || domain === wanted.toLowerCase();
  return { codes: isWanted ? values.map(options.draftOf) : [], lost };
}

type HolderOf = (slug: string) => string | undefined;

/**
 * One line for a row that failed, lost something, or became several codes.
 * @param holderOf finds who has a slug already: one that differs by case alone looks free
 */
function reportRow(
  report: FailureReport,
  holderOf: HolderOf,
  row: ImportRow,
  number: number,
  failures: ReadonlyArray<Failure | undefined>,
): void {
  const { line, values, lost } = row;
  const slugs = values.map((value) => textOf(value, 'slug') ?? row.slug);
  const made = slugs.filter((_, at) => failures[at] === undefined);
  const names = made.map((slug) => slug ?? 'a generated slug').join(', ');
  const faults = failures.flatMap((failure, at) => {
    if (failure === undefined) return [];
    const { code, message } = reasonOf(holderOf, failure, slugs[at]);
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

/** The first fault; of a taken slug that differs by case alone, which slug has it. */
function reasonOf(holderOf: HolderOf, failure: Failure, slug: string | undefined) {
  const holder = failure.code === 'slug_taken' && slug !== undefined ? holderOf(slug) : slug;
  const [fault] = failure.faults;
  const { code, message } = fault ?? failure;
  const text =
    holder === undefined || holder === slug
      ? message
      : `${slug} differs from ${holder} by case alone, and short codes are found in any case`;
  return { code, message: fault?.path ? `${fault.path}: ${text}` : text };
}

function textOf(value: unknown, name: 'slug' | 'target'): string | undefined {
  const text: unknown =
    typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  return typeof text === 'string' ? text : undefined;
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

const failedOf = ({ rows, created, partial, skipped }: ImportRecord): number =>
  rows - created - partial - skipped;

const isWhole = (record: ImportRecord): boolean => failedOf(record) + record.partial === 0;

function sumsOf(record: ImportRecord): string {
  const partial = record.partial === 0 ? '' : `, ${record.partial} incomplete`;
  const skipped = record.skipped === 0 ? '' : `, ${record.skipped} of other domains left out`;
  return `${record.rows} rows, ${record.created} created${partial}, ${failedOf(record)} failed${skipped}`;
}

/** Stores nothing and says which rows would fail; in place of CodeImport. */
class DryRun {
  readonly #codes: Codes;
  /** Slugs of the rows so far, by their folded form. */
  readonly #slugs = new Map<string, string>();
  record: ImportRecord = { rows: 0, created: 0, partial: 0, skipped: 0, startedAtMs: 0 };

  constructor(codes: Codes) {
    this.#codes = codes;
  }

  async batch(drafts: readonly ImportDraft[], onRow: OnRow): Promise<void> {
    const outcomes = drafts.flatMap(({ codes }) => codes.map((code) => this.#failureOf(code)));
    this.record = recordAfter(this.record, drafts, outcomes, onRow);
    await Promise.resolve();
  }

  readonly finish = (): Promise<void> => Promise.resolve();

  /** The slug of an earlier row that looks up the same as this one. */
  holderOf(slug: string): string | undefined {
    return this.#slugs.get(foldShortCode(slug));
  }

  #failureOf(draft: CodeDraft | Failure): Failure | undefined {
    if (draft instanceof Failure) return draft;
    const failure = this.#codes.faultOf(draft);
    const { slug } = draft;
    if (failure !== undefined || slug === undefined) return failure;
    if (this.#slugs.has(foldShortCode(slug))) {
      const message = 'An earlier row has this slug';
      const faults = [{ path: 'slug', code: 'slug_taken', message }];
      return new Failure('slug_taken', message, { faults });
    }
    this.#slugs.set(foldShortCode(slug), slug);
    return undefined;
  }
}
