/** From the outbox to a receiver: each committed event, to each endpoint that listens, in time, until it is delivered. */
import { expect, it } from 'vitest';
import { eventually } from './eventually.ts';
import { delaysMs, type Harness, openHarness } from './webhooks-harness.ts';

const list = { limit: 100 };

/** As the API does. */
const replay = async ({ webhooks: { deliveries } }: Harness, id: string): Promise<void> => {
  await deliveries.deadLetters.replay(deliveries.get(1, id));
};

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

it('sends nothing older than the endpoint, or than its last enabling', async () => {
  const harness = await openHarness();
  await harness.emit(2);
  const { id } = await harness.endpoint();
  await harness.emit(1);
  await harness.settle();
  expect(harness.sender.sent).toHaveLength(1);
  await harness.webhooks.endpoints.change(1, id, { status: 'disabled' });
  await harness.emit(4);
  await harness.webhooks.endpoints.change(1, id, { status: 'enabled' });
  const [last] = await harness.emit(1);
  await harness.settle();
  expect(harness.sender.sent.map(({ eventId }) => eventId).slice(1)).toEqual([last]);
});

it('tries 8 times at the specified delays, from the end of each attempt, then makes a dead letter', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 500;
  const [eventId] = await harness.emit();
  await harness.settle();
  for (const [index, delayMs] of delaysMs.entries()) {
    const before = harness.sender.sent.length;
    expect(before).toBe(index + 1);
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

it('replays a dead letter with its ids and bytes, and deletes it after 7 days', async () => {
  const harness = await openHarness({ retryDelaysMs: [10] });
  await harness.endpoint();
  harness.sender.answer = () => 500;
  await harness.emit(3);
  await harness.settle();
  await harness.pass(500);
  const { data } = harness.webhooks.deliveries.deadLetters.list(1, list);
  expect(data).toHaveLength(3);
  const [newest] = data;
  const id = newest?.id ?? '';
  harness.sender.answer = () => 200;
  const first = harness.sender.sent.find(({ deliveryId }) => deliveryId === id);
  await replay(harness, id);
  await harness.settle();
  const last = harness.sender.sent.at(-1);
  expect(last).toMatchObject({
    deliveryId: id,
    eventId: first?.eventId,
    text: first?.text,
    attempt: 3,
  });
  expect(harness.webhooks.deliveries.get(1, id).state).toBe('delivered');
  await expect(replay(harness, id)).rejects.toMatchObject({
    code: 'conflict',
  });
  expect(() => harness.webhooks.deliveries.get(2, id)).toThrow('no delivery');
  expect(harness.webhooks.deliveries.deadLetters.count(1, {})).toBe(2);
  // The wall clock may say what it likes.
  harness.time.step(365 * 86_400_000);
  await harness.pass(7 * 86_400_000 - 60_000, 86_400_000);
  expect(harness.webhooks.deliveries.deadLetters.count(1, {})).toBe(2);
  await harness.pass(120_000, 500);
  expect(harness.webhooks.deliveries.deadLetters.count(1, {})).toBe(0);
  expect(harness.webhooks.deliveries.find(1, data[1]?.id ?? '')).toBeUndefined();
});

it('replays a range in batches, each dead letter once, of enabled endpoints', async () => {
  const harness = await openHarness({ retryDelaysMs: [1], inFlightMax: 4_096 });
  const on = await harness.endpoint();
  const off = await harness.endpoint({ url: 'https://off.example/' });
  harness.sender.answer = () => 500;
  // More than one batch of 500 in all.
  await harness.emit(300);
  await eventually(async () => {
    await harness.pass(100);
    return harness.webhooks.deliveries.deadLetters.count(1, {}) === 600;
  }, 'all are dead');
  await harness.webhooks.endpoints.change(1, off.id, { status: 'disabled' });
  harness.sender.answer = () => 200;
  const sentBefore = harness.sender.sent.length;
  const range = { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };
  expect(await harness.webhooks.deliveries.deadLetters.replayRange(1, range)).toBe(300);
  expect(await harness.webhooks.deliveries.deadLetters.replayRange(2, range)).toBe(0);
  await eventually(async () => {
    await harness.pass(100);
    return harness.webhooks.deliveries.figures(on.no).waiting === 0;
  }, 'all are sent again');
  expect(harness.sender.sent.length - sentBefore).toBe(300);
  expect(harness.webhooks.deliveries.deadLetters.count(1, {})).toBe(300);
  const filter = { endpointNo: off.no };
  expect(harness.webhooks.deliveries.deadLetters.count(1, filter)).toBe(300);
  await expect(
    harness.webhooks.deliveries.deadLetters.replayRange(1, { ...range, ...filter }),
  ).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('is disabled') });
});

it('redelivers as a new delivery of the same events and bytes', async () => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  await harness.emit();
  await harness.settle();
  const [first] = harness.webhooks.deliveries.list(no, list).data;
  const again = await harness.webhooks.deliveries.redeliver(1, first?.id ?? '');
  await harness.settle();
  expect(again.id).not.toBe(first?.id);
  const [one, two] = harness.sender.sent;
  expect(two).toMatchObject({
    eventId: one?.eventId,
    text: one?.text,
    deliveryId: again.id,
    attempt: 1,
  });
  await expect(harness.webhooks.deliveries.redeliver(2, first?.id ?? '')).rejects.toMatchObject({
    code: 'not_found',
  });
});

