/**
 * Redirects that were answered while no core could say whether links had changed: a node that is cut off goes on by the links
 * it has. Looked at twice a second, so a count is right within half a second of redirects at each end.
 */
import type { RedirectThreads } from '../engine/redirect-threads.ts';
import type { Logger } from '../telemetry/log.ts';
import { Ticker } from '../telemetry/ticker.ts';

const everyMs = 500;

export interface StaleRedirectsOptions {
  readonly redirects: Pick<RedirectThreads, 'answered'>;
  /** A core says how far links are, or this one leads. */
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
