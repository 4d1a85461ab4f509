import type { Logger } from '../telemetry/log.ts';
import { Ticker } from '../telemetry/ticker.ts';
import type { Billing } from './billing.ts';

/** A canceled plan becomes Free at most this long after its time. */
const tickMs = 1_000;

/**
 * Carries out what is due, once a second. What is due is in the store, so a tick that is late or fails
 * loses nothing. Resolves once what fell due while the service was down is done.
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
    /** Resolves when nothing runs. Before the management environment is closed. */
    async close() {
      billing.close();
      await ticker.close();
    },
  };
}
