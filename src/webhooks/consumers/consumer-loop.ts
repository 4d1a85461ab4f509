/**
 * Runs an outbox consumer: when woken, it steps until the consumer has caught up. However often it is woken, one
 * step runs at a time. A step that fails (disk full) is retried; `behindMs` is what health and metrics report.
 */
import { setImmediate as yieldToEventLoop, setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import type { Logger } from '../../telemetry/log.ts';

const retryMs = 500;

export interface Consumer {
  /** For the log. */
  readonly name: string;
  /** Consumes the next few; false when there are no more. */
  step(): Promise<boolean>;
}

export class ConsumerLoop {
  readonly #consumer: Consumer;
  readonly #clock: Clock;
  readonly #log: Logger;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #isClosed = false;
  #isFailing = false;
  #behindSinceMs: number | undefined;

  constructor(consumer: Consumer, clock: Clock, log: Logger) {
    this.#consumer = consumer;
    this.#clock = clock;
    this.#log = log;
  }

  wake(): void {
    this.#isWoken = true;
    if (this.#isClosed || this.#running !== undefined) return;
    this.#behindSinceMs = this.#clock.monotonicMs();
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#isWoken) this.wake();
    });
  }

  /** No step runs. */
  get isQuiet(): boolean {
    return this.#running === undefined;
  }

  /** How long it has been behind; 0 = it has caught up. */
  get behindMs(): number {
    return this.#behindSinceMs === undefined ? 0 : this.#clock.monotonicMs() - this.#behindSinceMs;
  }

  /** Resolves when no step runs, and none will. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    const outbox = this.#consumer.name;
    while (!this.#isClosed) {
      this.#isWoken = false;
      try {
        const hasMore = await this.#consumer.step();
        if (this.#isFailing) this.#log.info({ outbox }, 'creating deliveries resumed');
        this.#isFailing = false;
        if (!hasMore && !this.#isWoken) break;
        if (!hasMore) this.#behindSinceMs = this.#clock.monotonicMs();
        // A step that creates no delivery awaits nothing, and would block everything else on this thread.
        await yieldToEventLoop();
      } catch (err) {
        // A full disk fails every step: only the first failure in a row is logged.
        if (!this.#isFailing)
          this.#log.error({ err, outbox }, 'creating deliveries failed, retrying');
        this.#isFailing = true;
        await pause(retryMs);
      }
    }
    this.#behindSinceMs = undefined;
  }
}
