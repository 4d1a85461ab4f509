/**
 * A pool of threads for work that must not block its caller: drawing, signing, posting.
 * The only module that uses Piscina.
 *
 *   run(task) --> [ waiting, at most queueMax ] --> [ running, at most threads x tasksPerThread ] --> result
 *                   one more: Failure('overloaded')     the thread dies: WorkerDied, outcome unknown
 *
 * The worker file's default export is made by `threadEntry` (entry.ts), so exceptions of the work
 * come back as data. A rejection of Piscina itself therefore means that the thread ended, and the task
 * may or may not have had its effect. Callers whose task is repeatable run it once more.
 *
 * While there is work one thread always runs: Piscina gives waiting tasks to a new thread only when it starts one, and
 * without a minimum it would start none after a death. An idle pool ends its last thread too, which takes 15 to
 * 25 MB; the next task waits for a new one, 0.1 to 0.2 s. Who cannot wait calls `warm` now and then.
 */
import { Piscina } from 'piscina';
import { Failure } from '../model/failure.ts';
import type { Outcome } from './entry.ts';
import { threadStart } from './thread-sources.ts';

/** A thread above the first that is idle for this long ends and frees its memory. */
const idleTimeoutMs = 60_000;
/** A pool without a task for this long ends its last thread. */
const standardRestMs = 300_000;
/** `close` waits this long for running tasks, then cuts them off. Below the drain of a stop (15 s). */
const closeTimeoutMs = 5_000;

export interface PoolOptions {
  /** The worker file: `new URL('./*.worker.ts', import.meta.url)`. */
  readonly file: URL;
  /** Threads at most, ≥ 1. */
  readonly threads: number;
  /** Tasks that may wait for a thread; 0 = none. */
  readonly queueMax: number;
  /** Tasks that run side by side on a thread, ≥ 1; more than the default 1 for work that waits for the network. */
  readonly tasksPerThread?: number;
  /** `close` waits this long for running tasks; default 5 s. */
  readonly closeMsMax?: number;
  /** Default 5 minutes. */
  readonly restMs?: number | undefined;
  /** Called for each thread that dies, with the cause. */
  readonly onDeath?: (cause: unknown) => void;
}

export interface PoolStats {
  readonly threads: number;
  readonly running: number;
  readonly waiting: number;
  /** Running tasks ÷ their maximum, 0 to 1. */
  readonly utilisation: number;
  readonly completed: number;
  /** Threads that died with or without a task since the pool was opened. */
  readonly deaths: number;
}

export interface Pool<Task, Result> {
  /**
   * Runs `task` (structured-cloned) on a thread.
   * @throws Failure('overloaded') when the queue is full; a Failure of the work; WorkerDied;
   *   Error with the text of any other exception of the work
   */
  run(task: Task): Promise<Result>;
  stats(): PoolStats;
  /** Has a thread ready for a task that will come; starts one where none runs. */
  warm(): void;
  /** Lets running tasks end, then ends the threads. A task given afterwards rejects. */
  close(): Promise<void>;
}

/** The thread ended before it answered: the task may have had its effect. */
export class WorkerDied extends Error {
  override readonly name = 'WorkerDied';
}

const diedOf = (cause: unknown): WorkerDied =>
  new WorkerDied('Cannot finish the task: its thread ended', { cause });

/** Opens the pool. Its first thread starts with the first task, or by `warm`. */
export function createPool<Task, Result>(options: PoolOptions): Pool<Task, Result> {
  const { threads, queueMax, tasksPerThread = 1 } = options;
  const runningMax = threads * tasksPerThread;
  if (threads < 1) throw new Error(`Cannot open a pool: ${threads} threads, expected at least 1`);
  let deaths = 0;
  let closing: Promise<void> | undefined;
  const died = (cause: unknown): void => {
    // Closing cuts off running tasks: that is no death.
    if (closing !== undefined) return;
    deaths += 1;
    options.onDeath?.(cause);
  };
  // All tasks of a thread are rejected with the one error it died of.
  const counted = new WeakSet();
  const pool = new IdleEndingPool<Task, Result>(options, died);

  let inFlight = 0;
  let completed = 0;

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
      completed += 1;
      if (inFlight === 0 && closing === undefined) pool.endLater();
    }
  };

  return {
    run,
    stats: () => {
      const running = Math.min(inFlight, runningMax);
      const waiting = inFlight - running;
      return { threads, running, waiting, utilisation: running / runningMax, completed, deaths };
    },
    warm: () => {
      if (closing !== undefined || inFlight > 0) return;
      pool.take();
      pool.endLater();
    },
    close: () => (closing ??= pool.end()),
  };
}

/** Starts when it is first taken, ends when nothing has been taken for a while, and starts again. */
class IdleEndingPool<Task, Result> {
  readonly #options: PoolOptions;
  readonly #died: (cause: unknown) => void;
  #started: Piscina<Task, Outcome<Result>> | undefined;
  #ending: Promise<void> = Promise.resolve();
  /** Of those whose waiting tasks were ended: why no thread started. */
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

  /** After a thread that could not start Piscina starts no other: its waiting tasks end, the next task gets another. */
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
    if (ended !== undefined) this.#ending = Promise.all([this.#ending, ended]).then(ignore);
    return this.#ending;
  }

  #start(): Piscina<Task, Outcome<Result>> {
    const piscina = openPiscina<Task, Result>(this.#options);
    // Emitted for an idle thread that dies; without a listener it would end the process.
    piscina.on('error', (cause) => {
      if (piscina === this.#started) this.#died(cause);
      this.dropIfEmpty(piscina, cause);
    });
    return piscina;
  }
}

const ignore = (): void => undefined;

function openPiscina<Task, Result>(options: PoolOptions): Piscina<Task, Outcome<Result>> {
  const { file, argv, name } = threadStart(options.file);
  return new Piscina<Task, Outcome<Result>>({
    filename: file.href,
    argv,
    name,
    minThreads: 1,
    maxThreads: options.threads,
    concurrentTasksPerWorker: options.tasksPerThread ?? 1,
    idleTimeout: idleTimeoutMs,
    closeTimeout: options.closeMsMax ?? closeTimeoutMs,
    // Work may keep sockets open between tasks; a thread asleep in Atomics.wait could not serve them.
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
