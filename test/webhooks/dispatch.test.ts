/** From the outbox to a receiver: each committed event, to whoever listens, in time, until it is taken. */
import { expect, it } from 'vitest';
import { eventually } from './eventually.ts';
import { delaysMs, openHarness } from './webhooks-harness.ts';

const list = { limit: 100 };

it('sends each event to each endpoint that listens, with the bytes of the outbox', async () => {
  const rig = openHarness();
  const all = await rig.endpoint();
  const some = await rig.endpoint({ url: 'https://other.example/', events: ['qr.deleted'] });
  await rig.endpoint({ url: 'https://deaf.example/', events: ['member.joined'] });
  const ids = await rig.emit(3);
  await rig.settle();
  const bodies = rig.outbox.after(0, 10).map(({ body }) => body);
  for (const { url } of [all, some]) {
    const sent = rig.sender.sent.filter((task) => task.url === url);
    expect(sent.map(({ eventId }) => eventId)).toEqual(ids);
    expect(sent.map(({ text }) => text)).toEqual(bodies);
    expect(sent.every(({ attempt, kind }) => attempt === 1 && kind === 'qr.deleted')).toBe(true);
  }
  expect(rig.sender.sent.some(({ url }) => url === 'https://deaf.example/')).toBe(false);
  const { data } = rig.webhooks.deliveries.list(all.no, list);
  expect(data.map(({ state }) => state)).toEqual(['delivered', 'delivered', 'delivered']);
  expect(data.map(({ eventIds }) => eventIds[0])).toEqual(ids.toReversed());
  expect(rig.webhooks.deliveredEvent).toBe(3);
});

it('sends nothing that is older than the endpoint, or than its last enabling', async () => {
  const rig = openHarness();
  await rig.emit(2);
  const { id } = await rig.endpoint();
  await rig.emit(1);
  await rig.settle();
  expect(rig.sender.sent).toHaveLength(1);
  await rig.webhooks.endpoints.change(1, id, { enabled: false });
  await rig.emit(4);
  await rig.webhooks.endpoints.change(1, id, { enabled: true });
  const [last] = await rig.emit(1);
  await rig.settle();
  expect(rig.sender.sent.map(({ eventId }) => eventId).slice(1)).toEqual([last]);
});

