/** What waits in the outbox alone: listed, found, sent in order, settled when its endpoint goes; over crashes. */
import { expect, it } from 'vitest';
import type { Delivery } from '../../src/webhooks/deliveries/delivery.ts';
import { type Harness, openHarness } from './webhooks-harness.ts';

const eventIdsOf = (harness: Harness): string[] =>
  harness.sender.sent.map(({ eventId }) => eventId);

/** All pages of a list, newest first. */
function listed(harness: Harness, no: number, state?: Delivery['state']): Delivery[] {
  const found: Delivery[] = [];
  for (let before: string | undefined; ;) {
    const page = harness.webhooks.deliveries.list(no, { state, before, limit: 300 });
    found.push(...page.data);
    before = page.before;
    if (before === undefined) return found;
  }
}

/** More than an endpoint has in memory. */
const many = 5_000;

it('lists and finds what waits, also what is not in memory, and sends it in order', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  const ids = await harness.happen(many);
  const { deliveries } = harness.webhooks;
  const waiting = listed(harness, no, 'pending');
  expect(waiting.map(({ eventIds }) => eventIds[0])).toEqual(ids.toReversed());
  expect(deliveries.count(no)).toBe(many);
  expect(deliveries.figures(no).waiting).toBe(many);
  for (const at of [0, 1, 2_000, many - 1]) {
    const delivery = waiting[at]!;
    const { id, body, eventIds } = delivery;
    expect(deliveries.get(1, id)).toMatchObject({ id, body, eventIds, state: 'pending' });
    expect(() => deliveries.get(2, id)).toThrow('no delivery');
  }
  harness.sender.answer = () => 200;
  harness.sender.end(200);
  await harness.until(() => deliveries.figures(no).waiting === 0, 'all is sent');
  expect(eventIdsOf(harness)).toEqual(ids);
  const byId = new Map(waiting.map(({ id, body }) => [id, body]));
  for (const { deliveryId, body } of harness.sender.sent) expect(byId.get(deliveryId)).toBe(body);
});

it('makes dead letters of all that waits for an endpoint that is disabled, and replays them', async () => {
  const harness = await openHarness();
  const { no, id } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  const ids = await harness.happen(1_200);
  await harness.webhooks.endpoints.change(1, id, { status: 'disabled' });
  await harness.settle();
  const { deliveries } = harness.webhooks;
  expect(deliveries.deadLetters.count(1, {})).toBe(1_200 - 16);
  harness.sender.end(500);
  await harness.settle();
  const dead = listed(harness, no);
  expect(dead.map(({ eventIds }) => eventIds[0])).toEqual(ids.toReversed());
  expect(new Set(dead.map(({ deadReason }) => deadReason))).toEqual(new Set(['endpoint_disabled']));
  expect(deliveries.figures(no).waiting).toBe(0);
  const { deadLetters } = deliveries;
  const range = { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };
  expect([
    await deadLetters.replayRange(1, range),
    await deadLetters.replayRange(2, range),
  ]).toEqual([0, 0]);
  // Enabled again it goes on with what comes; what is dead stays so until a person replays it.
  const [missed] = await harness.emit();
  await harness.webhooks.endpoints.change(1, id, { status: 'enabled' });
  harness.sender.answer = () => 200;
  const [next] = await harness.happen();
  expect(eventIdsOf(harness).slice(16)).toEqual([next]);
  expect(await deadLetters.replayRange(1, range)).toBe(1_200);
  await harness.until(() => deliveries.figures(no).waiting === 0, 'all is sent again', 100);
  const replayed = harness.sender.sent.slice(17);
  expect(replayed.map(({ eventId }) => eventId).toSorted()).toEqual(ids.toSorted());
  const bodies = new Map(dead.map((delivery) => [delivery.id, delivery.body]));
  for (const { deliveryId, body } of replayed) expect(bodies.get(deliveryId)).toBe(body);
  expect(eventIdsOf(harness)).not.toContain(missed);
});

it('gives rows to what waits for an hour, and sends it later in the same order', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  const old = 1_200;
  const ids = await harness.happen(old);
  const started = harness.sender.sent.length;
  expect(started).toBeLessThan(old);
  expect(harness.webhooks.deliveredEvent).toBe(0);
  const waiting = (): number => harness.webhooks.deliveries.count(no, 'pending');
  expect(waiting()).toBe(old);
  await harness.pass(3_600_001, 3_600_001);
  // Positions are stored, and old backlogs looked for, every 10 s.
  for (let tick = 0; tick < 100; tick++) await harness.webhooks.tick();
  expect(waiting()).toBe(old);
  harness.sender.answer = () => 200;
  harness.sender.end(200);
  await harness.settle();
  expect(harness.webhooks.deliveredEvent).toBe(old);
  expect(harness.sender.sent.map(({ eventId }) => eventId)).toEqual(ids);
  expect(new Set(harness.sender.sent.map(({ deliveryId }) => deliveryId)).size).toBe(old);
});
