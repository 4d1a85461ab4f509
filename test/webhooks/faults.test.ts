/** Faults that are not the receiver's: crashes, threads that die, disks that fill, clocks that step. */
import { expect, it, onTestFinished } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { eventually } from './eventually.ts';
import { openHarness, type Harness } from './webhooks-harness.ts';

const list = { limit: 100 };
const hour = 3_600_000;

const eventIdsOf = (harness: Harness): string[] =>
  harness.sender.sent.map(({ eventId }) => eventId);

it('continues after a crash with what was in flight, what was queued, and each retry at its time', async () => {
  const harness = await openHarness();
  await harness.endpoint();
  harness.sender.answer = () => 500;
  const [failed] = await harness.emit();
  await harness.settle();
  harness.sender.answer = () => 'hang';
  // Two more than may be in flight to one endpoint.
  const waiting = await harness.emit(18);
  await harness.settle();
  expect(harness.sender.hanging).toBe(16);
  await harness.pass(1_000, 500);
  await harness.crash();
  // The wall clock steps while the service is down.
  harness.time.step(-365 * 24 * hour);
  await harness.pass(100);
  expect(eventIdsOf(harness).sort()).toEqual([...waiting].sort());
  await harness.pass(4_100, 4_100);
  expect(harness.sender.sent).toHaveLength(18);
  await harness.pass(300, 100);
  expect(harness.sender.sent.at(-1)).toMatchObject({ eventId: failed, attempt: 2 });
  expect(harness.sender.sent).toHaveLength(19);
});

it('neither loses, doubles nor hastens a retry when the wall clock steps', async () => {
  const harness = await openHarness();
  await harness.endpoint();
  for (const stepMs of [-hour, hour, -365 * 24 * hour, 365 * 24 * hour]) {
    const before = harness.sender.sent.length;
    const sent = (): number => harness.sender.sent.length - before;
    harness.sender.answer = () => 500;
    await harness.emit();
    await harness.settle();
    harness.time.step(stepMs);
    await harness.pass(4_900, 700);
    expect(sent()).toBe(1);
    harness.sender.answer = () => 200;
    await harness.pass(700, 100);
    expect(sent()).toBe(2);
    await harness.pass(24 * hour, 6 * hour);
    expect(sent()).toBe(2);
  }
});

it('limits what a long stop has left by the concurrency of each endpoint', async () => {
  const harness = await openHarness({ inFlightMax: 1_000 });
  await harness.endpoint({ url: 'https://one.example/' });
  await harness.endpoint({ url: 'https://two.example/' });
  harness.sender.answer = () => 500;
  await harness.emit(4);
  await harness.settle();
  await harness.crash();
  const created = await harness.emit(200);
  harness.time.reboot(30 * 24 * hour);
  await harness.crash();
  harness.sender.answer = () => 200;
  await eventually(async () => {
    await harness.pass(100);
    return harness.sender.sent.length >= 2 * (4 + created.length);
  }, 'all is sent');
  for (const width of harness.sender.widest.values()) expect(width).toBeLessThanOrEqual(16);
  expect(new Set(harness.sender.sent.map(({ deliveryId }) => deliveryId)).size).toBe(408);
});

it('sends again at once what a dead thread had, and stops repeating what kills threads', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  let deaths = 1;
  harness.sender.answer = () => (deaths-- > 0 ? 'unknown' : 200);
  await harness.emit();
  await harness.settle();
  expect(harness.sender.sent.map(({ attempt }) => attempt)).toEqual([1, 1]);
  expect(harness.webhooks.deliveries.list(no, list).data[0]).toMatchObject({ state: 'delivered' });
  harness.sender.answer = () => 'unknown';
  await harness.emit();
  await harness.settle();
  const [delivery] = harness.webhooks.deliveries.list(no, list).data;
  expect(delivery).toMatchObject({ state: 'pending', attempts: [{ failure: 'unknown' }] });
  expect(harness.sender.sent).toHaveLength(2 + 3);
});

