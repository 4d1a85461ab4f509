/**
 * Runs queries over raw scans in a thread of the lowest priority (raw-query.worker.ts): millions of scans take seconds, and
 * redirects must not wait.
 *
 *   run --> [ waits for its workspace's running query ] --> thread, in slices of a few workspaces' queries --> answer
 *             one too many: Failure('overloaded')
 */
import pLimit, { type LimitFunction } from 'p-limit';
import { Failure } from '../../../model/failure.ts';
import type { WorkspaceNo } from '../../../model/numbers.ts';
import { shipped } from '../../../platform/shipped.ts';
import { createPool, type Pool, WorkerDied } from '../../../platform/workers/pool.ts';
import { type RawAnswer, RawControl, type RawQuery, type RawScanCounter } from './raw-query.ts';
import { type PackedRawAnswer, type RawTask, unpackAnswer } from './raw-task.ts';

/** Queries that take turns: each has its counts, a few megabytes. */
const runningMax = 4;
/** Waiting queries of one workspace: as many as a page has cards. */
const waitingOfWorkspaceMax = 15;
/** Of all workspaces, running or waiting. */
const queriesMax = 64;
const retryAfterSeconds = 2;

export interface RawQueryStats {
  readonly running: number;
  readonly waiting: number;
  readonly deaths: number;
}

export class RawQueries implements RawScanCounter {
  readonly #path: string;
  readonly #pool: Pool<RawTask, PackedRawAnswer | undefined>;
  readonly #workspaces = new Map<WorkspaceNo | undefined, LimitFunction>();
  /** Running or waiting. */
  readonly #queries = new Set<RawControl>();

  /** @param path of scans.mdb */
  constructor(path: string) {
    this.#path = path;
    this.#pool = createPool<RawTask, PackedRawAnswer | undefined>({
      file: shipped.workerFile('raw-query'),
      threads: 1,
      tasksPerThread: runningMax,
      queueMax: queriesMax,
    });
  }

  async run(query: RawQuery): Promise<RawAnswer> {
    const { workspaceNo } = query;
    const control = new RawControl();
    const limit = this.#workspaces.get(workspaceNo) ?? pLimit(1);
    if (
      limit.activeCount + limit.pendingCount > waitingOfWorkspaceMax ||
      this.#queries.size >= queriesMax
    ) {
      const detail = 'Too many analytics with filters at a time';
      throw new Failure('overloaded', detail, { retryAfterSeconds });
    }
    this.#workspaces.set(workspaceNo, limit);
    this.#queries.add(control);
    try {
      const packed = await limit(() => this.#read(query, control));
      if (packed === undefined) throw new Error('Cannot query raw scans: the query was canceled');
      return unpackAnswer(packed);
    } finally {
      this.#queries.delete(control);
      if (limit.activeCount + limit.pendingCount === 0) this.#workspaces.delete(workspaceNo);
    }
  }

  /** Reads once more if the thread died. */
  async #read(query: RawQuery, control: RawControl): Promise<PackedRawAnswer | undefined> {
    if (control.isCanceled) return undefined;
    const task = { path: this.#path, query, control: control.shared };
    return await this.#pool.run(task).catch((error: unknown) => {
      if (error instanceof WorkerDied) return this.#pool.run(task);
      throw error;
    });
  }

  stats(): RawQueryStats {
    const { running, deaths } = this.#pool.stats();
    return { running, waiting: this.#queries.size - running, deaths };
  }

  /** Ends all queries; their callers get an Error. */
  async close(): Promise<void> {
    for (const control of this.#queries) control.cancel();
    await this.#pool.close();
  }
}