it('tries 8 times at the specified delays, from the end of each attempt, then buries', async () => {
  const rig = openHarness();
  const { no } = await rig.endpoint();
  rig.sender.answer = () => 500;
  const [eventId] = await rig.emit();
  await rig.settle();
  for (const [index, delayMs] of delaysMs.entries()) {
    const before = rig.sender.sent.length;
    expect(before).toBe(index + 1);
    // Not a millisecond early, and not later than jitter (here 5 %), bucket and tick.
    await rig.pass(delayMs - 1, delayMs - 1);
    expect(rig.sender.sent).toHaveLength(before);
    await rig.pass(delayMs * 0.05 + 202, delayMs * 0.05 + 202);
    expect(rig.sender.sent).toHaveLength(before + 1);
  }
  expect(rig.sender.sent.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(
    new Set(rig.sender.sent.map((sent) => `${sent.eventId} ${sent.deliveryId} ${sent.text}`)).size,
  ).toBe(1);
  const { data } = rig.webhooks.deliveries.deadLetters(1, list);
  expect(data).toHaveLength(1);
  expect(data[0]).toMatchObject({ state: 'dead', deadReason: 'exhausted', eventIds: [eventId] });
  expect(data[0]?.attempts).toHaveLength(8);
  expect(rig.webhooks.deliveries.figures(no)).toMatchObject({ consecutiveFailures: 8, waiting: 0 });
});

it('replays a dead letter with its ids and bytes, and forgets it after 7 days', async () => {
  const rig = openHarness({ retryDelaysMs: [10] });
  await rig.endpoint();
  rig.sender.answer = () => 500;
  await rig.emit(3);
  await rig.settle();
  await rig.pass(500);
  const { data } = rig.webhooks.deliveries.deadLetters(1, list);
  expect(data).toHaveLength(3);
  const [newest] = data;
  const id = newest?.id ?? '';
  rig.sender.answer = () => 200;
  const first = rig.sender.sent.find(({ deliveryId }) => deliveryId === id);
  await rig.webhooks.deliveries.replay(1, id);
  await rig.settle();
  const last = rig.sender.sent.at(-1);
  expect(last).toMatchObject({
    deliveryId: id,
    eventId: first?.eventId,
    text: first?.text,
    attempt: 3,
  });
  expect(rig.webhooks.deliveries.get(1, id).state).toBe('delivered');
  await expect(rig.webhooks.deliveries.replay(1, id)).rejects.toMatchObject({ code: 'conflict' });
  expect(() => rig.webhooks.deliveries.get(2, id)).toThrow('no delivery');
  expect(rig.webhooks.deliveries.deadLetterCount(1)).toBe(2);
  // The wall clock may say what it likes.
  rig.time.step(365 * 86_400_000);
  await rig.pass(7 * 86_400_000 - 60_000, 86_400_000);
  expect(rig.webhooks.deliveries.deadLetterCount(1)).toBe(2);
  await rig.pass(120_000, 500);
  expect(rig.webhooks.deliveries.deadLetterCount(1)).toBe(0);
  expect(rig.webhooks.deliveries.find(1, data[1]?.id ?? '')).toBeUndefined();
});

it('replays a range in batches, each dead letter once, of endpoints that are on', async () => {
  const rig = openHarness({ retryDelaysMs: [1], inFlightMax: 4_096 });
  const on = await rig.endpoint();
  const off = await rig.endpoint({ url: 'https://off.example/' });
  rig.sender.answer = () => 500;
  await rig.emit(700);
  await eventually(async () => {
    await rig.pass(100);
    return rig.webhooks.deliveries.deadLetterCount(1) === 1_400;
  }, 'all are dead');
  await rig.webhooks.endpoints.change(1, off.id, { enabled: false });
  rig.sender.answer = () => 200;
  const sentBefore = rig.sender.sent.length;
  const range = { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };
  expect(await rig.webhooks.deliveries.replayRange(1, range)).toBe(700);
  expect(await rig.webhooks.deliveries.replayRange(2, range)).toBe(0);
  await eventually(async () => {
    await rig.pass(100);
    return rig.webhooks.deliveries.figures(on.no).waiting === 0;
  }, 'all are sent again');
  expect(rig.sender.sent.length - sentBefore).toBe(700);
  expect(rig.webhooks.deliveries.deadLetterCount(1)).toBe(700);
  const filter = { endpointNo: off.no };
  expect(rig.webhooks.deliveries.deadLetterCount(1, filter)).toBe(700);
  await expect(rig.webhooks.deliveries.replayRange(1, { ...range, ...filter })).resolves.toBe(0);
});

it('redelivers as a new delivery of the same events and bytes', async () => {
  const rig = openHarness();
  const { no } = await rig.endpoint();
  await rig.emit();
  await rig.settle();
  const [first] = rig.webhooks.deliveries.list(no, list).data;
  const again = await rig.webhooks.deliveries.redeliver(1, first?.id ?? '');
  await rig.settle();
  expect(again.id).not.toBe(first?.id);
  const [one, two] = rig.sender.sent;
  expect(two).toMatchObject({
    eventId: one?.eventId,
    text: one?.text,
    deliveryId: again.id,
    attempt: 1,
  });
  await expect(rig.webhooks.deliveries.redeliver(2, first?.id ?? '')).rejects.toMatchObject({
    code: 'not_found',
  });
});

it('clamps Retry-After of 429 and 503 to [scheduled, 2 x scheduled], and of no other status', async () => {
  for (const [status, retryAfterMs, wantedMs] of [
    [429, 1, 5_250],
    [503, 7_000, 7_000],
    [503, 1e12, 10_000],
    [500, 9_000, 5_250],
  ] as const) {
    const rig = openHarness();
    const { no } = await rig.endpoint();
    rig.sender.answer = () => ({ status, failure: 'status', retryAfterMs });
    await rig.emit();
    await rig.settle();
    const [delivery] = rig.webhooks.deliveries.list(no, list).data;
    const nextMs = delivery === undefined ? 0 : rig.webhooks.deliveries.nextAttemptAtMs(delivery);
    expect((nextMs ?? 0) - rig.time.now()).toBe(wantedMs + 1);
  }
});

it('disables an endpoint that answers 410, and buries what waits for it', async () => {
  const rig = openHarness();
  const { no, id } = await rig.endpoint();
  rig.sender.answer = () => 500;
  await rig.emit(3);
  await rig.settle();
  rig.sender.answer = () => 410;
  await rig.emit(1);
  await rig.settle();
  await eventually(() => rig.webhooks.endpoints.byNo(no)?.status === 'disabled', 'disabled');
  await eventually(() => rig.webhooks.deliveries.figures(no).waiting === 0, 'nothing waits');
  expect(rig.webhooks.endpoints.byNo(no)).toMatchObject({ disabledReason: 'gone' });
  const { data } = rig.webhooks.deliveries.deadLetters(1, list);
  expect(data.map(({ deadReason }) => deadReason).sort()).toEqual([
    'endpoint_disabled',
    'endpoint_disabled',
    'endpoint_disabled',
    'gone',
  ]);
  await expect(rig.webhooks.deliveries.replay(1, data[0]?.id ?? '')).rejects.toMatchObject({
    code: 'conflict',
  });
  await rig.webhooks.endpoints.change(1, id, { enabled: true });
  rig.sender.answer = () => 200;
  await rig.webhooks.deliveries.replay(1, data[0]?.id ?? '');
  await rig.settle();
  expect(rig.webhooks.deliveries.get(1, data[0]?.id ?? '').state).toBe('delivered');
});

it('disables an endpoint after five days and 20 attempts of nothing but failures, not before', async () => {
  const rig = openHarness({ retryDelaysMs: Array.from({ length: 30 }, () => 6 * 3_600_000) });
  const { no } = await rig.endpoint();
  rig.sender.answer = () => ({ failure: 'timeout' });
  await rig.emit();
  await rig.settle();
  const hours = 3_600_000;
  await rig.pass(119 * hours, hours);
  expect(rig.sender.sent.length).toBeGreaterThanOrEqual(18);
  expect(rig.webhooks.endpoints.byNo(no)?.status).toBe('enabled');
  await rig.pass(14 * hours, hours);
  await eventually(() => rig.webhooks.endpoints.byNo(no)?.status === 'disabled', 'disabled');
  expect(rig.webhooks.endpoints.byNo(no)).toMatchObject({ disabledReason: 'failing' });
});

it('cancels what waits for a removed endpoint, and lets a late answer change nothing', async () => {
  const rig = openHarness({ perEndpointInFlightMax: 1 });
  const { no, id } = await rig.endpoint();
  rig.sender.answer = () => 'hang';
  await rig.emit(3);
  await rig.settle();
  expect(rig.sender.sent).toHaveLength(1);
  const [newest] = rig.webhooks.deliveries.list(no, list).data;
  const [flying] = rig.sender.sent;
  await rig.webhooks.endpoints.remove(1, id);
  await rig.webhooks.deliveries.removeEndpoint(no);
  expect(rig.webhooks.deliveries.get(1, newest?.id ?? '').state).toBe('canceled');
  rig.sender.end(500);
  await rig.settle();
  expect(rig.webhooks.deliveries.get(1, flying?.deliveryId ?? '').state).toBe('canceled');
  await rig.pass(8 * 86_400_000, 86_400_000);
  await rig.pass(20_000, 100);
  expect(rig.webhooks.deliveries.find(1, newest?.id ?? '')).toBeUndefined();
  expect(rig.sender.sent).toHaveLength(1);
});

it('keeps the newest delivered ones, and all that wait or are dead', async () => {
  const rig = openHarness({ deliveriesKept: 10, retryDelaysMs: [86_400_000] });
  const { no } = await rig.endpoint();
  rig.sender.answer = () => 500;
  await rig.emit(4);
  await rig.settle();
  rig.sender.answer = () => 200;
  for (let round = 0; round < 4; round++) {
    await rig.emit(60);
    await eventually(async () => {
      await rig.settle();
      return rig.webhooks.deliveries.figures(no).waiting === 4;
    }, 'sent');
  }
  const { deliveries } = rig.webhooks;
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

it('sends a sample once, beside the queue, and logs it', async () => {
  const rig = openHarness();
  const endpoint = await rig.endpoint();
  const body = Buffer.from('{}');
  const evt = 'evt_00000000000000000001';
  rig.sender.answer = () => 500;
  const failed = await rig.webhooks.deliveries.sendNow(endpoint, 'qr.scanned', evt, body);
  expect(failed).toMatchObject({ state: 'canceled', attempt: { status: 500 } });
  expect(rig.sender.sent[0]).toMatchObject({ deliveryId: failed.id, eventId: evt });
  rig.sender.answer = () => 204;
  const taken = await rig.webhooks.deliveries.sendNow(endpoint, 'qr.scanned', evt, body);
  expect(rig.webhooks.deliveries.get(1, taken.id)).toMatchObject({ state: 'delivered' });
  await rig.pass(200_000, 10_000);
  expect(rig.sender.sent).toHaveLength(2);
});