it('does not let an endpoint that hangs delay another', async () => {
  const harness = await openHarness({ inFlightMax: 64 });
  const hanging = await Promise.all(
    Array.from({ length: 4 }, (_, index) =>
      harness.endpoint({ url: `https://hangs${index}.example/` }),
    ),
  );
  harness.sender.answer = ({ url }) => (url.includes('hangs') ? 'hang' : 200);
  await harness.emit(50);
  await harness.settle();
  expect(harness.sender.hanging).toBeGreaterThanOrEqual(48);
  const healthy = await harness.endpoint({ url: 'https://healthy.example/' });
  const created = await harness.emit(30);
  await eventually(async () => {
    await harness.settle();
    return harness.webhooks.deliveries.figures(healthy.no).waiting === 0;
  }, 'the healthy one has all');
  expect(harness.sender.sent.filter(({ url }) => url === healthy.url)).toHaveLength(created.length);
  expect(harness.webhooks.deliveries.figures(hanging[0]!.no).waiting).toBe(80);
});

it('pauses on a full disk, reports it, and loses and doubles nothing when there is space again', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  const before = await harness.emit(3);
  await harness.settle();
  const full = fillDisk();
  harness.sender.end(200);
  const after = await harness.emit(20);
  await eventually(
    () => harness.webhooks.problem?.includes('cannot be written') === true,
    'a problem',
  );
  expect(harness.sender.sent).toHaveLength(3);
  full.release();
  harness.sender.answer = () => 200;
  await eventually(async () => {
    await harness.settle();
    return harness.webhooks.deliveries.count(no, 'delivered') === 23;
  }, 'all is delivered');
  expect(eventIdsOf(harness)).toEqual([...before, ...after]);
  expect(harness.webhooks.problem).toBeUndefined();
  expect(
    harness.app.logLines.filter((line) => line.includes('storing webhook results failed')),
  ).toHaveLength(1);
});

it('takes back from the threads what they have not started when results cannot be stored', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  await harness.emit(3);
  await harness.settle();
  harness.sender.recalled.clear();
  const full = fillDisk();
  harness.sender.end(200, 1);
  await eventually(() => harness.webhooks.problem !== undefined, 'a problem');
  expect([...harness.sender.recalled]).toEqual([no]);
  full.release();
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

it('recovers after a crash what was answered and not committed', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  const ids = await harness.emit(4);
  await harness.settle();
  const full = fillDisk();
  harness.sender.end(200, 2);
  harness.sender.end(500, 1);
  await eventually(() => harness.webhooks.problem !== undefined, 'a problem');
  await harness.crash(() => full.release());
  expect(harness.webhooks.deliveries.count(no, 'delivered')).toBe(2);
  await harness.pass(200);
  expect(eventIdsOf(harness)).toEqual([ids[3]]);
  await harness.pass(5_700);
  expect(eventIdsOf(harness)).toEqual([ids[3], ids[2]]);
  expect(harness.sender.sent.at(-1)).toMatchObject({ attempt: 2 });
  expect(harness.webhooks.deliveries.figures(no).consecutiveFailures).toBe(0);
  await harness.crash();
  await harness.pass(200);
  expect(harness.sender.sent).toEqual([]);
});

it('sends again what was answered when the store takes no writes after the crash either', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  const ids = await harness.emit(3);
  await harness.settle();
  const full = fillDisk();
  harness.sender.end(200);
  await eventually(() => harness.webhooks.problem !== undefined, 'a problem');
  await harness.crash();
  full.release();
  await harness.pass(200);
  expect(eventIdsOf(harness).sort()).toEqual([...ids].sort());
  expect(harness.webhooks.deliveries.count(no, 'delivered')).toBe(3);
});

it('shows in metrics what is pending, what is in flight and the results of endpoints', async () => {
  const harness = await openHarness();
  const { id } = await harness.endpoint();
  harness.sender.answer = ({ attempt }) => (attempt === 1 ? 500 : 'hang');
  await harness.emit(2);
  await harness.settle();
  await harness.pass(6_000, 500);
  const text = await harness.app.metrics.text();
  expect(text).toContain('quietzone_webhook_deliveries{state="pending"} 2');
  expect(text).toContain('quietzone_webhook_in_flight 2');
  expect(text).toContain(`quietzone_webhook_attempts_total{endpoint="${id}",result="status"} 2`);
  expect(text).toContain(`quietzone_webhook_first_attempt_seconds_count{endpoint="${id}"} 2`);
  expect(text).toContain('quietzone_webhook_outbox_lag{outbox="events"} 0');
});
