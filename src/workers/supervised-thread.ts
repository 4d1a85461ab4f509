/**
 * A thread that must always be there: started, listened to, and started again when it dies.
 *
 * The setup is made anew for every start, for a successor begins where the store and the journal say,
 * not where its predecessor began. Restarts wait a little longer each time, up to a second; a thread that
 * has run for a while starts again at once.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../model/clock.ts';

const restartMsMax = 1_000;
const restartMsFirst = 20;
/** Having run this long, a thread's death counts as the first again. */
const healthyMs = 10_000;

export interface ThreadOptions<Setup, Report> {
  readonly file: URL;
  /** Called before each start; may wait. */
  readonly setup: () => Promise<Setup> | Setup;
  readonly onReport: (report: Report) => void;
  /** Told why the thread ended, before it is started again. */
  readonly onDeath: (reason: string, restarts: number) => void;
  readonly clock: Clock;
}

export class SupervisedThread<Setup, Request, Report> {
  readonly #options: ThreadOptions<Setup, Report>;
  #worker: Worker | undefined;
  #isStopping = false;
  #restartTimer: NodeJS.Timeout | undefined;
  #waitMs = restartMsFirst;
  #ended: Promise<void> = Promise.resolve();
  restarts = 0;

  constructor(options: ThreadOptions<Setup, Report>) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { file, setup, onReport, clock } = this.#options;
    const workerData = await setup();
    if (this.#isStopping) return;
    const worker = new Worker(file, { workerData });
    this.#worker = worker;
    const startedMs = clock.monotonicMs();
    let reason = 'it ended without a word';
    worker.on('message', (report: Report) => onReport(report));
    worker.on('error', (error: unknown) => {
      reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        if (this.#worker === worker) this.#worker = undefined;
        resolve();
        this.#restart(reason, clock.monotonicMs() - startedMs);
      });
    });
  }

  tell(request: Request): void {
    this.#worker?.postMessage(request);
  }

  /** Ends the thread by asking; cut off after `msMax`. Resolves when it is gone. */
  async stop(request: Request, msMax: number): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#restartTimer);
    this.tell(request);
    const cutOff = setTimeout(() => void this.#worker?.terminate(), msMax);
    await this.#ended;
    clearTimeout(cutOff);
  }

  /** @param ranMs 0 when it did not even start: a setup that fails for long must not be tried faster */
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
