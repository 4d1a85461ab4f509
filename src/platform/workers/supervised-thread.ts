/**
 * A thread that is restarted when it dies.
 *
 * Every start makes a new setup, because a successor begins where the store and the journal end. Each restart waits
 * twice as long as the last, from 20 ms to a second; after ten seconds without a death it starts at 20 ms again.
 */
import { type MessagePort, parentPort, Worker, workerData as setupOf } from 'node:worker_threads';
import type { Clock } from '../../model/clock.ts';

const restartMsMax = 1_000;
const restartMsFirst = 20;
const healthyMs = 10_000;
/** Two thirds are for young objects. By default V8 takes up to 32 MB, which saves a redirect 0.2 to 0.4 of 11 µs. */
const resourceLimits = { maxYoungGenerationSizeMb: 6 };

export interface SupervisedThreadOptions<Setup, Message> {
  readonly file: URL;
  readonly setup: () => Promise<Setup> | Setup;
  readonly onMessage: (message: Message) => void;
  readonly onDeath: (reason: string, restarts: number) => void;
  readonly clock: Clock;
}

/** `one by one` takes longer and leaves a CPU to another process that still answers. */
export type StartPace = 'at once' | 'one by one';

/** @param threads each sends its first message when it has booted */
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
    const worker = new Worker(file, { workerData, resourceLimits });
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

  /** A dead thread loses the command: its successor starts from the setup. */
  send(command: Command): void {
    this.#worker?.postMessage(command);
  }

  /** Sends a command that ends the thread, and terminates it after `msMax`. Resolves when it has ended. */
  async stop(command: Command, msMax: number): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#restartTimer);
    this.send(command);
    const cutOff = setTimeout(() => void this.#worker?.terminate(), msMax);
    await this.#ended;
    clearTimeout(cutOff);
  }

  /** @param ranMs 0 when the setup failed, however long that took */
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

export interface ThreadChannel<Setup, Message, Command> {
  readonly setup: Setup;
  readonly send: (message: Message) => void;
  readonly onCommand: (handle: (command: Command) => void) => void;
}

/** The thread's side. It trusts the types of messages, because both ends are built together. */
export function openThreadChannel<Setup, Message, Command>(): ThreadChannel<
  Setup,
  Message,
  Command
> {
  const port: MessagePort | null = parentPort;
  if (port === null) throw new Error('Cannot open a thread channel: this is the main thread');
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    setup: setupOf as Setup,
    send: (message) => port.postMessage(message),
    onCommand: (handle) => port.on('message', handle),
  };
}
