/**
 * A thread that must always run: started, and started again when it dies.
 *
 * Every start makes a new setup, because a successor begins where the store and the journal end,
 * not where its predecessor began. Each restart waits twice as long as the last, up to a second; a thread
 * that has run for ten seconds restarts at once.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../model/clock.ts';
import { threadStart } from './thread-sources.ts';

const restartMsMax = 1_000;
const restartMsFirst = 20;
/** The death of a thread that has run this long counts as a first one. */
const healthyMs = 10_000;
/**
 * Young objects live in two thirds of it, 4 MB. Left to itself V8 doubles their space over hours and millions of scans, up
 * to 32 MB in each thread. With that a redirect whose address comes from the socket took 0.2 to 0.4 µs less, of 11.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 6 };

export interface SupervisedThreadOptions<Setup, Message> {
  readonly file: URL;
  /** Called before each start. */
  readonly setup: () => Promise<Setup> | Setup;
  readonly onMessage: (message: Message) => void;
  /** Called with the reason why the thread ended, before it is started again. */
  readonly onDeath: (reason: string, restarts: number) => void;
  readonly clock: Clock;
}

/**
 * `one by one`: each thread boots when the one before has sent its first message. It takes longer, and leaves a CPU to
 * another process that answers meanwhile.
 */
export type StartPace = 'at once' | 'one by one';

/** @param threads each sends a message when it has booted */
export async function startThreads(
  threads: ReadonlyArray<{ start(): Promise<void>; readonly booted: Promise<void> }>,
  pace: StartPace,
): Promise<void> {
  if (pace === 'at once') {
    await Promise.all(threads.map((thread) => thread.start()));
    return;
  }
  for (const thread of threads) {
    await thread.start();
    await thread.booted;
  }
}

export class SupervisedThread<Setup, Command, Message> {
  readonly #options: SupervisedThreadOptions<Setup, Message>;
  #worker: Worker | undefined;
  #isStopping = false;
  #restartTimer: NodeJS.Timeout | undefined;
  #waitMs = restartMsFirst;
  #ended: Promise<void> = Promise.resolve();
  /** After `start`: resolves with the first message of the thread, or its end. */
  booted: Promise<void> = Promise.resolve();
  restarts = 0;

  constructor(options: SupervisedThreadOptions<Setup, Message>) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { file, setup, onMessage, clock } = this.#options;
    const workerData = await setup();
    if (this.#isStopping) return;
    const start = threadStart(file);
    const worker = new Worker(start.file, { workerData, argv: start.argv, resourceLimits });
    this.#worker = worker;
    const startedMs = clock.monotonicMs();
    let reason = 'it ended without an error';
    worker.on('message', (message: Message) => onMessage(message));
    worker.on('error', (error: unknown) => {
      reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    this.booted = new Promise((resolve) => {
      worker.once('message', () => resolve());
      worker.once('exit', () => resolve());
    });
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        if (this.#worker === worker) this.#worker = undefined;
        resolve();
        this.#restart(reason, clock.monotonicMs() - startedMs);
      });
    });
  }

  /** Lost where the thread is dead: its successor starts from the setup. */
  send(command: Command): void {
    this.#worker?.postMessage(command);
  }

  /** Sends the command that ends the thread; cuts it off after `msMax`. Resolves when it has ended. */
  async stop(command: Command, msMax: number): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#restartTimer);
    this.send(command);
    const cutOff = setTimeout(() => void this.#worker?.terminate(), msMax);
    await this.#ended;
    clearTimeout(cutOff);
  }

  /** @param ranMs 0 when it did not start: a setup that takes long to fail must not be retried faster */
  #restart(reason: string, ranMs: number): void {
    if (this.#isStopping) return;
    const { onDeath } = this.#options;
    this.restarts++;
    if (ranMs > healthyMs) this.#waitMs = restartMsFirst;
    onDeath(reason, this.restarts);
    this.#restartTimer = setTimeout(() => {
      this.start().catch((error: unknown) => this.#restart(String(error), 0));
    }, this.#waitMs);
    this.#waitMs = Math.min(restartMsMax, this.#waitMs * 2);
  }
}
