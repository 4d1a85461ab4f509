/**
 * Queries over raw scans, in a thread of the lowest priority (raw-query.worker.ts): millions of scans take seconds, and
 * redirects must not wait for them.
 *
 *   run --> [ of its workspace: waits for the one that runs ] --> thread, a slice of each of a few workspaces --> answer
 *             one too many: Failure('overloaded')
 *
 * How far a query is, and that nobody waits for it any more, stand in memory that both threads see.
 */
import pLimit, { type LimitFunction } from 'p-limit';
import { Failure } from '../../../model/failure.ts';
import type { WorkspaceNo } from '../../../model/numbers.ts';
import { shipped } from '../../../shipped.ts';
import { createPool, type Pool, WorkerDied } from '../../../workers/pool.ts';
import { type PackedRawAnswer, unpackAnswer } from './packed-answer.ts';
import type { RawAnswer, RawQuery, RawScanCounter } from './raw-query.ts';
import { RawControl, type RawTask } from './raw-task.ts';

/** Queries whose slices follow one another: each holds its counts, a few megabytes. */
const runningMax = 4;
/** Of one workspace, beside the one that runs: as many as a page has cards. */
const waitingOfWorkspaceMax = 15;
/** Of all workspaces, running ones too. */
const queriesMax = 64;
const retryAfterSeconds = 2;
/** How often a query that runs is asked how far it is. */
const standardProgressMs = 100;

export interface RawQueriesOptions {
  /** scans.mdb. */
  readonly path: string;
  /** Of the thread, when nothing is asked; absent = 5 minutes. */
  readonly restMs?: number | undefined;
  /** Between two calls of `onProgress`; absent = 100. */
  readonly progressMs?: number;
}

export interface RawQueryStats {
  readonly running: number;
  /** For the thread, or for another query of the workspace. */
  readonly waiting: number;
  /** Of the thread. */
  readonly deaths: number;
}

type OnProgress = (share: number) => void;

export class RawQueries implements RawScanCounter {
  readonly #path: string;
  readonly #progressMs: number;
  readonly #pool: Pool<RawTask, PackedRawAnswer | undefined>;
  readonly #workspaces = new Map<WorkspaceNo | undefined, LimitFunction>();
  readonly #running = new Set<RawControl>();
  #queries = 0;

  constructor({ path, restMs, progressMs = standardProgressMs }: RawQueriesOptions) {
    this.#path = path;
    this.#progressMs = progressMs;
    this.#pool = createPool<RawTask, PackedRawAnswer | undefined>({
      file: shipped.workerFile('raw-query'),
      threads: 1,
      tasksPerThread: runningMax,
      queueMax: queriesMax,
      restMs,
    });
  }

  /** @throws Failure overloaded, data_damaged; the signal's reason */
  async run(query: RawQuery, onProgress?: OnProgress, signal?: AbortSignal): Promise<RawAnswer> {
    const { workspaceNo } = query;
    const limit = this.#workspaces.get(workspaceNo) ?? pLimit(1);
    if (
      limit.activeCount + limit.pendingCount > waitingOfWorkspaceMax ||
      this.#queries >= queriesMax
    ) {
      const detail = 'Too many analytics with filters at a time';
      throw new Failure('overloaded', detail, { retryAfterSeconds });
    }
    this.#workspaces.set(workspaceNo, limit);
    this.#queries += 1;
    try {
      return await limit(async () => await this.#run(query, onProgress, signal));
    } finally {
      this.#queries -= 1;
      if (limit.activeCount + limit.pendingCount === 0) this.#workspaces.delete(workspaceNo);
    }
  }

  async #run(
    query: RawQuery,
    onProgress: OnProgress | undefined,
    signal: AbortSignal | undefined,
  ): Promise<RawAnswer> {
    signal?.throwIfAborted();
    const control = new RawControl();
    const cancel = (): void => control.cancel();
    signal?.addEventListener('abort', cancel);
    this.#running.add(control);
    const timer = onProgress && setInterval(() => onProgress(control.share), this.#progressMs);
    try {
      const packed = await this.#read({ path: this.#path, query, control: control.shared });
      signal?.throwIfAborted();
      if (packed === undefined) throw new Error('Cannot query raw scans: the service is stopping');
      return unpackAnswer(packed, query.namesMax);
    } finally {
      clearInterval(timer);
      this.#running.delete(control);
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Once more where the thread died: reading can be repeated. */
  async #read(task: RawTask): Promise<PackedRawAnswer | undefined> {
    return await this.#pool.run(task).catch((error: unknown) => {
      if (error instanceof WorkerDied) return this.#pool.run(task);
      throw error;
    });
  }

  stats(): RawQueryStats {
    const { running, deaths } = this.#pool.stats();
    return { running, waiting: this.#queries - running, deaths };
  }

  /** Ends what runs; its callers get an Error. */
  async close(): Promise<void> {
    for (const control of this.#running) control.cancel();
    await this.#pool.close();
  }
}
