/**
 * Repeats work: each run begins `everyMs` after the end of the last, so runs never overlap. It logs the first of
 * consecutive failures (a full disk fails every run) and the first success after them.
 */
import { Failure } from '../model/failure.ts';
import type { Logger } from './log.ts';

export interface TickerOptions {
  /** A function is called at each `start` and after each run. */
  readonly everyMs: number | (() => number);
  readonly run: () => Promise<unknown> | void;
  readonly log: Logger;
  /** The log line of the first failure in a row, for example "billing failed, retrying". */
  readonly failed: string;
  /** The log line of the first success after failures, for example "billing resumed". */
  readonly resumed: string;
}

export class Ticker {
  readonly #options: TickerOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;
  #isFailing = false;

  constructor(options: TickerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    const { everyMs } = this.#options;
    const waitMs = typeof everyMs === 'number' ? everyMs : everyMs();
    this.#timer = setTimeout(() => void this.runNow(), waitMs);
    this.#timer.unref();
  }

  /** Runs now, or joins the current run; the next one follows after `everyMs`. Never rejects. */
  runNow(): Promise<void> {
    if (this.#isClosed) return this.#running ?? Promise.resolve();
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      this.start();
    });
    return this.#running;
  }

  /** Resolves after the current run, the last one. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { run, log, failed, resumed } = this.#options;
    try {
      await run();
      if (this.#isFailing) log.info(resumed);
      this.#isFailing = false;
    } catch (err) {
      // In a cluster: another machine leads, or none can.
      const isRefused = err instanceof Failure && err.code === 'not_active';
      if (isRefused) log.debug({ reason: err.message }, failed);
      else if (!this.#isFailing) log.error({ err }, failed);
      this.#isFailing ||= !isRefused;
    }
  }
}
