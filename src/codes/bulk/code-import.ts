/**
 * The import of a file of any length: rows in batches, and in the transaction of each batch the record how
 * many are done. A run that dies goes on after them when the same file is given again; a file that is done is
 * not imported again.
 *
 * The record belongs to the content of the file and the options that give it its meaning, not to its name.
 * Two runs of one file at a time cannot both write: a batch begins where the record stands or not at all.
 */
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import type { ImportRecord } from '../../store/management/product-tables.ts';
import type { Management } from '../../store/management/management.ts';
import type { CodeDraft } from '../code-creation.ts';
import type { Creator } from './bulk-requests.ts';

/** Codes a transaction, but for the last row's further ones: the service beside may wait for the store's lock, 15 ms. */
export const importBatchCodes = 100;

/** A row: its codes as drafts, or what is wrong with them. */
export interface ImportDraft {
  /** Without any, the row is left out. */
  readonly codes: ReadonlyArray<CodeDraft | Failure>;
  /** What the row has and no code of it, each as a sentence. */
  readonly lost: readonly string[];
}

/** @param failures one for each code of the row: undefined where the code is made */
export type OnRow = (offset: number, failures: ReadonlyArray<Failure | undefined>) => void;

/** The record after these rows; calls `onRow` for each that is not left out. @param outcomes one for each code */
export function recordAfter(
  before: ImportRecord,
  drafts: readonly ImportDraft[],
  outcomes: readonly unknown[],
  onRow: OnRow,
): ImportRecord {
  let { created, partial, skipped } = before;
  let done = 0;
  for (const [offset, { codes, lost }] of drafts.entries()) {
    const own = outcomes.slice(done, (done += codes.length));
    const failures = own.map((outcome) => (outcome instanceof Failure ? outcome : undefined));
    const made = failures.filter((failure) => failure === undefined).length;
    if (codes.length === 0) skipped += 1;
    else if (made === codes.length && lost.length === 0) created += 1;
    else if (made > 0) partial += 1;
    if (codes.length > 0) onRow(offset, failures);
  }
  return { ...before, rows: before.rows + drafts.length, created, partial, skipped };
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
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#creator = options.creator;
    this.#actor = options.actor;
    this.#fingerprint = options.fingerprint;
    this.#record = this.#stored() ?? {
      rows: 0,
      created: 0,
      partial: 0,
      skipped: 0,
      startedAtMs: options.clock.now(),
    };
  }

  /** What is done of the file, in this run and those before. */
  get record(): ImportRecord {
    return this.#record;
  }

  /**
   * Imports the next rows.
   * @param onRow called inside the transaction, before the outcome is certain, and again when the batch
   *   is repeated after a crash
   * @throws Failure conflict when another run of the file is in progress; storage_full
   */
  async batch(drafts: readonly ImportDraft[], onRow: OnRow): Promise<void> {
    const codes = drafts.flatMap((draft) => draft.codes);
    let next = this.#record;
    await this.#creator.createMany(this.#actor, codes, {
      beforeWrites: () => this.#checkAlone(),
      afterWrites: (outcomes) => {
        next = recordAfter(this.#record, drafts, outcomes, onRow);
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
    throw new Failure('conflict', 'Cannot import: another run of the same file is in progress');
  }

  #stored(): ImportRecord | undefined {
    return this.#store.bulk.imports.get([this.#actor.workspaceNo, this.#fingerprint]);
  }

  #write(record: ImportRecord): void {
    this.#store.bulk.imports.put([this.#actor.workspaceNo, this.#fingerprint], record);
  }
}