it('clamps Retry-After of 429 and 503 to [scheduled, 2 x scheduled], and of no other status', async () => {
  const harness = await openHarness();
  const cases = [
    [429, 1, 5_250],
    [503, 7_000, 7_000],
    [503, 1e12, 10_000],
    [500, 9_000, 5_250],
  ] as const;
  const endpoints = await Promise.all(
    cases.map((_, index) => harness.endpoint({ url: `https://receiver.example/${index}` })),
  );
  harness.sender.answer = ({ url }) => {
    const [status, retryAfterMs] = cases[Number(url.at(-1))]!;
    return { status, failure: 'status', retryAfterMs };
  };
  await harness.emit();
  await harness.settle();
  const { deliveries } = harness.webhooks;
  const waitsMs = endpoints.map(({ no }) => {
    const [delivery] = deliveries.list(no, list).data;
    return deliveries.nextAttemptAtMs(delivery!)! - harness.time.now();
  });
  expect(waitsMs).toEqual(cases.map(([, , expectedMs]) => expectedMs + 1));
});

it('disables an endpoint that answers 410, and makes dead letters of its queue', async () => {
  const harness = await openHarness();
  const { no, id } = await harness.endpoint();
  harness.sender.answer = () => 500;
  await harness.emit(3);
  await harness.settle();
  harness.sender.answer = () => 410;
  await harness.emit(1);
  await harness.settle();
  await eventually(() => harness.webhooks.endpoints.byNo(no)?.status === 'disabled', 'disabled');
  await eventually(() => harness.webhooks.deliveries.figures(no).waiting === 0, 'nothing waits');
  expect(harness.webhooks.endpoints.byNo(no)).toMatchObject({ disabledReason: 'gone' });
  const { data } = harness.webhooks.deliveries.deadLetters.list(1, list);
  expect(data.map(({ deadReason }) => deadReason).sort()).toEqual([
    'endpoint_disabled',
    'endpoint_disabled',
    'endpoint_disabled',
    'gone',
  ]);
  await expect(replay(harness, data[0]?.id ?? '')).rejects.toMatchObject({
    code: 'conflict',
  });
  await harness.webhooks.endpoints.change(1, id, { status: 'enabled' });
  harness.sender.answer = () => 200;
  await replay(harness, data[0]?.id ?? '');
  await harness.settle();
  expect(harness.webhooks.deliveries.get(1, data[0]?.id ?? '').state).toBe('delivered');
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

it('drops what waits for a deleted endpoint, and cancels what is in flight', async () => {
  const harness = await openHarness();
  const { no, id } = await harness.endpoint();
  harness.sender.answer = () => 'hang';
  // Two more than may be in flight to one endpoint.
  await harness.emit(18);
  await harness.settle();
  expect(harness.sender.sent).toHaveLength(16);
  const [newest] = harness.webhooks.deliveries.list(no, list).data;
  const [inFlight] = harness.sender.sent;
  await harness.webhooks.endpoints.delete(1, id);
  await harness.webhooks.deliveries.drainEndpoint(no);
  expect(harness.webhooks.deliveries.find(1, newest?.id ?? '')).toBeUndefined();
  harness.sender.end(500);
  await harness.settle();
  expect(harness.webhooks.deliveries.get(1, inFlight?.deliveryId ?? '').state).toBe('canceled');
  await harness.pass(8 * 86_400_000, 86_400_000);
  await harness.pass(20_000, 100);
  expect(harness.webhooks.deliveries.find(1, inFlight?.deliveryId ?? '')).toBeUndefined();
  expect(harness.sender.sent).toHaveLength(16);
});

it('keeps the newest delivered ones, and all that are pending or dead', async () => {
  const harness = await openHarness({ deliveriesKept: 10, retryDelaysMs: [86_400_000] });
  const { no } = await harness.endpoint();
  harness.sender.answer = () => 500;
  await harness.emit(4);
  await harness.settle();
  harness.sender.answer = () => 200;
  for (let round = 0; round < 4; round++) {
    await harness.emit(60);
    await eventually(async () => {
      await harness.settle();
      return harness.webhooks.deliveries.figures(no).waiting === 4;
    }, 'sent');
  }
  const { deliveries } = harness.webhooks;
  const kept = deliveries.count(no, 'delivered');
  expect(kept).toBeGreaterThanOrEqual(10);
  expect(kept).toBeLessThan(10 + 64 + 60);
  expect(deliveries.list(no, { state: 'pending', limit: 100 }).data).toHaveLength(4);
  const seen: string[] = [];
  for (let before: string | undefined; ;) {
    const page = deliveries.list(no, { before, limit: 7 });
    seen.push(...page.data.map(({ id }) => id));
    before = page.before;
    if (before === undefined) break;
  }
  expect(seen).toHaveLength(deliveries.count(no));
  expect(seen).toEqual([...new Set(seen)].sort().toReversed());
});

it('sends a sample once, without the queue, and logs it', async () => {
  const harness = await openHarness();
  const endpoint = await harness.endpoint();
  const body = '{}';
  const evt = 'evt_00000000000000000001';
  harness.sender.answer = () => 500;
  const failed = await harness.webhooks.deliveries.sendNow(endpoint, 'qr.scanned', evt, body);
  expect(failed).toMatchObject({ state: 'canceled', attempt: { status: 500 } });
  expect(harness.sender.sent[0]).toMatchObject({ deliveryId: failed.id, eventId: evt });
  harness.sender.answer = () => 204;
  const taken = await harness.webhooks.deliveries.sendNow(endpoint, 'qr.scanned', evt, body);
  expect(harness.webhooks.deliveries.get(1, taken.id)).toMatchObject({ state: 'delivered' });
  await harness.pass(200_000, 10_000);
  expect(harness.sender.sent).toHaveLength(2);
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
