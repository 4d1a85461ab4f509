/** Faults that are not the receiver's: crashes, threads that die, disks that fill, clocks that step. */
import { expect, it, onTestFinished } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { eventually } from './eventually.ts';
import { openHarness, type Harness } from './webhooks-harness.ts';

const list = { limit: 100 };

const eventIdsOf = (harness: Harness): string[] =>
  harness.sender.sent.map(({ eventId }) => eventId);

it('sends again at once what a dead thread had, and stops repeating what kills threads', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  let deaths = 1;
  harness.sender.answer = () => (deaths-- > 0 ? 'unknown' : 200);
  await harness.happen();
  expect(harness.sender.sent.map(({ attempt }) => attempt)).toEqual([1, 1]);
  expect(harness.webhooks.deliveries.list(no, list).data[0]).toMatchObject({ state: 'delivered' });
  harness.sender.answer = () => 'unknown';
  await harness.happen();
  const [delivery] = harness.webhooks.deliveries.list(no, list).data;
  expect(delivery).toMatchObject({ state: 'pending', attempts: [{ failure: 'unknown' }] });
  expect(harness.sender.sent).toHaveLength(2 + 3);
});

it('pauses on a full disk, reports it, and loses and doubles nothing when there is space again', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  const before = await harness.happen(3);
  harness.sender.recalled.clear();
  const full = fillDisk();
  harness.sender.end(200, 2);
  const after = await harness.emit(20);
  await eventually(
    () => harness.webhooks.problem?.includes('cannot be written') === true,
    'a problem',
  );
  expect(harness.sender.sent).toHaveLength(3);
  // Threads give back what they have not started.
  expect([...harness.sender.recalled]).toEqual([no]);
  full.release();
  harness.sender.answer = () => 200;
  harness.sender.end(200);
  const { deliveries } = harness.webhooks;
  await harness.until(() => deliveries.count(no, 'delivered') === 23, 'all is delivered');
  expect(eventIdsOf(harness)).toEqual([...before, ...after]);
  expect(harness.webhooks.problem).toBeUndefined();
  expect(
    harness.app.logLines.filter((line) => line.includes('storing webhook results failed')),
  ).toHaveLength(1);
});

/** Every write of the delivery environment fails until `release`. */
function fillDisk(): { release(): void } {
  const { prototype } = StoreEnvironment;
  // oxlint-disable-next-line typescript/unbound-method
  const { transaction, transactionSync } = prototype;
  const refuse = ({ path }: StoreEnvironment): void => {
    if (path.endsWith('delivery.mdb')) throw new Failure('storage_full', 'full');
  };
  prototype.transaction = async function later(this: StoreEnvironment, work) {
    refuse(this);
    return await transaction.call(this, work);
  } as typeof transaction;
  prototype.transactionSync = function now(this: StoreEnvironment, work) {
    refuse(this);
    return transactionSync.call(this, work);
  } as typeof transactionSync;
  const release = (): void => {
    Object.assign(prototype, { transaction, transactionSync });
  };
  onTestFinished(release);
  return { release };
}

it('sends again what was answered when the store takes no writes after the crash either', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  const ids = await harness.happen(3);
  const full = fillDisk();
  harness.sender.end(200);
  await eventually(() => harness.webhooks.problem !== undefined, 'a problem');
  await harness.crash();
  full.release();
  await harness.pass(200);
  expect(eventIdsOf(harness).sort()).toEqual([...ids].sort());
  expect(harness.webhooks.deliveries.count(no, 'delivered')).toBe(3);
});
