/**
 * Follows a sequence that grows elsewhere: woken when something came, it steps until it is at the end.
 * However often it is woken, one step runs at a time. A step that fails (disk full) is tried again; how
 * long it has not reached the end is what health and metrics tell.
 */
import type { Clock } from '../../model/clock.ts';
import type { Logger } from '../../telemetry/log.ts';

const retryMs = 500;

export interface Consumer {
  /** For the log. */
  readonly name: string;
  /** Takes the next few; false when there was no more. */
  step(): Promise<boolean>;
}

export class ConsumerLoop {
  readonly #follower: Consumer;
  readonly #clock: Clock;
  readonly #log: Logger;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #isClosed = false;
  #isFailing = false;
  #behindSinceMs: number | undefined;

  constructor(follower: Consumer, clock: Clock, log: Logger) {
    this.#follower = follower;
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

  /** How long it has not been at the end; 0 = it is. */
  get behindMs(): number {
    return this.#behindSinceMs === undefined ? 0 : this.#clock.monotonicMs() - this.#behindSinceMs;
  }

  /** Resolves when no step runs, and none will. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      this.#isWoken = false;
      try {
        const hasMore = await this.#follower.step();
        if (this.#isFailing)
          this.#log.info({ outbox: this.#follower.name }, 'events are taken again');
        this.#isFailing = false;
        if (!hasMore && !this.#isWoken) break;
        if (!hasMore) this.#behindSinceMs = this.#clock.monotonicMs();
        // A step over events that concern nobody waits for nothing: others have their turn.
        await new Promise((resolve) => setImmediate(resolve));
      } catch (err) {
        // A full disk fails every step: one line says so, and one that it is over.
        if (!this.#isFailing) {
          this.#log.error({ err, outbox: this.#follower.name }, 'cannot make deliveries of events');
        }
        this.#isFailing = true;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
    this.#behindSinceMs = undefined;
  }
}
