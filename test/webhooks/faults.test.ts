/** What goes wrong beside a receiver: crashes, threads that die, disks that fill, clocks that step. */
import { expect, it, onTestFinished } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { eventually } from './eventually.ts';
import { openHarness, type Rig } from './webhooks-harness.ts';

const list = { limit: 100 };
const hour = 3_600_000;

const eventIdsOf = (rig: Rig): string[] => rig.sender.sent.map(({ eventId }) => eventId);

it('goes on after a crash with what was in flight, what waited, and each retry at its time', async () => {
  const rig = openHarness({ perEndpointInFlightMax: 2 });
  await rig.endpoint();
  rig.sender.answer = () => 500;
  const [failed] = await rig.emit();
  await rig.settle();
  rig.sender.answer = () => 'hang';
  const waiting = await rig.emit(5);
  await rig.settle();
  expect(rig.sender.hanging).toBe(2);
  await rig.pass(1_000, 500);
  await rig.crash();
  // The wall clock steps while nobody looks.
  rig.time.step(-365 * 24 * hour);
  await rig.pass(100);
  expect(eventIdsOf(rig).sort()).toEqual([...waiting].sort());
  await rig.pass(4_100, 4_100);
  expect(rig.sender.sent).toHaveLength(5);
  await rig.pass(300, 100);
  expect(rig.sender.sent.at(-1)).toMatchObject({ eventId: failed, attempt: 2 });
  expect(rig.sender.sent).toHaveLength(6);
});

it('neither loses, doubles nor hastens a retry when the wall clock steps', async () => {
  for (const stepMs of [-hour, hour, -365 * 24 * hour, 365 * 24 * hour]) {
    const rig = openHarness();
    await rig.endpoint();
    rig.sender.answer = () => 500;
    await rig.emit();
    await rig.settle();
    rig.time.step(stepMs);
    await rig.pass(4_900, 700);
    expect(rig.sender.sent).toHaveLength(1);
    rig.sender.answer = () => 200;
    await rig.pass(700, 100);
    expect(rig.sender.sent).toHaveLength(2);
    await rig.pass(24 * hour, hour);
    expect(rig.sender.sent).toHaveLength(2);
  }
});

it('spreads what a long stop has left by the concurrency of each endpoint', async () => {
  const rig = openHarness({ inFlightMax: 1_000 });
  await rig.endpoint({ url: 'https://one.example/' });
  await rig.endpoint({ url: 'https://two.example/' });
  rig.sender.answer = () => 500;
  await rig.emit(4);
  await rig.settle();
  await rig.crash();
  const made = await rig.emit(200);
  rig.time.reboot(30 * 24 * hour);
  await rig.crash();
  rig.sender.answer = () => 200;
  await eventually(async () => {
    await rig.pass(100);
    return rig.sender.sent.length >= 2 * (4 + made.length);
  }, 'all is sent');
  for (const width of rig.sender.widest.values()) expect(width).toBeLessThanOrEqual(16);
  expect(new Set(rig.sender.sent.map(({ deliveryNo }) => deliveryNo)).size).toBe(408);
});

it('sends again at once what a dead thread had, and gives up on what kills threads', async () => {
  const rig = openHarness();
  const { no } = await rig.endpoint();
  let deaths = 1;
  rig.sender.answer = () => (deaths-- > 0 ? 'unknown' : 200);
  await rig.emit();
  await rig.settle();
  expect(rig.sender.sent.map(({ attempt }) => attempt)).toEqual([1, 1]);
  expect(rig.webhooks.deliveries.list(no, list).data[0]).toMatchObject({ state: 'delivered' });
  rig.sender.answer = () => 'unknown';
  await rig.emit();
  await rig.settle();
  const [delivery] = rig.webhooks.deliveries.list(no, list).data;
  expect(delivery).toMatchObject({ state: 'pending', attempts: [{ failure: 'unknown' }] });
  expect(rig.sender.sent).toHaveLength(2 + 3);
});

