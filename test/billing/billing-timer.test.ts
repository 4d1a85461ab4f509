/** The tick: what is due is done before it is awaited, then every second, until it is closed. */
import { expect, it, vi } from 'vitest';
import { BillingTimer } from '../../src/billing/billing-timer.ts';
import { Failure } from '../../src/model/failure.ts';
import { dayMs } from '../../src/model/day.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { openTill, type Till } from './till.ts';

const cancel = async (till: Till): Promise<void> => {
  await till.subscribe('pro');
  await till.billing.cancel(till.actor.workspaceNo, undefined);
};
const seconds = (count: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, count * 1_000));

it('ends what fell due before the start, what falls due later, and nothing once it is closed', async () => {
  const till = await openTill();
  await cancel(till);
  till.office.clock.move(32 * dayMs);
  const lines: string[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(line) });
  const timer = await BillingTimer.open(till.billing, log);
  expect(till.plan()).toBe('free');
  await cancel(till);
  till.office.clock.move(32 * dayMs);
  await seconds(1.3);
  expect(till.plan()).toBe('free');
  await cancel(till);
  till.office.clock.move(32 * dayMs);
  const disk = vi.spyOn(till.office.temporary.store.environment, 'transaction');
  disk.mockRejectedValue(new Failure('storage_full', 'The data folder has no space left'));
  await seconds(2.4);
  expect([till.plan(), lines.length]).toEqual(['pro', 1]);
  disk.mockRestore();
  await seconds(1.2);
  expect([till.plan(), lines.length]).toEqual(['free', 2]);
  await cancel(till);
  await timer.close();
  till.office.clock.move(32 * dayMs);
  await seconds(1.2);
  expect(till.plan()).toBe('pro');
}, 20_000);
