/**
 * The retention sweep, seen from the control thread: asks for what is due, forgets what is done.
 *
 *   due (management) --ask--> shards remove the numbers --purged--> forget (management) --> ask for more
 *
 * Nothing is remembered here: what is not forgotten is due, and asked again at the next tick, whichever
 * thread or process died in between. Removing twice removes nothing.
 */
import type { Logger } from '../telemetry/log.ts';
import type { PurgeOrder } from './purge.ts';

/** Codes asked for at a time: forgetting them is about 5 ms of the control thread. */
const batchMax = 200;

export interface RetentionOptions {
  readonly codes: {
    /** Codes whose time is over, oldest first. */
    due(limit: number): PurgeOrder[];
    forget(codeNos: readonly number[]): Promise<void>;
  };
  /** Asks the shards; `purged` is the answer. */
  readonly purge: (orders: readonly PurgeOrder[]) => void;
  readonly log: Logger;
}

export class RetentionSweep {
  readonly #options: RetentionOptions;
  #forgetting: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Looks for what is due. Every 30 s, and whenever something was done. */
  tick(): void {
    if (this.#isClosed) return;
    const due = this.#options.codes.due(batchMax);
    if (due.length > 0) this.#options.purge(due);
  }

  /** The shards have removed the numbers of these. */
  purged(codeNos: readonly number[]): void {
    this.#forgetting = this.#forget(this.#forgetting, codeNos);
  }

  /** Resolves when nothing is on its way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#forgetting;
  }

  async #forget(before: Promise<void>, codeNos: readonly number[]): Promise<void> {
    const { codes, log } = this.#options;
    await before;
    try {
      for (let at = 0; at < codeNos.length && !this.#isClosed; at += batchMax) {
        await codes.forget(codeNos.slice(at, at + batchMax));
      }
      this.tick();
    } catch (err) {
      log.error({ err }, 'cannot forget deleted codes, trying again');
    }
  }
}