it('does not let one endpoint that hangs hold up another', async () => {
  const rig = openHarness({ inFlightMax: 64 });
  const hanging = await Promise.all(
    Array.from({ length: 4 }, (_, index) =>
      rig.endpoint({ url: `https://hangs${index}.example/` }),
    ),
  );
  rig.sender.answer = ({ url }) => (url.includes('hangs') ? 'hang' : 200);
  await rig.emit(50);
  await rig.settle();
  expect(rig.sender.hanging).toBeGreaterThanOrEqual(48);
  const healthy = await rig.endpoint({ url: 'https://healthy.example/' });
  const made = await rig.emit(30);
  await eventually(async () => {
    await rig.settle();
    return rig.webhooks.deliveries.figures(healthy.no).waiting === 0;
  }, 'the healthy one has all');
  expect(rig.sender.sent.filter(({ url }) => url === healthy.url)).toHaveLength(made.length);
  expect(rig.webhooks.deliveries.figures(hanging[0]!.no).waiting).toBe(80);
});

it('waits with a full disk, says so, and loses and doubles nothing when there is space again', async () => {
  const rig = openHarness();
  const { no } = await rig.endpoint();
  rig.sender.answer = () => 'hang';
  const before = await rig.emit(3);
  await rig.settle();
  const full = fillDisk();
  rig.sender.end(200);
  const after = await rig.emit(20);
  await eventually(() => rig.webhooks.problem?.includes('cannot be written') === true, 'a problem');
  expect(rig.sender.sent).toHaveLength(3);
  full.release();
  rig.sender.answer = () => 200;
  await eventually(async () => {
    await rig.settle();
    return rig.webhooks.deliveries.count(no, 'delivered') === 23;
  }, 'all is delivered');
  expect(eventIdsOf(rig)).toEqual([...before, ...after]);
  expect(rig.webhooks.problem).toBeUndefined();
  expect(
    rig.logLines.filter((line) => line.includes('cannot store how webhooks ended')),
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

it('takes over after a crash what had been answered and was not committed', async () => {
  const rig = openHarness();
  const { no } = await rig.endpoint();
  rig.sender.answer = () => 'hang';
  const ids = await rig.emit(4);
  await rig.settle();
  const full = fillDisk();
  rig.sender.end(200, 2);
  rig.sender.end(500, 1);
  await eventually(() => rig.webhooks.problem !== undefined, 'a problem');
  await rig.crash(() => full.release());
  expect(rig.webhooks.deliveries.count(no, 'delivered')).toBe(2);
  await rig.pass(200);
  expect(eventIdsOf(rig)).toEqual([ids[3]]);
  await rig.pass(5_700);
  expect(eventIdsOf(rig)).toEqual([ids[3], ids[2]]);
  expect(rig.sender.sent.at(-1)).toMatchObject({ attempt: 2 });
  expect(rig.webhooks.deliveries.figures(no).consecutiveFailures).toBe(0);
  await rig.crash();
  await rig.pass(200);
  expect(rig.sender.sent).toEqual([]);
});

it('sends again what had been answered when the store takes nothing after the crash either', async () => {
  const rig = openHarness();
  const { no } = await rig.endpoint();
  rig.sender.answer = () => 'hang';
  const ids = await rig.emit(3);
  await rig.settle();
  const full = fillDisk();
  rig.sender.end(200);
  await eventually(() => rig.webhooks.problem !== undefined, 'a problem');
  await rig.crash();
  full.release();
  await rig.pass(200);
  expect(eventIdsOf(rig).sort()).toEqual([...ids].sort());
  expect(rig.webhooks.deliveries.count(no, 'delivered')).toBe(3);
});

it('shows in metrics what waits, what flies and how endpoints fare', async () => {
  const rig = openHarness();
  const { id } = await rig.endpoint();
  rig.sender.answer = ({ attempt }) => (attempt === 1 ? 500 : 'hang');
  await rig.emit(2);
  await rig.settle();
  await rig.pass(6_000, 500);
  const text = await rig.metrics.text();
  expect(text).toContain('quietzone_webhook_deliveries{state="pending"} 2');
  expect(text).toContain('quietzone_webhook_in_flight 2');
  expect(text).toContain(`quietzone_webhook_attempts_total{endpoint="${id}",result="status"} 2`);
  expect(text).toContain(`quietzone_webhook_first_attempt_seconds_count{endpoint="${id}"} 2`);
  expect(text).toContain('quietzone_webhook_outbox_lag{outbox="events"} 0');
});
