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
import type { ImportRecord } from '../../store/management/bulk.ts';
import type { Management } from '../../store/management/management.ts';
import type { CodeDraft, CreateOutcome } from '../code-creation.ts';
import type { Creator } from './bulk-requests.ts';

/** Rows a transaction: the service beside may wait for the store's lock, 15 ms. */
export const importBatchRows = 100;

/** A row: a draft, what is wrong with it, or nothing to do. */
export type ImportDraft = CodeDraft | Failure | 'skip';

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
   * @param onFailure called inside the transaction, before the failure is certain, and again when the batch
   *   is repeated after a crash
   * @throws Failure conflict when another run of the file is in progress; storage_full
   */
  async batch(
    drafts: readonly ImportDraft[],
    onFailure: (offset: number, failure: Failure) => void,
  ): Promise<void> {
    const wanted = [...drafts.entries()].filter(([, draft]) => draft !== 'skip');
    const rows = wanted.flatMap(([, draft]) => (draft === 'skip' ? [] : [draft]));
    let next = this.#record;
    await this.#creator.createMany(this.#actor, rows, {
      beforeWrites: () => this.#checkAlone(),
      afterWrites: (outcomes) => {
        for (const [at, outcome] of outcomes.entries()) {
          if (outcome instanceof Failure) onFailure(wanted[at]?.[0] ?? 0, outcome);
        }
        next = this.#advanced(drafts.length, rows.length, outcomes);
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

  #advanced(rows: number, tried: number, outcomes: readonly CreateOutcome[]): ImportRecord {
    const before = this.#record;
    return {
      ...before,
      rows: before.rows + rows,
      created: before.created + outcomes.filter((outcome) => !(outcome instanceof Failure)).length,
      skipped: before.skipped + rows - tried,
    };
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
