/**
 * The import of a file of any length: rows in batches. The transaction of a batch also writes a record: how many rows are done,
 * and why the last ones failed. A run that dies resumes after them when the same file is given again; a complete file is not
 * imported again.
 *
 * The record belongs to the content of the file and the options that decide its meaning, not to its name. Two runs of one file
 * at a time cannot both write: a batch continues the record or is refused.
 */
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import type { ImportReason, ImportRecord } from '../../store/management/product-tables.ts';
import type { Management } from '../../store/management/management.ts';
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

/** Why a code was not made: the first fault; of a slug that is taken in another case, also who has it. */
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

export class CodeImport {
  readonly #store: Management;
  readonly #clock: Clock;
  readonly #creator: Creator;
  readonly #actor: Actor;
  readonly #fingerprint: string;
  #record: ImportRecord;

  constructor(options: {
    readonly store: Management;
    readonly clock: Clock;
    readonly creator: Creator;
    readonly actor: Actor;
    /** Of the file and its options. */
    readonly fingerprint: string;
    /** Rows that the caller has seen done. @throws Failure conflict if others are */
    readonly rowsDone?: number | undefined;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#creator = options.creator;
    this.#actor = options.actor;
    this.#fingerprint = options.fingerprint;
    this.#record = this.#stored() ?? { ...noRows, startedAtMs: options.clock.now() };
    if (options.rowsDone !== undefined && options.rowsDone !== this.#record.rows) throw notAlone();
  }

  /** What is done of the file, in this run and earlier ones. */
  get record(): ImportRecord {
    return this.#record;
  }

  /**
   * Imports the next rows. The record has the reasons of those that fail, so a client that dies finds them there.
   * @throws Failure conflict when another run of the file is in progress; storage_full
   */
  async batch(drafts: readonly ImportDraft[], holderOf: HolderOf): Promise<void> {
    const codes = drafts.flatMap((draft) => draft.codes);
    let next = this.#record;
    await this.#creator.createMany(this.#actor, codes, {
      beforeWrites: () => this.#checkAlone(),
      afterWrites: (outcomes) => {
        const all = outcomes.map((outcome, at) => {
          const code = codes[at];
          const slug = code instanceof Failure ? undefined : code?.slug;
          return outcome instanceof Failure ? reasonOf(outcome, slug, holderOf) : null;
        });
        let done = 0;
        const reasons = drafts.map((row) => all.slice(done, (done += row.codes.length)));
        next = recordAfter(this.#record, drafts, reasons);
        this.#write(next);
      },
    });
    this.#record = next;
  }

  /** The file has no more rows. */
  async finish(): Promise<void> {
    const finished = { ...this.#record, finishedAtMs: this.#clock.now() };
    await this.#store.environment.transaction(() => {
      this.#checkAlone();
      this.#write(finished);
    });
    this.#record = finished;
  }

  #checkAlone(): void {
    if ((this.#stored()?.rows ?? 0) === this.#record.rows) return;
    throw notAlone();
  }

  #stored(): ImportRecord | undefined {
    return this.#store.bulk.imports.get([this.#actor.workspaceNo, this.#fingerprint]);
  }

  #write(record: ImportRecord): void {
    this.#store.bulk.imports.put([this.#actor.workspaceNo, this.#fingerprint], record);
  }
}

const notAlone = (): Failure =>
  new Failure('conflict', 'Cannot import: another run of the same file is in progress');
