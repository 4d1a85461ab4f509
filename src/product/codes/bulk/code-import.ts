/**
 * The import of a file of any length: rows in batches. The transaction of a batch also writes a record: how many rows are done,
 * and why the last ones failed. The same file resumes after them if a run dies, and does nothing once it
 * is complete.
 *
 * The record belongs to the content of the file and to the options that decide its meaning, not to its name. If two runs import
 * one file, only one can write: a batch that does not continue the record is refused.
 */
import type { Clock } from '../../../model/clock.ts';
import { Failure } from '../../../model/failure.ts';
import type { Actor } from '../../../model/workspace.ts';
import type { ImportReason, ImportRecord } from '../../../store/management/product-tables.ts';
import type { Management } from '../../../store/management/management.ts';
import type { CodeDraft } from '../code-creation.ts';
import type { Creator } from './bulk-requests.ts';

/** Codes of a transaction; its last row may exceed it. Other requests wait for about 15 ms. */
export const importBatchCodes = 100;

/** A row: the drafts of its codes, or why they are invalid. */
export interface ImportDraft {
  /** Empty = the row is left out. */
  readonly codes: ReadonlyArray<CodeDraft | Failure>;
  /** Data of the row that no code has, each as a sentence. */
  readonly lost: readonly string[];
}

/** Finds the slug that is looked up the same. */
type HolderOf = (slug: string) => string | undefined;

export const noRows = { rows: 0, created: 0, partial: 0, skipped: 0, reasons: [] } as const;

/** The record after these rows. @param reasons of each row's codes */
export function recordAfter(
  before: ImportRecord,
  rows: ReadonlyArray<{ readonly lost: readonly string[] }>,
  reasons: ImportRecord['reasons'],
): ImportRecord {
  let { created, partial, skipped } = before;
  for (const [offset, { lost }] of rows.entries()) {
    const codes = reasons[offset] ?? [];
    const made = codes.filter((reason) => reason === null).length;
    if (codes.length === 0) skipped += 1;
    else if (made === codes.length && lost.length === 0) created += 1;
    else if (made > 0) partial += 1;
  }
  return { ...before, rows: before.rows + rows.length, created, partial, skipped, reasons };
}

/** Why a code was not made: the first fault, and who has a slug that is taken in another case. */
export function reasonOf(
  failure: Failure,
  slug: string | undefined,
  holderOf: HolderOf,
): ImportReason {
  const holder = failure.code === 'slug_taken' && slug !== undefined ? holderOf(slug) : slug;
  const [fault] = failure.faults;
  const { code, message } = fault ?? failure;
  const text =
    holder === undefined || holder === slug
      ? message
      : `${slug} differs from ${holder} by case alone, and short codes are found in any case`;
  return { code, message: fault?.path ? `${fault.path}: ${text}` : text };
}

/** What an import needs of the codes. */
interface ImportCreator extends Creator {
  readonly holderOf: HolderOf;
}

export class CodeImports {
  readonly #store: Management;
  readonly #clock: Clock;
  readonly #creator: ImportCreator;

  constructor(store: Management, clock: Clock, creator: ImportCreator) {
    this.#store = store;
    this.#clock = clock;
    this.#creator = creator;
  }

  /** How far all runs have imported the file. @param fingerprint of the file and its options */
  record({ workspaceNo }: Actor, fingerprint: string): ImportRecord {
    const stored = this.#store.bulk.imports.get([workspaceNo, fingerprint]);
    return stored ?? { ...noRows, startedAtMs: this.#clock.now() };
  }

  /**
   * Imports the next rows. The record has the reasons of those that fail, so a client that dies finds them there.
   * @param after rows that the caller has seen done
   * @throws Failure conflict when another run of the file is in progress; storage_full
   */
  async batch(
    actor: Actor,
    fingerprint: string,
    after: number,
    drafts: readonly ImportDraft[],
  ): Promise<ImportRecord> {
    const codes = drafts.flatMap((draft) => draft.codes);
    let record = this.#recordAt(actor, fingerprint, after);
    await this.#creator.createMany(actor, codes, {
      beforeWrites: () => void this.#recordAt(actor, fingerprint, after),
      afterWrites: (outcomes) => {
        const all = outcomes.map((outcome, at) => {
          const code = codes[at];
          const slug = code instanceof Failure ? undefined : code?.slug;
          if (!(outcome instanceof Failure)) return null;
          return reasonOf(outcome, slug, (taken) => this.#creator.holderOf(taken));
        });
        let done = 0;
        const reasons = drafts.map((row) => all.slice(done, (done += row.codes.length)));
        record = recordAfter(record, drafts, reasons);
        this.#store.bulk.imports.put([actor.workspaceNo, fingerprint], record);
      },
    });
    return record;
  }

  /** The file has no more rows. @throws Failure as `batch` */
  async finish(actor: Actor, fingerprint: string, after: number): Promise<ImportRecord> {
    return await this.#store.environment.transaction(() => {
      const record = this.#recordAt(actor, fingerprint, after);
      const finished = { ...record, finishedAtMs: this.#clock.now() };
      this.#store.bulk.imports.put([actor.workspaceNo, fingerprint], finished);
      return finished;
    });
  }

  #recordAt(actor: Actor, fingerprint: string, after: number): ImportRecord {
    const record = this.record(actor, fingerprint);
    if (record.rows === after) return record;
    throw new Failure('conflict', 'Cannot import: another run of the same file is in progress');
  }
}
