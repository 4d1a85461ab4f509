/**
 * The transactions of a replicated environment: a queue, and a pump that takes what waits, batch by batch.
 *
 *   queued ── run, its writes undone ──> in the log? ── yes ──> applied, answered
 *      │                                     └── no ──> refused: `not_active`
 *      └── the lease lapsed, a hold, a close ──> refused
 *
 * A work runs on what was applied from the log. What it writes is seen by the later works of its batch, and by no other
 * reader until it was applied: no environment is ever ahead of its log, and nothing has to be taken back.
 * A batch begins in an immediate, so that the transactions of one cycle share it, also those of callers that were
 * answered just now. Of 10 callers with a log of 2 ms: 10 works a batch and 4,290 a second; when it began at once, 5
 * and 2,200. A caller alone waits the same.
 */
import { Failure } from '../model/failure.ts';
import type { Replicator, StoredWrite } from './replication.ts';

/** Works of a batch. */
export const batchWorksMax = 500;
/** Works that wait for a batch: minutes of them while the log is away. */
export const queuedWorksMax = 10_000;

export type Work = () => unknown;

/** What a work returned or threw; one that threw has written nothing. */
export type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** Works that were run, one after another, on the data as it is; nothing that they wrote is there any more. */
export interface BatchRun {
  /** Of the first works, in their order; those without one were not run, and are in the next batch. At least one. */
  readonly outcomes: readonly Outcome[];
  /** In the order in which they were made. */
  readonly writes: readonly StoredWrite[];
}

export interface ReplicatedTransactionsOptions {
  /** One at a time. The works run without a pause between them; what it throws refuses all that it was given. */
  readonly run: (works: readonly Work[]) => BatchRun | Promise<BatchRun>;
  readonly replicator: Replicator;
  /** Runs `begin` in a later cycle of the event loop; default `setImmediate`. */
  readonly soon?: (begin: () => void) => void;
}

interface Queued {
  readonly work: Work;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class ReplicatedTransactions {
  readonly #run: (works: readonly Work[]) => BatchRun | Promise<BatchRun>;
  readonly #replicator: Replicator;
  readonly #soon: (begin: () => void) => void;
  readonly #unlisten: () => void;
  #queue: Queued[] = [];
  /** Why what waits was refused since the batch began. */
  #refusal: { readonly error: unknown } | undefined;
  /** Lapses of the lease so far. Another machine may have written since: a batch that was run before one is refused. */
  #lapses = 0;
  /** A batch is due, or under way. */
  #isPumping = false;
  #isClosed = false;

  constructor({ run, replicator, soon = setImmediate }: ReplicatedTransactionsOptions) {
    this.#run = run;
    this.#replicator = replicator;
    this.#soon = soon;
    this.#unlisten = replicator.lapsed.listen(() => this.#lapse());
  }

  /**
   * Resolves with what `work` returned when its writes are in the log and applied here, in the order of the calls.
   * Called within a work, it is a transaction of its own, after that one.
   * @throws what `work` threw; Failure not_active: not done, and never will be; Failure overloaded; what `run` threw
   */
  async add<T>(work: () => T): Promise<T> {
    if (this.#isClosed) throw closedFailure();
    this.#replicator.check();
    if (this.#queue.length >= queuedWorksMax) throw fullQueue();
    return await new Promise<T>((resolve, reject) => {
      // The pump gives each caller what its own work returned.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
      if (this.#isPumping) return;
      this.#isPumping = true;
      this.#soon(() => void this.#pump());
    });
  }

  /** Refuses what waits for a batch; the batch that is under way ends. */
  refuse(error: unknown): void {
    this.#refusal = { error };
    for (const { reject } of this.#queue.splice(0)) reject(error);
  }

  /**
   * Refuses what waits, and what comes, with `not_active`. A batch that is being written to the log is answered as the
   * log decides, also after this.
   */
  close(): void {
    this.#isClosed = true;
    this.#unlisten();
    this.refuse(closedFailure());
  }

  #lapse(): void {
    try {
      this.#replicator.check();
    } catch (error) {
      this.#lapses++;
      this.refuse(error);
    }
  }

  async #pump(): Promise<void> {
    const offered = this.#queue.splice(0, batchWorksMax);
    this.#refusal = undefined;
    try {
      if (offered.length > 0) await this.#answer(offered, await this.#tried(offered));
    } catch (error) {
      for (const { reject } of offered) reject(error);
    }
    // Calls that the answered callers make in microtasks join the next batch.
    this.#isPumping = this.#queue.length > 0;
    if (this.#isPumping) this.#soon(() => void this.#pump());
  }

  async #tried(offered: readonly Queued[]): Promise<BatchRun> {
    this.#replicator.check();
    const lapses = this.#lapses;
    const run = await this.#run(offered.map(({ work }) => work));
    this.#queue.unshift(...offered.slice(run.outcomes.length));
    if (this.#refusal !== undefined) {
      this.refuse(this.#refusal.error);
      if (lapses !== this.#lapses) throw this.#refusal.error;
    }
    return run;
  }

  /**
   * A batch that the log refused is refused whole: what a work of it threw (`slug_taken`) may be due to what an earlier
   * one wrote, which is refused too.
   */
  async #answer(offered: readonly Queued[], { outcomes, writes }: BatchRun): Promise<void> {
    let refused: { readonly error: unknown } | undefined;
    try {
      if (writes.length > 0) await this.#replicator.commit(writes);
      else this.#replicator.check();
    } catch (error) {
      refused = { error };
    }
    for (const [at, outcome] of outcomes.entries()) {
      const { resolve, reject } = offered[at]!;
      if (refused !== undefined) reject(refused.error);
      else if ('error' in outcome) reject(outcome.error);
      else resolve(outcome.value);
    }
  }
}

const closedFailure = (): Failure =>
  new Failure('not_active', 'Cannot change anything now: this machine stops');

const fullQueue = (): Failure =>
  new Failure('overloaded', 'Cannot change anything now: too many changes wait', {
    retryAfterSeconds: 1,
  });
