/**
 * A pool of threads for work that must not block its caller: drawing, signing, posting. The only user of Piscina.
 *
 *   run(task) --> [ waiting, at most queueMax ] --> [ running, at most threads x tasksPerThread ] --> result
 *                   one more: Failure('overloaded')     the thread dies: WorkerDied, outcome unknown
 *
 * `threadEntry` returns exceptions of the work as data, so a rejection of Piscina means that the thread ended. With work, at
 * least one thread runs: after a death Piscina would otherwise start none for waiting tasks. An idle pool also ends its
 * last thread, which takes 15 to 25 MB; a new one takes 0.1 to 0.2 s, unless the caller calls `warm` before.
 */
import { Piscina } from 'piscina';
import { Failure } from '../../model/failure.ts';
import type { Outcome } from './entry.ts';

/** An idle thread above the first ends after this time. */
const idleTimeoutMs = 60_000;
/** An idle pool ends its last thread after this time. */
const standardRestMs = 300_000;
/** Shorter than the drain of a stop (15 s). */
const closeTimeoutMs = 5_000;

export interface PoolOptions {
  /** `new URL('./*.worker.ts', import.meta.url)` */
  readonly file: URL;
  readonly threads: number;
  readonly queueMax: number;
  /** Concurrent tasks on a thread; default 1, more for work that waits for the network. */
  readonly tasksPerThread?: number;
  /** `close` waits this long for running tasks, then ends their threads; default 5 s. */
  readonly closeMsMax?: number;
  readonly restMs?: number | undefined;
  readonly onDeath?: (cause: unknown) => void;
}

export interface PoolStats {
  readonly running: number;
  readonly waiting: number;
  readonly deaths: number;
}

export interface Pool<Task, Result> {
  /**
   * Runs a structured clone of `task`.
   * @throws Failure('overloaded') when the queue is full; WorkerDied; what the work throws
   */
  run(task: Task): Promise<Result>;
  stats(): PoolStats;
  warm(): void;
  /** Lets running tasks end, then ends the threads. Later tasks reject. */
  close(): Promise<void>;
}

/** The thread ended before it answered: the task may have had its effect. */
export class WorkerDied extends Error {
  override readonly name = 'WorkerDied';
}

const diedOf = (cause: unknown): WorkerDied =>
  new WorkerDied('Cannot finish the task: its thread ended', { cause });

export const createPool = <Task, Result>(options: PoolOptions): Pool<Task, Result> =>
  new IdleEndingPool(options);

class IdleEndingPool<Task, Result> implements Pool<Task, Result> {
  readonly #options: PoolOptions;
  readonly #runningMax: number;
  #started: Piscina<Task, Outcome<Result>> | undefined;
  #ending: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** Why the waiting tasks of a pool were dropped. */
  readonly #dropCauses = new WeakMap<Piscina, unknown>();
  /** All tasks of a dead thread reject with the same error. */
  readonly #counted = new WeakSet();
  #timer: NodeJS.Timeout | undefined;
  #inFlight = 0;
  #deaths = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#runningMax = options.threads * (options.tasksPerThread ?? 1);
  }

  async run(task: Task): Promise<Result> {
    if (this.#isClosed) throw new Error('Cannot run a task: the pool is closed');
    if (this.#inFlight >= this.#runningMax + this.#options.queueMax) {
      throw new Failure('overloaded', 'Too much work is waiting, try again shortly', {
        retryAfterSeconds: 1,
      });
    }
    this.#inFlight += 1;
    const piscina = this.#take();
    try {
      return unwrap(
        await piscina.run(task).catch((error: unknown) => {
          const dropCause = this.#dropCauses.get(piscina);
          if (dropCause !== undefined) throw diedOf(dropCause);
          this.#onDeath(piscina, error);
          throw diedOf(error);
        }),
      );
    } finally {
      this.#inFlight -= 1;
      if (this.#inFlight === 0 && !this.#isClosed) this.#endLater();
    }
  }

  stats(): PoolStats {
    const running = Math.min(this.#inFlight, this.#runningMax);
    return { running, waiting: this.#inFlight - running, deaths: this.#deaths };
  }

  warm(): void {
    if (this.#isClosed || this.#inFlight > 0) return;
    this.#take();
    this.#endLater();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#end();
  }

  #take(): Piscina<Task, Outcome<Result>> {
    clearTimeout(this.#timer);
    if (this.#started !== undefined) return this.#started;
    const piscina = openPiscina<Task, Result>(this.#options);
    // Emitted when an idle thread dies; without a listener it ends the process.
    piscina.on('error', (cause) => {
      if (piscina === this.#started) this.#onDeath(piscina, cause);
    });
    this.#started = piscina;
    return piscina;
  }

  #onDeath(piscina: Piscina, cause: unknown): void {
    const isCounted = cause instanceof Error && this.#counted.has(cause);
    if (cause instanceof Error) this.#counted.add(cause);
    // A close ends running tasks: that is not a death.
    if (!isCounted && !this.#isClosed) {
      this.#deaths += 1;
      this.#options.onDeath?.(cause);
    }
    if (piscina.threads.length > 0 || piscina !== this.#started) return;
    // A thread cannot start, and Piscina starts no other: the waiting tasks are dropped, the next one gets a new pool.
    this.#started = undefined;
    this.#dropCauses.set(piscina, cause);
    void piscina.destroy();
  }

  #endLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#end(), this.#options.restMs ?? standardRestMs);
    this.#timer.unref();
  }

  async #end(): Promise<void> {
    clearTimeout(this.#timer);
    const started = this.#started;
    this.#started = undefined;
    this.#ending = Promise.all([this.#ending, started?.close()]).then(() => undefined);
    await this.#ending;
  }
}

function openPiscina<Task, Result>(options: PoolOptions): Piscina<Task, Outcome<Result>> {
  return new Piscina<Task, Outcome<Result>>({
    filename: options.file.href,
    minThreads: 1,
    maxThreads: options.threads,
    concurrentTasksPerWorker: options.tasksPerThread ?? 1,
    idleTimeout: idleTimeoutMs,
    closeTimeout: options.closeMsMax ?? closeTimeoutMs,
    // A thread that sleeps in Atomics.wait could not serve the sockets it has open.
    atomics: 'disabled',
    recordTiming: false,
  });
}

function unwrap<Result>(outcome: Outcome<Result>): Result {
  if (outcome.kind === 'done') return outcome.value;
  if (outcome.kind === 'failed') {
    const { code, detail, faults, retryAfterSeconds } = outcome;
    throw new Failure(code, detail, {
      faults,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
  }
  const error = new Error(outcome.message);
  if (outcome.stack !== undefined) error.stack = outcome.stack;
  throw error;
}
