/** The tick: what is due is done before it is awaited, then every second, until it is closed. */
import { expect, it, vi } from 'vitest';
import { BillingScheduler } from '../../src/billing/billing-scheduler.ts';
import { Failure } from '../../src/model/failure.ts';
import { dayMs } from '../../src/model/day.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { soon } from '../support/soon.ts';
import { openTill, type Till } from './billing-fixture.ts';

const cancel = async (till: Till): Promise<void> => {
  await till.subscribe('pro');
  await till.billing.cancel(till.actor.workspaceNo, undefined);
};
/** Longer than a tick. */
const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_200));

it('ends what fell due before the start, what falls due later, and nothing once it is closed', async () => {
  const till = await openTill();
  await cancel(till);
  till.office.clock.move(32 * dayMs);
  const lines: string[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(line) });
  const timer = await BillingScheduler.open(till.billing, log);
  expect(till.plan()).toBe('free');
  await cancel(till);
  till.office.clock.move(32 * dayMs);
  await expect.poll(() => till.plan(), soon).toBe('free');
  await cancel(till);
  till.office.clock.move(32 * dayMs);
  const disk = vi.spyOn(till.office.temporary.store.environment, 'transaction');
  disk.mockRejectedValue(new Failure('storage_full', 'The data folder has no space left'));
  await expect.poll(() => disk.mock.calls.length, soon).toBeGreaterThan(1);
  expect([till.plan(), lines.length]).toEqual(['pro', 1]);
  disk.mockRestore();
  await expect.poll(() => [till.plan(), lines.length], soon).toEqual(['free', 2]);
  await cancel(till);
  await timer.close();
  till.office.clock.move(32 * dayMs);
  await tick();
  expect(till.plan()).toBe('pro');
});
