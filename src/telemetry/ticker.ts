/**
 * Work that repeats: one run at a time, the next begins `everyMs` after the last one ended, so a slow
 * run delays the next and never overlaps it. A run that fails is logged once, however often it fails
 * in a row (a full disk fails every run), and so is the first success after it.
 */
import { Failure } from '../model/failure.ts';
import type { Logger } from './log.ts';

export interface TickerOptions {
  /** A function is asked after each run, and at each `start`. */
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

  /** The first run begins after `everyMs`; called again, the next one does. */
  start(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    const { everyMs } = this.#options;
    const waitMs = typeof everyMs === 'number' ? everyMs : everyMs();
    this.#timer = setTimeout(() => void this.runNow(), waitMs);
    this.#timer.unref();
  }

  /** Runs now, or joins the run in progress, and goes on from there. Never rejects. */
  runNow(): Promise<void> {
    if (this.#isClosed) return this.#running ?? Promise.resolve();
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      this.start();
    });
    return this.#running;
  }

  /** Resolves when nothing runs, and nothing will. */
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
      // Of a cluster: another machine leads, or none can.
      const isRefused = err instanceof Failure && err.code === 'not_active';
      if (isRefused) log.debug({ reason: err.message }, failed);
      else if (!this.#isFailing) log.error({ err }, failed);
      this.#isFailing ||= !isRefused;
    }
  }
}
