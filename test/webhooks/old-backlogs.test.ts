/** A backlog that is old leaves the outbox, so that this may expire; order, ids and bytes stay. */
import { expect, it } from 'vitest';
import { openHarness } from './webhooks-harness.ts';

const hourMs = 3_600_000;
const emitted = 1_200;

it('gives rows to what waits for an hour, and sends it later in the same order', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  const ids = await harness.emit(emitted);
  await harness.settle();
  const started = harness.sender.sent.length;
  expect(started).toBeLessThan(emitted);
  expect(harness.webhooks.deliveredEvent).toBe(0);
  const waiting = (): number => harness.webhooks.deliveries.count(no, 'pending');
  expect(waiting()).toBe(emitted);
  await harness.pass(hourMs + 1, hourMs + 1);
  // Positions are stored, and old backlogs looked for, every 10 s.
  for (let tick = 0; tick < 100; tick++) await harness.webhooks.tick();
  expect(waiting()).toBe(emitted);
  harness.sender.answer = () => 200;
  harness.sender.end(200);
  await harness.settle();
  expect(harness.webhooks.deliveredEvent).toBe(emitted);
  expect(harness.sender.sent.map(({ eventId }) => eventId)).toEqual(ids);
  expect(new Set(harness.sender.sent.map(({ deliveryId }) => deliveryId)).size).toBe(emitted);
});

it('lets the outbox expire although an endpoint still takes nothing, and survives a crash with that', async () => {
  const harness = await openHarness();
  await harness.endpoint();
  harness.sender.answer = () => 'hang';
  const ids = await harness.emit(emitted);
  await harness.settle();
  await harness.pass(hourMs + 1, hourMs + 1);
  for (let tick = 0; tick < 100; tick++) await harness.webhooks.tick();
  const bodies = harness.app.outbox.after(0, emitted).map(({ body }) => body);
  // What is in flight stays in the outbox until it is settled.
  expect(harness.webhooks.deliveredEvent).toBe(0);
  await harness.crash();
  await harness.pass(300);
  expect(harness.webhooks.deliveredEvent).toBe(emitted);
  const again = harness.sender.sent.slice(-emitted);
  expect(again.map(({ text }) => text).toSorted()).toEqual(bodies.toSorted());
  expect(again.map(({ eventId }) => eventId).toSorted()).toEqual(ids.toSorted());
});
