/**
 * A pool of threads for work that must not block its caller: drawing, signing, posting. The only user of Piscina.
 *
 *   run(task) --> [ waiting, at most queueMax ] --> [ running, at most threads x tasksPerThread ] --> result
 *                   one more: Failure('overloaded')     the thread dies: WorkerDied, outcome unknown
 *
 * `threadEntry` (entry.ts) returns exceptions of the work as data. So a rejection of Piscina means that the thread ended,
 * and the task may or may not have had its effect. Callers repeat a task that is repeatable.
 *
 * With work, at least one thread runs: after a death Piscina would otherwise start none for waiting tasks. An idle
 * pool also ends its last thread, which takes 15 to 25 MB; the next task waits 0.1 to 0.2 s for a new one, unless
 * its caller calls `warm` before.
 */
import { Piscina } from 'piscina';
import { Failure } from '../model/failure.ts';
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
  /** Default 5 minutes. */
  readonly restMs?: number | undefined;
  readonly onDeath?: (cause: unknown) => void;
}

export interface PoolStats {
  readonly running: number;
  readonly waiting: number;
  /** Threads that died. */
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

/** The first thread starts with the first task or `warm`. */
export function createPool<Task, Result>(options: PoolOptions): Pool<Task, Result> {
  const { threads, queueMax, tasksPerThread = 1 } = options;
  const runningMax = threads * tasksPerThread;
  if (threads < 1) throw new Error(`Cannot open a pool: ${threads} threads, expected at least 1`);
  let deaths = 0;
  let closing: Promise<void> | undefined;
  const died = (cause: unknown): void => {
    // A close ends running tasks: that is not a death.
    if (closing !== undefined) return;
    deaths += 1;
    options.onDeath?.(cause);
  };
  // All tasks of a dead thread reject with the same error.
  const counted = new WeakSet();
  const pool = new IdleEndingPool<Task, Result>(options, died);

  let inFlight = 0;

  const run = async (task: Task): Promise<Result> => {
    if (closing !== undefined) throw new Error('Cannot run a task: the pool is closed');
    if (inFlight >= runningMax + queueMax) {
      throw new Failure('overloaded', 'Too much work is waiting, try again shortly', {
        retryAfterSeconds: 1,
      });
    }
    inFlight += 1;
    const threadsOfTask = pool.take();
    try {
      return unwrap(
        await threadsOfTask.run(task).catch((error: unknown) => {
          const dropCause = pool.dropCauseOf(threadsOfTask);
          if (dropCause !== undefined) throw diedOf(dropCause);
          if (!(error instanceof Error) || !counted.has(error)) died(error);
          if (error instanceof Error) counted.add(error);
          pool.dropIfEmpty(threadsOfTask, error);
          throw diedOf(error);
        }),
      );
    } finally {
      inFlight -= 1;
      if (inFlight === 0 && closing === undefined) pool.endLater();
    }
  };

  return {
    run,
    stats: () => {
      const running = Math.min(inFlight, runningMax);
      return { running, waiting: inFlight - running, deaths };
    },
    warm: () => {
      if (closing !== undefined || inFlight > 0) return;
      pool.take();
      pool.endLater();
    },
    close: () => (closing ??= pool.end()),
  };
}

/** Starts with the first `take`, ends after a rest, and starts again. */
class IdleEndingPool<Task, Result> {
  readonly #options: PoolOptions;
  readonly #died: (cause: unknown) => void;
  #started: Piscina<Task, Outcome<Result>> | undefined;
  #ending: Promise<void> = Promise.resolve();
  /** Why the waiting tasks of a pool were dropped. */
  readonly #dropCauses = new WeakMap<Piscina, unknown>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions, died: (cause: unknown) => void) {
    this.#options = options;
    this.#died = died;
  }

  take(): Piscina<Task, Outcome<Result>> {
    clearTimeout(this.#timer);
    this.#started ??= this.#start();
    return this.#started;
  }

  dropCauseOf(piscina: Piscina): unknown {
    return this.#dropCauses.get(piscina);
  }

  /** When a thread cannot start, Piscina starts no other: this drops the waiting tasks; the next task gets a new pool. */
  dropIfEmpty(piscina: Piscina, cause: unknown): void {
    if (piscina.threads.length > 0 || piscina !== this.#started) return;
    this.#started = undefined;
    this.#dropCauses.set(piscina, cause);
    void piscina.destroy();
  }

  endLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.end(), this.#options.restMs ?? standardRestMs);
    this.#timer.unref();
  }

  end(): Promise<void> {
    clearTimeout(this.#timer);
    const ended = this.#started?.close();
    this.#started = undefined;
    if (ended !== undefined)
      this.#ending = Promise.all([this.#ending, ended]).then(() => undefined);
    return this.#ending;
  }

  #start(): Piscina<Task, Outcome<Result>> {
    const piscina = openPiscina<Task, Result>(this.#options);
    // Emitted when an idle thread dies; without a listener it ends the process.
    piscina.on('error', (cause) => {
      if (piscina === this.#started) this.#died(cause);
      this.dropIfEmpty(piscina, cause);
    });
    return piscina;
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
