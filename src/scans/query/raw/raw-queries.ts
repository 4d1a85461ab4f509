/**
 * Runs queries over raw scans in a thread of the lowest priority (raw-query.worker.ts): millions of scans take seconds, and
 * redirects must not wait.
 *
 *   run --> [ waits for its workspace's running query ] --> thread, in slices of a few workspaces' queries --> answer
 *             one too many: Failure('overloaded')
 *
 * Progress and cancellation are in shared memory.
 */
import pLimit, { type LimitFunction } from 'p-limit';
import { Failure } from '../../../model/failure.ts';
import type { WorkspaceNo } from '../../../model/numbers.ts';
import { shipped } from '../../../shipped.ts';
import { createPool, type Pool, WorkerDied } from '../../../workers/pool.ts';
import type { RawAnswer, RawQuery, RawScanCounter } from './raw-query.ts';
import { type PackedRawAnswer, RawControl, type RawTask, unpackAnswer } from './raw-task.ts';

/** Queries that take turns: each has its counts, a few megabytes. */
const runningMax = 4;
/** Waiting queries of one workspace: as many as a page has cards. */
const waitingOfWorkspaceMax = 15;
/** Of all workspaces, running or waiting. */
const queriesMax = 64;
const retryAfterSeconds = 2;
const standardProgressMs = 100;

export interface RawQueriesOptions {
  /** scans.mdb. */
  readonly path: string;
  /** Between two calls of `onProgress`; absent = 100. */
  readonly progressMs?: number;
}

export interface RawQueryStats {
  readonly running: number;
  readonly waiting: number;
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

  constructor({ path, progressMs = standardProgressMs }: RawQueriesOptions) {
    this.#path = path;
    this.#progressMs = progressMs;
    this.#pool = createPool<RawTask, PackedRawAnswer | undefined>({
      file: shipped.workerFile('raw-query'),
      threads: 1,
      tasksPerThread: runningMax,
      queueMax: queriesMax,
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
      return unpackAnswer(packed);
    } finally {
      clearInterval(timer);
      this.#running.delete(control);
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Reads once more if the thread died. */
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
