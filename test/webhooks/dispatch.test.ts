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
  const ids = await harness.emit(3);
  await harness.settle();
  const bodies = harness.app.outbox.after(0, 10).map(({ body }) => body);
  for (const { url } of [all, some]) {
    const sent = harness.sender.sent.filter((task) => task.url === url);
    expect(sent.map(({ eventId }) => eventId)).toEqual(ids);
    expect(sent.map(({ text }) => text)).toEqual(bodies);
    expect(sent.every(({ attempt, kind }) => attempt === 1 && kind === 'qr.deleted')).toBe(true);
  }
  expect(harness.sender.sent.some(({ url }) => url === 'https://deaf.example/')).toBe(false);
  const { data } = harness.webhooks.deliveries.list(all.no, list);
  expect(data.map(({ state }) => state)).toEqual(['delivered', 'delivered', 'delivered']);
  expect(data.map(({ eventIds }) => eventIds[0])).toEqual(ids.toReversed());
  expect(harness.webhooks.deliveredEvent).toBe(3);
});

it('tries 8 times at the specified delays, however the wall clock steps, then makes a dead letter', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 500;
  const [eventId] = await harness.emit();
  await harness.settle();
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
  expect(
    new Set(harness.sender.sent.map((sent) => `${sent.eventId} ${sent.deliveryId} ${sent.text}`))
      .size,
  ).toBe(1);
  const { data } = harness.webhooks.deliveries.deadLetters.list(1, list);
  expect(data).toHaveLength(1);
  expect(data[0]).toMatchObject({ state: 'dead', deadReason: 'exhausted', eventIds: [eventId] });
  expect(data[0]?.attempts).toHaveLength(8);
  expect(harness.webhooks.deliveries.figures(no)).toMatchObject({
    consecutiveFailures: 8,
    waiting: 0,
  });
});

it('sends nothing more after a 410, though that is not committed yet', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  await harness.emit(40);
  await harness.settle();
  expect(harness.sender.sent).toHaveLength(16);
  // The first result is committed at once, the next ones later.
  harness.sender.end(200, 1);
  await eventually(() => harness.sender.sent.length === 17, 'the next one is sent');
  harness.sender.end(410, 1);
  harness.sender.end(200, 3);
  await eventually(async () => {
    await harness.pass(100);
    return harness.webhooks.endpoints.byNo(no)?.status === 'disabled';
  }, 'disabled');
  expect(harness.sender.sent).toHaveLength(17);
  await harness.webhooks.endpoints.change(1, harness.webhooks.endpoints.byNo(no)?.id ?? '', {
    status: 'enabled',
  });
  await harness.emit(1);
  await eventually(async () => {
    await harness.pass(100);
    return harness.sender.sent.length > 17;
  }, 'enabled again, it is sent to again');
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

it('replays a range in batches, each dead letter once, of enabled endpoints', async () => {
  const harness = await openHarness({ retryDelaysMs: [1], inFlightMax: 4_096 });
  await harness.endpoint();
  const off = await harness.endpoint({ url: 'https://off.example/' });
  harness.sender.answer = () => 500;
  // More than one batch of 500 in all.
  await harness.emit(300);
  const { deadLetters } = harness.webhooks.deliveries;
  await eventually(async () => {
    await harness.pass(100);
    return deadLetters.count(1, {}) === 600;
  }, 'all are dead');
  await harness.webhooks.endpoints.change(1, off.id, { status: 'disabled' });
  const sentBefore = harness.sender.sent.length;
  harness.sender.answer = () => 200;
  const range = { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };
  expect(await deadLetters.replayRange(1, range)).toBe(300);
  expect(await deadLetters.replayRange(2, range)).toBe(0);
  await eventually(async () => {
    await harness.pass(100);
    return harness.sender.sent.length - sentBefore === 300;
  }, 'all are sent again');
  expect(deadLetters.count(1, { endpointNo: off.no })).toBe(300);
  expect(deadLetters.count(1, {})).toBe(300);
});

it('keeps the newest delivered ones, and all that are pending', async () => {
  const harness = await openHarness({ deliveriesKept: 10, retryDelaysMs: [86_400_000] });
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 500;
  await harness.emit(4);
  await harness.settle();
  harness.sender.answer = () => 200;
  await harness.emit(60);
  const { deliveries } = harness.webhooks;
  await eventually(async () => {
    await harness.settle();
    return deliveries.figures(no).waiting === 4;
  }, 'sent');
  expect([deliveries.count(no, 'delivered'), deliveries.count(no)]).toEqual([10, 14]);
  expect(deliveries.list(no, list).data).toHaveLength(14);
});

it('disables an endpoint after five days and 20 attempts of nothing but failures, not before', async () => {
  const harness = await openHarness({
    retryDelaysMs: Array.from({ length: 30 }, () => 6 * 3_600_000),
  });
  const { no } = await harness.endpoint();
  harness.sender.answer = () => ({ failure: 'timeout' });
  await harness.emit();
  await harness.settle();
  const hours = 3_600_000;
  await harness.pass(119 * hours, hours);
  expect(harness.sender.sent.length).toBeGreaterThanOrEqual(18);
  expect(harness.webhooks.endpoints.byNo(no)?.status).toBe('enabled');
  await harness.pass(14 * hours, hours);
  await eventually(() => harness.webhooks.endpoints.byNo(no)?.status === 'disabled', 'disabled');
  expect(harness.webhooks.endpoints.byNo(no)).toMatchObject({ disabledReason: 'failing' });
});

it('takes back at a stop what a thread was handed in advance', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  await harness.endpoint({ url: 'https://deaf.example/', events: ['member.joined'] });
  const recalled: number[] = [];
  const recall = (endpointNo: number): void => {
    recalled.push(endpointNo);
    harness.sender.end('unknown');
  };
  Object.assign(harness.sender, { recall });
  harness.sender.answer = () => 'hang';
  await harness.emit(2);
  await harness.settle();
  expect(recalled).toEqual([]);
  await harness.webhooks.stop();
  expect(recalled).toEqual([no]);
});
