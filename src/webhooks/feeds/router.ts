/** Reads an outbox as it grows and passes each entry to the feeds of its listeners. It repeats a failed step. */
import { setImmediate as yieldToEventLoop, setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import type { Logger } from '../../platform/log.ts';
import type { Feeds } from './feeds.ts';
import type { OutboxReader } from './outbox-reader.ts';

const retryMs = 500;

interface RouterOptions {
  readonly feeds: Pick<Feeds, 'unreadCount' | 'route'>;
  readonly reader: OutboxReader;
  readonly clock: Clock;
  readonly log: Logger;
}

export class Router {
  readonly #options: RouterOptions;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #isClosed = false;
  #isFailing = false;
  #behindSinceMs: number | undefined;
  /** The last observed position, and since when it has not moved. */
  #seen = { at: Number.NaN, sinceMs: 0 };

  constructor(options: RouterOptions) {
    this.#options = options;
  }

  wake(): void {
    this.#isWoken = true;
    if (this.#isClosed || this.#running !== undefined) return;
    const now = this.#options.clock.monotonicMs();
    this.#stillMs(now);
    this.#behindSinceMs = now;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#isWoken) this.wake();
    });
  }

  get isQuiet(): boolean {
    return this.#running === undefined;
  }

  /** How long it has been behind or stuck; 0 = it has caught up. */
  get behindMs(): number {
    const now = this.#options.clock.monotonicMs();
    return Math.max(this.#stillMs(now), now - (this.#behindSinceMs ?? now));
  }

  /** How long unread entries have not moved, even if no step runs. Called every second. */
  #stillMs(now: number): number {
    const { feeds, reader } = this.#options;
    const lag = feeds.unreadCount(reader.name);
    const at = reader.newest - lag;
    if (lag === 0 || at !== this.#seen.at) this.#seen = { at, sinceMs: now };
    return now - this.#seen.sinceMs;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    const { feeds, reader, clock, log } = this.#options;
    const outbox = reader.name;
    while (!this.#isClosed) {
      this.#isWoken = false;
      try {
        reader.refresh();
        const hasMore = feeds.route(reader);
        if (this.#isFailing) log.info({ outbox }, 'reading an outbox resumed');
        this.#isFailing = false;
        if (!hasMore && !this.#isWoken) break;
        if (!hasMore) this.#behindSinceMs = clock.monotonicMs();
        await yieldToEventLoop();
      } catch (err) {
        // Only the first failure in a row is logged.
        if (!this.#isFailing) log.error({ err, outbox }, 'reading an outbox failed, retrying');
        this.#isFailing = true;
        await pause(retryMs);
      }
    }
    this.#behindSinceMs = undefined;
  }
}
