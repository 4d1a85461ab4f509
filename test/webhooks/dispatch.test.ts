/**
 * From the outbox to a receiver in one process, and its faults: crashes, threads that die, disks that fill, clocks that
 * step, records that are damaged. model/ walks what has none of those.
 */
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { eventually } from '../support/soon.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { delaysMs, type Harness, openListening } from './webhooks-harness.ts';

const list = { limit: 100 };
const hours = 3_600_000;

const eventIdsOf = (harness: Harness) => harness.sender.sent.map(({ eventId }) => eventId);
const sentIds = (harness: Harness): string[] => eventIdsOf(harness).toSorted();

it('tries 8 times at the specified delays, however the wall clock steps, then makes a dead letter', async () => {
  const { harness, no, id } = await openListening(500);
  const [eventId] = await harness.happen();
  for (const [index, delayMs] of delaysMs.entries()) {
    const before = harness.sender.sent.length;
    expect(before).toBe(index + 1);
    harness.time.step(index % 2 === 0 ? 365 * 86_400_000 : -366 * 86_400_000);
    // Not a millisecond early, and not later than jitter (here 5 %), bucket and tick.
    await harness.pass(delayMs - 1, delayMs - 1);
    expect(harness.sender.sent).toHaveLength(before);
    await harness.pass(delayMs * 0.05 + 202, delayMs * 0.05 + 202);
    expect(harness.sender.sent).toHaveLength(before + 1);
  }
  expect(harness.sender.sent.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  const same = harness.sender.sent.map((sent) => [sent.eventId, sent.deliveryId, sent.body]);
  expect(new Set(same.map(String)).size).toBe(1);
  const { data } = harness.deliveries.deadLetters.list(1, list);
  expect(data).toHaveLength(1);
  expect(data[0]).toMatchObject({ state: 'dead', deadReason: 'exhausted', eventIds: [eventId] });
  expect(data[0]?.attempts).toHaveLength(8);
  expect(harness.deliveries.figures(no)).toMatchObject({
    consecutiveFailures: 8,
    waiting: 0,
  });
  const metrics = await harness.app.metrics.text();
  expect(metrics).toContain('quietzone_webhook_deliveries{state="dead"} 1');
  expect(metrics).toContain(`quietzone_webhook_attempts_total{endpoint="${id}",result="status"} 8`);
  expect(metrics).toContain(`quietzone_webhook_first_attempt_seconds_count{endpoint="${id}"} 1`);
});

it('sends nothing more after a 410, though that is not committed yet', async () => {
  const { harness, no, id } = await openListening('hang');
  await harness.happen(40);
  expect(harness.sender.sent).toHaveLength(16);
  // The first result is committed at once, the next ones later.
  harness.sender.end(200, 1);
  await eventually(() => harness.sender.sent.length === 17, 'the next one is sent');
  harness.sender.end(410, 1);
  harness.sender.end(200, 3);
  const { endpoints } = harness;
  await harness.until(() => endpoints.byNo(no)?.status === 'disabled', 'disabled', 100);
  expect(harness.sender.sent).toHaveLength(17);
  await endpoints.change(1, id, { status: 'enabled' });
  await harness.emit();
  await harness.until(() => harness.sender.sent.length > 17, 'sent after it is enabled', 100);
});

it('keeps a dead letter for 7 days, whatever the wall clock says', async () => {
  const { harness } = await openListening(500, { retryDelaysMs: [10] });
  await harness.emit(2);
  await harness.pass(500);
  const { deadLetters } = harness.deliveries;
  const [, { id } = { id: '' }] = deadLetters.list(1, list).data;
  harness.time.step(365 * 86_400_000);
  await harness.pass(7 * 86_400_000 - 60_000, 86_400_000);
  expect(deadLetters.count(1, {})).toBe(2);
  await harness.pass(120_000, 500);
  expect(deadLetters.count(1, {})).toBe(0);
  expect(harness.deliveries.find(1, id)).toBeUndefined();
});

it('keeps the newest delivered ones, and all that are pending', async () => {
  const { harness, no } = await openListening(500, {
    deliveriesKept: 10,
    retryDelaysMs: [86_400_000],
  });
  await harness.happen(4);
  harness.sender.answer = () => 200;
  await harness.emit(60);
  const { deliveries } = harness;
  await harness.until(() => deliveries.figures(no).waiting === 4, 'sent');
  expect([deliveries.count(no, 'delivered'), deliveries.count(no)]).toEqual([10, 14]);
  expect(deliveries.list(no, list).data).toHaveLength(14);
});

it('disables an endpoint after five days and 20 attempts of nothing but failures, not before', async () => {
  const retryDelaysMs = Array.from({ length: 30 }, () => 6 * hours);
  const { harness, no } = await openListening({ failure: 'timeout' }, { retryDelaysMs });
  await harness.happen();
  await harness.pass(119 * hours, hours);
  expect(harness.sender.sent.length).toBeGreaterThanOrEqual(18);
  const { endpoints } = harness;
  expect(endpoints.byNo(no)?.status).toBe('enabled');
  await harness.pass(14 * hours, hours);
  await eventually(() => endpoints.byNo(no)?.disabledReason === 'failing', 'disabled');
});

it('takes back at a stop what a thread was handed in advance, and starts nothing more', async () => {
  const { harness, no } = await openListening();
  await harness.endpoint({ url: 'https://deaf.example/', events: ['member.joined'] });
  harness.sender.answer = () => 'hang';
  await harness.happen(2);
  harness.sender.recalled.clear();
  await harness.stop();
  expect(harness.sender.recalled).toEqual(new Set([no]));
  expect(harness.sender.sent).toHaveLength(2);
});

it('makes dead letters of all that waits for an endpoint that is disabled, and replays them', async () => {
  const { harness, id, no } = await openListening('hang');
  // More than one transaction settles.
  const ids = await harness.happen(1_200);
  await harness.endpoints.change(1, id, { status: 'disabled' });
  expect([...harness.sender.recalled]).toEqual([no]);
  await harness.settle();
  const { deadLetters } = harness.deliveries;
  expect(deadLetters.count(1, {})).toBe(1_200 - 16);
  harness.sender.end(500);
  await harness.settle();
  const [missed] = await harness.emit();
  await harness.endpoints.change(1, id, { status: 'enabled' });
  harness.sender.answer = () => 200;
  // What is dead stays so until a person replays it.
  const [next] = await harness.happen();
  expect(eventIdsOf(harness).slice(16)).toEqual([next]);
  const dead = deadLetters.list(1, { limit: 2_000 }).data;
  const bodies = new Map(dead.map((delivery) => [delivery.id, delivery.body]));
  const range = { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };
  expect(await deadLetters.replayRange(1, range)).toBe(1_200);
  const isSent = (): boolean => harness.deliveries.figures(no).waiting === 0;
  await harness.until(isSent, 'all is sent again', 100);
  const replayed = harness.sender.sent.slice(17);
  expect(replayed.map(({ eventId }) => eventId).toSorted()).toEqual(ids.toSorted());
  for (const { deliveryId, body } of replayed) expect(bodies.get(deliveryId)).toBe(body);
  expect(eventIdsOf(harness)).not.toContain(missed);
});

it('sends what has waited longer first, be it a row or fresh', async () => {
  const { harness } = await openListening(500);
  const failed = await harness.happen();
  harness.sender.answer = () => 'hang';
  const ids = await harness.happen(20);
  await harness.pass(6_000, 1_000);
  harness.sender.answer = () => 200;
  harness.sender.end(200);
  await harness.settle();
  expect(eventIdsOf(harness)).toEqual([...failed, ...ids, ...failed]);
});

it('stores the result of a row that is in flight when its endpoint is disabled', async () => {
  const { harness, no, id } = await openListening(500);
  await harness.happen();
  harness.sender.answer = () => 'hang';
  await harness.pass(6_000, 1_000);
  await harness.endpoints.change(1, id, { status: 'disabled' });
  await harness.settle();
  harness.sender.end(200);
  await harness.settle();
  const { deliveries } = harness;
  expect([deliveries.count(no, 'delivered'), deliveries.deadLetters.count(1, {})]).toEqual([1, 0]);
});

it('gives rows to what waits for an hour, so that its events may expire, and sends it later in order', async () => {
  const { harness, no } = await openListening('hang');
  const ids = await harness.happen(600);
  await harness.pass(hours + 1, hours + 1);
  // Positions are stored, and old backlogs looked for, every 10 s.
  const look = async (): Promise<void> => {
    for (let tick = 0; tick < 100; tick++) await harness.webhooks.tick();
  };
  await look();
  expect(harness.webhooks.deliveredEvent).toBe(0);
  harness.sender.end(200);
  await harness.settle();
  await look();
  const waiting = (): number => harness.deliveries.count(no, 'pending');
  expect([waiting(), harness.webhooks.deliveredEvent]).toEqual([600 - 16, 600]);
  harness.sender.answer = () => 200;
  harness.sender.end(200);
  await harness.settle();
  expect(waiting()).toBe(0);
  expect(eventIdsOf(harness)).toEqual(ids);
});

it('sends again at once what a dead thread had, and stops repeating what kills threads', async () => {
  const { harness, no } = await openListening();
  let deaths = 1;
  harness.sender.answer = () => (deaths-- > 0 ? 'unknown' : 200);
  await harness.happen();
  expect(harness.sender.sent.map(({ attempt }) => attempt)).toEqual([1, 1]);
  expect(harness.deliveries.list(no, list).data[0]).toMatchObject({ state: 'delivered' });
  harness.sender.answer = () => 'unknown';
  await harness.happen();
  const [delivery] = harness.deliveries.list(no, list).data;
  expect(delivery).toMatchObject({ state: 'pending', attempts: [{ failure: 'unknown' }] });
  expect(harness.sender.sent).toHaveLength(2 + 3);
});

it('pauses on a full disk, reports it, and loses and doubles nothing when there is space again', async () => {
  const { harness, no } = await openListening('hang');
  const before = await harness.happen(3);
  harness.sender.recalled.clear();
  const full = fillDisk();
  harness.sender.end(200, 2);
  const after = await harness.emit(20);
  await eventually(
    () => harness.webhooks.problem?.includes('cannot be written') === true,
    'a problem',
  );
  // The events are read, and nothing starts.
  const { app, webhooks } = harness;
  const unread = 'quietzone_webhook_outbox_lag{outbox="events"} ';
  await eventually(async () => {
    await webhooks.tick();
    return (await app.metrics.text()).includes(`${unread}0`);
  }, 'read');
  await new Promise((resolve) => setImmediate(resolve));
  expect(harness.sender.sent).toHaveLength(3);
  // Threads give back what they have not started.
  expect([...harness.sender.recalled]).toEqual([no]);
  full.release();
  harness.sender.answer = () => 200;
  harness.sender.end(200);
  const { deliveries } = harness;
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
  const { harness, no } = await openListening('hang');
  const ids = await harness.happen(3);
  const full = fillDisk();
  harness.sender.end(200);
  await eventually(() => harness.webhooks.problem !== undefined, 'a problem');
  await harness.crash();
  full.release();
  await harness.pass(200);
  expect(eventIdsOf(harness).sort()).toEqual([...ids].sort());
  expect(harness.deliveries.count(no, 'delivered')).toBe(3);
});

/** Flips a bit of the first record of a table. */
function damage(harness: Harness, file: 'delivery' | 'management', name: RegExp): void {
  const stored = new StoredBytes(join(harness.app.dataDir, `${file}.mdb`));
  onTestFinished(async () => await stored.close());
  const table = stored.tables.find((one) => name.test(one))!;
  stored.flip(table, stored.keys(table)[0]!, 77);
  harness.app.store.environment.refresh();
}

it('removes a damaged delivery from the queue and sends the others', async () => {
  const { harness, no } = await openListening(500);
  const [, ...others] = await harness.happen(4);
  await harness.crash(() => damage(harness, 'delivery', /^rows$/));
  await harness.pass(6_000, 1_000);
  expect(sentIds(harness)).toEqual(others.toSorted());
  expect(harness.deliveries.figures(no).waiting).toBe(0);
  expect(harness.deliveries.list(no, { limit: 10 }).data).toHaveLength(3);
  expect(harness.app.logLines.join('')).toContain(
    'damaged webhook deliveries removed from the queue',
  );
  const [next] = await harness.happen();
  expect(sentIds(harness)).toContain(next);
});

it.each([
  // The counts come back, an entry of the log does not.
  [/^endpoint_stats$/, 5],
  [/^delivered$/, 5],
])('sends and counts on where a record of %s is damaged', async (table, counted) => {
  const { harness, no } = await openListening();
  await harness.happen(3);
  await harness.crash(() => damage(harness, 'delivery', table));
  await harness.happen(2);
  expect(harness.sender.sent).toHaveLength(2);
  const { deliveries } = harness;
  expect(deliveries.count(no, 'delivered')).toBe(counted);
  const shown = deliveries.list(no, { limit: 50 }).data;
  expect(shown).toHaveLength(String(table).includes('delivered') ? 4 : 5);
});

it('finds a damaged position again, behind what waits for a retry: nothing is doubled or left out', async () => {
  const { harness } = await openListening();
  await harness.happen(2);
  harness.sender.answer = () => 500;
  const failed = await harness.happen(2);
  await harness.stop();
  const missed = await harness.emit(3);
  await harness.crash(() => damage(harness, 'delivery', /^positions$/));
  await harness.settle();
  expect(sentIds(harness)).toEqual(missed.toSorted());
  await harness.pass(6_000, 500);
  expect(sentIds(harness)).toEqual([...missed, ...failed].toSorted());
});

it('finds a damaged backlog again: what was in flight is sent again, and what waited', async () => {
  const { harness, no } = await openListening();
  const before = await harness.happen(3);
  harness.sender.answer = ({ attempt }) => (attempt === 1 ? 'hang' : 500);
  const events = await harness.happen(20);
  expect(harness.sender.sent).toHaveLength(3 + 16);
  const [, second, third] = events;
  // The oldest stays in flight.
  harness.sender.end(200, ({ eventId }) => eventId === second);
  harness.sender.end(500, ({ eventId }) => eventId === third);
  await harness.settle();
  await harness.crash(() => damage(harness, 'delivery', /^backlogs$/));
  await harness.settle();
  const again = events.filter((id) => id !== second && id !== third);
  expect(sentIds(harness)).toEqual(again.toSorted());
  await harness.pass(6_000, 500);
  const { deliveries } = harness;
  const { data } = deliveries.list(no, { state: 'delivered', limit: 50 });
  const delivered = data.flatMap(({ eventIds }) => eventIds);
  expect(delivered.toSorted()).toEqual([...before, ...events].toSorted());
});

it('sends nothing to an endpoint whose record is damaged, and deletes nothing of it', async () => {
  const { harness, no } = await openListening(500);
  await harness.happen(2);
  await harness.crash(() => damage(harness, 'management', /^webhook_endpoints$/));
  await harness.pass(6_000, 1_000);
  expect(harness.sender.sent).toEqual([]);
  expect(harness.deliveries.figures(no).waiting).toBe(2);
});
