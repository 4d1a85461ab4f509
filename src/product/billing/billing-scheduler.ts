import type { Logger } from '../../platform/log.ts';
import { Ticker } from '../../platform/ticker.ts';
import type { Billing } from './billing.ts';

/** A canceled plan becomes Free at most this long after its time. */
const tickMs = 1_000;

/**
 * Runs due work once a second. Due times are stored, so a late or failed tick loses nothing. Resolves once the work that fell
 * due while the service was down is done.
 */
export async function openBillingScheduler(
  billing: Billing,
  log: Logger,
  everyMs = tickMs,
): Promise<{ close(): Promise<void> }> {
  const ticker = new Ticker({
    everyMs,
    run: () => billing.tick(),
    log,
    failed: 'billing failed, retrying',
    resumed: 'billing resumed',
  });
  await ticker.runNow();
  return {
    /** Resolves after the last tick. Call it before the management environment is closed. */
    async close() {
      billing.close();
      await ticker.close();
    },
  };
}
