/**
 * Counts redirects that were answered while no core was in contact: a node that is cut off redirects by the links it has.
 * It looks twice a second, so the count is right within half a second of redirects at each end.
 */
import type { RedirectThreads } from '../engine/redirect-threads.ts';
import type { Logger } from '../telemetry/log.ts';
import { Ticker } from '../telemetry/ticker.ts';

const everyMs = 500;

export interface StaleRedirectsOptions {
  readonly redirects: Pick<RedirectThreads, 'answered'>;
  /** A core reports its links, or this one leads. */
  readonly isInContact: () => boolean;
  readonly log: Logger;
}

export class StaleRedirects {
  readonly #options: StaleRedirectsOptions;
  readonly #ticker: Ticker;
  #before = 0;
  #wasInContact = true;
  count = 0;

  constructor(options: StaleRedirectsOptions) {
    this.#options = options;
    this.#ticker = new Ticker({
      everyMs,
      log: options.log,
      failed: 'counting stale redirects failed, retrying',
      resumed: 'counting stale redirects resumed',
      run: () => this.tick(),
    });
  }

  start(): void {
    this.#ticker.start();
  }

  tick(): void {
    const { redirects, isInContact } = this.#options;
    const { answered } = redirects;
    const isInContactNow = isInContact();
    if (!isInContactNow && !this.#wasInContact) this.count += answered - this.#before;
    this.#before = answered;
    this.#wasInContact = isInContactNow;
  }

  close(): Promise<void> {
    return this.#ticker.close();
  }
}
