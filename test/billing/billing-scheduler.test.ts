/** The tick: what is due is done before it is awaited, then every second, until it is closed. */
import { expect, it, vi } from 'vitest';
import { BillingScheduler } from '../../src/billing/billing-scheduler.ts';
import { Failure } from '../../src/model/failure.ts';
import { dayMs } from '../../src/model/day.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { soon } from '../support/soon.ts';
import { openBillingFixture, type BillingFixture } from './billing-fixture.ts';

const cancel = async (fixture: BillingFixture): Promise<void> => {
  await fixture.subscribe('pro');
  await fixture.billing.cancel(fixture.actor.workspaceNo, undefined);
};
/** Longer than a tick. */
const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_200));

it('ends what fell due before the start, what falls due later, and nothing once it is closed', async () => {
  const fixture = await openBillingFixture();
  await cancel(fixture);
  fixture.workspaces.clock.move(32 * dayMs);
  const lines: string[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(line) });
  const timer = await BillingScheduler.open(fixture.billing, log);
  expect(fixture.plan()).toBe('free');
  await cancel(fixture);
  fixture.workspaces.clock.move(32 * dayMs);
  await expect.poll(() => fixture.plan(), soon).toBe('free');
  await cancel(fixture);
  fixture.workspaces.clock.move(32 * dayMs);
  const disk = vi.spyOn(fixture.workspaces.temporary.store.environment, 'transaction');
  disk.mockRejectedValue(new Failure('storage_full', 'The data folder has no space left'));
  await expect.poll(() => disk.mock.calls.length, soon).toBeGreaterThan(1);
  expect([fixture.plan(), lines.length]).toEqual(['pro', 1]);
  disk.mockRestore();
  await expect.poll(() => [fixture.plan(), lines.length], soon).toEqual(['free', 2]);
  await cancel(fixture);
  await timer.close();
  fixture.workspaces.clock.move(32 * dayMs);
  await tick();
  expect(fixture.plan()).toBe('pro');
});
