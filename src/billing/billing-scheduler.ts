/**
 * The tick of billing: looks once a second for what is due. What is due stands in the store, so a tick
 * that is late, lost with the process, or fails takes nothing with it.
 */
import type { Logger } from '../telemetry/log.ts';
import type { Billing } from './billing.ts';

/** A canceled plan becomes Free at most this long after its time. */
const tickMs = 1_000;

export class BillingScheduler {
  readonly #billing: Billing;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;
  #isFailing = false;

  private constructor(billing: Billing, log: Logger) {
    this.#billing = billing;
    this.#log = log;
  }

  /** Resolves once what fell due while the service was down is done: before requests are answered. */
  static async open(billing: Billing, log: Logger): Promise<BillingScheduler> {
    const timer = new BillingScheduler(billing, log);
    await timer.#tick();
    return timer;
  }

  /** Resolves when no tick runs, and none will. Before the management environment is closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#billing.close();
    await this.#running;
  }

  #plan(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#tick();
    }, tickMs);
    this.#timer.unref();
  }

  async #tick(): Promise<void> {
    try {
      await this.#billing.tick();
      if (this.#isFailing) this.#log.info('billing carries out again what is due');
      this.#isFailing = false;
    } catch (err) {
      // A full disk fails every tick: one line says so, and one that it is over.
      if (!this.#isFailing) this.#log.error({ err }, 'cannot carry out what is due in billing');
      this.#isFailing = true;
    }
    this.#plan();
  }
}
