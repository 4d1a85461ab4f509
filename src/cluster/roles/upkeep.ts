/**
 * The work of every node between changes of links: limits of codes are compared, link memory is freed, and redirects by old
 * links are counted. On a core that leads, the services also free memory.
 */
import type { RedirectThreads } from '../../engine/redirect/redirect-threads.ts';
import type { LinkWriter } from '../../engine/links/writer.ts';
import type { Logger } from '../../platform/log.ts';
import { Ticker } from '../../platform/ticker.ts';

/** How often the limits of codes are compared with the scans that all nodes counted. */
const limitsMs = 500;
/** How often link memory is freed, and links that did not fit are tried again. */
const freeMs = 30_000;

export interface UpkeepOptions {
  readonly writer: Pick<LinkWriter, 'free'>;
  readonly links: { closeLimits(): Promise<void>; publishPending(): void };
  readonly redirects: Pick<RedirectThreads, 'answered'>;
  /** A core reports its links, or this one leads. */
  readonly isInContact: () => boolean;
  readonly log: Logger;
}

export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #tickers: readonly [limits: Ticker, memory: Ticker];
  #answered = 0;
  #wasInContact = true;
  /** Redirects that were answered while no core was in contact; half a second at each end may be missing or extra. */
  staleRedirects = 0;

  /** Begins at once. */
  constructor(options: UpkeepOptions) {
    this.#options = options;
    const { writer, links, log } = options;
    const limits = new Ticker({
      everyMs: limitsMs,
      log,
      failed: 'comparing limits of codes failed, retrying',
      resumed: 'comparing limits of codes resumed',
      run: () => {
        this.#countStale();
        return links.closeLimits();
      },
    });
    const memory = new Ticker({
      everyMs: freeMs,
      log,
      failed: 'freeing link memory failed, retrying',
      resumed: 'freeing link memory resumed',
      run: () => {
        writer.free();
        links.publishPending();
      },
    });
    this.#tickers = [limits, memory];
    for (const ticker of this.#tickers) ticker.start();
  }

  /** Compares limits now. */
  closeLimits(): Promise<void> {
    return this.#tickers[0].runNow();
  }

  async close(): Promise<void> {
    for (const ticker of this.#tickers) await ticker.close();
  }

  #countStale(): void {
    const { redirects, isInContact } = this.#options;
    const { answered } = redirects;
    const isInContactNow = isInContact();
    if (!isInContactNow && !this.#wasInContact) this.staleRedirects += answered - this.#answered;
    this.#answered = answered;
    this.#wasInContact = isInContactNow;
  }
}
