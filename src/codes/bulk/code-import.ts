/**
 * The import of a file of any length: rows in batches, and in the transaction of each batch the note how
 * far the file has come. A run that dies goes on behind its last note when the same file is given again;
 * a file that is done is not done again.
 *
 * The note belongs to the content of the file and the options that give it its meaning, not to its name.
 * Two runs of one file at a time cannot both write: a batch begins where the note stands or not at all.
 */
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import type { ImportRecord } from '../../store/management/bulk.ts';
import type { Management } from '../../store/management/management.ts';
import type { CodeDraft, Made } from '../code-creation.ts';
import type { Creator } from './bulk-requests.ts';

/** Rows a transaction. Nobody waits on this thread, but the service may wait for the store's lock: 15 ms. */
export const importBatchRows = 100;

/** A row on its way: a draft, what is wrong with it, or nothing to do. */
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

  /** How far the file has come, in this run and those before. */
  get record(): ImportRecord {
    return this.#record;
  }

  /**
   * Makes the next rows.
   * @param failed told of a row's failure inside the transaction, before it is certain; a batch that is
   *   repeated after a crash tells again
   * @throws Failure conflict when another run of the file is under way; storage_full
   */
  async batch(
    drafts: readonly ImportDraft[],
    failed: (offset: number, failure: Failure) => void,
  ): Promise<void> {
    const wanted = [...drafts.entries()].filter(([, draft]) => draft !== 'skip');
    const rows = wanted.flatMap(([, draft]) => (draft === 'skip' ? [] : [draft]));
    let next = this.#record;
    await this.#creator.createMany(this.#actor, rows, {
      before: () => this.#checkAlone(),
      after: (made) => {
        for (const [at, one] of made.entries()) {
          if (one instanceof Failure) failed(wanted[at]?.[0] ?? 0, one);
        }
        next = this.#advanced(drafts.length, rows.length, made);
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

  #advanced(rows: number, tried: number, made: readonly Made[]): ImportRecord {
    const before = this.#record;
    return {
      ...before,
      rows: before.rows + rows,
      created: before.created + made.filter((one) => !(one instanceof Failure)).length,
      skipped: before.skipped + rows - tried,
    };
  }

  #checkAlone(): void {
    if ((this.#stored()?.rows ?? 0) === this.#record.rows) return;
    throw new Failure('conflict', 'Cannot import: another run of the same file is under way');
  }

  #stored(): ImportRecord | undefined {
    return this.#store.bulk.imports.get([this.#actor.workspaceNo, this.#fingerprint]);
  }

  #write(record: ImportRecord): void {
    this.#store.bulk.imports.put([this.#actor.workspaceNo, this.#fingerprint], record);
  }
}
