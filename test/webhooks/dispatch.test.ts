/** From the outbox to a receiver: each committed event, to each endpoint that listens, in time, until it is delivered. */
import { expect, it } from 'vitest';
import { eventually } from './eventually.ts';
import { delaysMs, openHarness } from './webhooks-harness.ts';

const list = { limit: 100 };

it('sends each event to each endpoint that listens, with the bytes of the outbox', async () => {
  const harness = await openHarness();
  const all = await harness.endpoint();
  const some = await harness.endpoint({ url: 'https://other.example/', events: ['qr.deleted'] });
  await harness.endpoint({ url: 'https://deaf.example/', events: ['member.joined'] });
  const ids = await harness.happen(3);
  const { sent } = harness.sender;
  const bodies = harness.app.outbox.after(0, 10).map(({ body }) => body);
  for (const { url } of [all, some]) {
    const its = sent.filter((task) => task.url === url);
    expect(its.map(({ eventId }) => eventId)).toEqual(ids);
    expect(its.map(({ body }) => body)).toEqual(bodies);
  }
  expect(sent).toHaveLength(6);
  expect(sent[0]).toMatchObject({ attempt: 1, kind: 'qr.deleted' });
  const { data } = harness.webhooks.deliveries.list(all.no, list);
  expect(data.map(({ state }) => state)).toEqual(['delivered', 'delivered', 'delivered']);
  expect(data.map(({ eventIds }) => eventIds[0])).toEqual(ids.toReversed());
  expect(harness.webhooks.deliveredEvent).toBe(3);
});

it('tries 8 times at the specified delays, however the wall clock steps, then makes a dead letter', async () => {
  const harness = await openHarness();
  const { no, id } = await harness.endpoint();
  harness.sender.answer = () => 500;
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
  const { data } = harness.webhooks.deliveries.deadLetters.list(1, list);
  expect(data).toHaveLength(1);
  expect(data[0]).toMatchObject({ state: 'dead', deadReason: 'exhausted', eventIds: [eventId] });
  expect(data[0]?.attempts).toHaveLength(8);
  expect(harness.webhooks.deliveries.figures(no)).toMatchObject({
    consecutiveFailures: 8,
    waiting: 0,
  });
  const metrics = await harness.app.metrics.text();
  expect(metrics).toContain('quietzone_webhook_deliveries{state="dead"} 1');
  expect(metrics).toContain(`quietzone_webhook_attempts_total{endpoint="${id}",result="status"} 8`);
  expect(metrics).toContain(`quietzone_webhook_first_attempt_seconds_count{endpoint="${id}"} 1`);
});

it('sends nothing more after a 410, though that is not committed yet', async () => {
  const harness = await openHarness();
  const { no, id } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  await harness.happen(40);
  expect(harness.sender.sent).toHaveLength(16);
  // The first result is committed at once, the next ones later.
  harness.sender.end(200, 1);
  await eventually(() => harness.sender.sent.length === 17, 'the next one is sent');
  harness.sender.end(410, 1);
  harness.sender.end(200, 3);
  const { endpoints } = harness.webhooks;
  await harness.until(() => endpoints.byNo(no)?.status === 'disabled', 'disabled', 100);
  expect(harness.sender.sent).toHaveLength(17);
  await endpoints.change(1, id, { status: 'enabled' });
  await harness.emit();
  await harness.until(() => harness.sender.sent.length > 17, 'sent after it is enabled', 100);
});

it('keeps a dead letter for 7 days, whatever the wall clock says', async () => {
  const harness = await openHarness({ retryDelaysMs: [10] });
  await harness.endpoint();
  harness.sender.answer = () => 500;
  await harness.emit(2);
  await harness.pass(500);
  const { deadLetters } = harness.webhooks.deliveries;
  const [, { id } = { id: '' }] = deadLetters.list(1, list).data;
  harness.time.step(365 * 86_400_000);
  await harness.pass(7 * 86_400_000 - 60_000, 86_400_000);
  expect(deadLetters.count(1, {})).toBe(2);
  await harness.pass(120_000, 500);
  expect(deadLetters.count(1, {})).toBe(0);
  expect(harness.webhooks.deliveries.find(1, id)).toBeUndefined();
});

it('keeps the newest delivered ones, and all that are pending', async () => {
  const harness = await openHarness({ deliveriesKept: 10, retryDelaysMs: [86_400_000] });
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 500;
  await harness.happen(4);
  harness.sender.answer = () => 200;
  await harness.emit(60);
  const { deliveries } = harness.webhooks;
  await harness.until(() => deliveries.figures(no).waiting === 4, 'sent');
  expect([deliveries.count(no, 'delivered'), deliveries.count(no)]).toEqual([10, 14]);
  expect(deliveries.list(no, list).data).toHaveLength(14);
});

it('disables an endpoint after five days and 20 attempts of nothing but failures, not before', async () => {
  const harness = await openHarness({
    retryDelaysMs: Array.from({ length: 30 }, () => 6 * 3_600_000),
  });
  const { no } = await harness.endpoint();
  harness.sender.answer = () => ({ failure: 'timeout' });
  await harness.happen();
  const hours = 3_600_000;
  await harness.pass(119 * hours, hours);
  expect(harness.sender.sent.length).toBeGreaterThanOrEqual(18);
  const { endpoints } = harness.webhooks;
  expect(endpoints.byNo(no)?.status).toBe('enabled');
  await harness.pass(14 * hours, hours);
  await eventually(() => endpoints.byNo(no)?.disabledReason === 'failing', 'disabled');
});

it('takes back at a stop what a thread was handed in advance', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  await harness.endpoint({ url: 'https://deaf.example/', events: ['member.joined'] });
  harness.sender.answer = () => 'hang';
  await harness.happen(2);
  harness.sender.recalled.clear();
  await harness.stop();
  expect(harness.sender.recalled).toEqual(new Set([no]));
});
