/** The scheduler: carries out what fell due before it opens, then what falls due, until it is closed. */
import { expect, it } from 'vitest';
import { openBillingScheduler } from '../../src/billing/billing-scheduler.ts';
import { dayMs } from '../../src/model/day.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { soon } from '../support/soon.ts';
import { openBillingFixture } from './billing-fixture.ts';

it('makes a canceled plan Free, after a stop and while it runs', async () => {
  const fixture = await openBillingFixture();
  const cancelAndWait = async (): Promise<void> => {
    await fixture.subscribe('pro');
    await fixture.billing.cancel(fixture.actor.workspaceNo, undefined);
    fixture.app.clock.move(32 * dayMs);
  };
  await cancelAndWait();
  const scheduler = await openBillingScheduler(fixture.billing, createLog('silent'), 10);
  expect(fixture.plan()).toBe('free');
  await cancelAndWait();
  await expect.poll(() => fixture.plan(), soon).toBe('free');
  await scheduler.close();
});
