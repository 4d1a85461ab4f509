/** Deliveries and dead letters through HTTP: events of real changes, a real receiver, retries in milliseconds. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { soon } from '../support/soon.ts';
import { type Answer, type Json, word } from '../support/client.ts';
import {
  healthy,
  openReceiver,
  type ReceivedRequest,
  type Receiver,
} from '../support/fakes/receiver.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { useTestApi } from '../support/test-client.ts';

const broken = { kind: 'answer', status: 500, body: 'broken' } as const;

const { client, makeCode } = await useTestApi({
  clock: new OffsetClock(),
  environment: {
    QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
    QZ_WEBHOOKS_RETRY_DELAYS_MS: '1,1',
    // A receiver that hangs holds its attempts for longer than any test takes.
    QZ_WEBHOOKS_ATTEMPT_TIMEOUT_MS: '60000',
  },
});
let receiver: Receiver;

beforeEach(async () => {
  receiver = await openReceiver();
  return async () => {
    for (const { id } of (await client.get('/v1/webhooks')).items) {
      await client.delete(`/v1/webhooks/${word(id)}`);
    }
    await receiver.close();
  };
});

const endpoint = async (more: object = {}): Promise<Json> =>
  (await client.post('/v1/webhooks', { url: receiver.url(), events: ['qr.created'], ...more }))
    .json;

const get = async (path: string): Promise<Json> => (await client.get(`/v1${path}`)).json;
const post = async (path: string, body?: object, key = ''): Promise<Answer> =>
  await client.post(`/v1${path}`, body, key === '' ? {} : { headers: { 'idempotency-key': key } });

/** Polls until an answer is as wanted. */
const eventually = async (path: string, isWanted: (answer: Answer) => boolean): Promise<Answer> =>
  await vi.waitUntil(async () => {
    const answer = await client.get(`/v1${path}`);
    return isWanted(answer) && answer;
  }, soon);

/** Polls a list until it has `count` items. */
async function listed(path: string, count: number): Promise<readonly Json[]> {
  return (await eventually(path, ({ items }) => items.length === count)).items;
}

const deliveriesOf = (made: Json, query = '') => `/webhooks/${word(made.id)}/deliveries${query}`;
const idOf = ({ body }: ReceivedRequest): unknown => {
  const envelope: Json = JSON.parse(String(body));
  return envelope.id;
};

describe('deliveries', () => {
  test('an event goes out with the bytes that GET /events shows, and its log says how', async () => {
    const made = await endpoint();
    const code = await makeCode();
    const [request] = await receiver.arrived(1);
    const [item] = await listed(deliveriesOf(made, '?state=delivered'), 1);
    const [event] = (await client.get('/v1/events?type=qr.created&limit=1')).items;
    expect(String(request?.body)).toBe(JSON.stringify(event));
    expect(event?.data).toMatchObject({ id: code.id });
    expect(item).toMatchObject({
      endpointId: made.id,
      event: 'qr.created',
      eventIds: [event?.id],
      attemptCount: 1,
      nextAttemptAt: null,
    });
    expect(item).not.toHaveProperty('body');
    expect(request?.headers['x-service-delivery']).toBe(item?.id);
    const whole = await get(`/webhooks/deliveries/${word(item?.id)}`);
    expect(whole.body).toBe(String(request?.body));
    expect(whole.attempts).toMatchObject([
      { status: 200, failure: null, remoteIp: '127.0.0.1', answer: 'ok' },
    ]);
    expect(await get(`/webhooks/${word(made.id)}`)).toMatchObject({
      health: { state: 'healthy', consecutiveFailures: 0, lastFailureAt: null, waiting: 0 },
    });
  });

  test('are listed newest first, by state, by page and by cursor', async () => {
    const made = await endpoint();
    for (let count = 1; count <= 5; count += 1) await makeCode();
    const all = await listed(deliveriesOf(made, '?state=delivered'), 5);
    const ids = all.map(({ id }) => word(id));
    expect(ids).toEqual(ids.toSorted().toReversed());
    const first = await get(deliveriesOf(made, '?limit=2'));
    expect(first).toMatchObject({ total: 5, page: 1, limit: 2 });
    const page = await get(deliveriesOf(made, '?limit=2&page=2'));
    const next = await get(deliveriesOf(made, `?limit=2&cursor=${word(first.nextCursor)}`));
    expect(page.data).toEqual(next.data);
    const last = await get(deliveriesOf(made, '?limit=2&page=3'));
    expect(last).not.toHaveProperty('nextCursor');
    const walked = [first, page, last].flatMap(({ data }) => Object.values(data ?? {}));
    expect(walked.map(({ id }) => id)).toEqual(ids);
    expect(await get(deliveriesOf(made, '?state=dead'))).toMatchObject({ data: [], total: 0 });
  });

  test('are sent again as another delivery of the same event and bytes, once per key', async () => {
    const made = await endpoint();
    await makeCode();
    const [item] = await listed(deliveriesOf(made, '?state=delivered'), 1);
    const path = `/webhooks/deliveries/${word(item?.id)}/redeliver`;
    const again = await post(path, undefined, 'again-1');
    expect([again.status, again.json.state]).toEqual([202, 'pending']);
    expect(again.json.id).not.toBe(item?.id);
    expect(again.headers.location).toBe(`/v1/webhooks/deliveries/${word(again.json.id)}`);
    expect((await post(path, undefined, 'again-1')).text).toBe(again.text);
    const [one, other] = await receiver.arrived(2);
    expect(other?.body).toEqual(one?.body);
    expect(other?.headers['webhook-id']).toBe(one?.headers['webhook-id']);
    await listed(deliveriesOf(made, '?state=delivered'), 2);
    await client.patch(`/v1/webhooks/${word(made.id)}`, { status: 'disabled' });
    expect((await post(path)).status).toBe(409);
  });

  test('that wait go with their endpoint, those in flight are canceled when they fail', async () => {
    receiver.behave({ kind: 'hang' });
    const made = await endpoint();
    for (let count = 1; count <= 20; count += 1) await makeCode();
    // 16 are with the receiver, the others wait.
    await receiver.arrived(16);
    const waiting = await listed(deliveriesOf(made, '?state=pending'), 20);
    await client.delete(`/v1/webhooks/${word(made.id)}`);
    const inFlight = receiver.requests.map(({ headers }) => String(headers['x-service-delivery']));
    const others = waiting.map(({ id }) => word(id)).filter((id) => !inFlight.includes(id));
    expect(others).toHaveLength(4);
    for (const id of others) {
      expect((await client.get(`/v1/webhooks/deliveries/${id}`)).status).toBe(404);
    }
    expect((await client.get(`/v1${deliveriesOf(made)}`)).status).toBe(404);
    expect(receiver.requests).toHaveLength(16);
    await receiver.close();
    const path = `/webhooks/deliveries/${inFlight[0]}`;
    const { json } = await eventually(path, ({ text }) => text.includes('"canceled"'));
    expect(json).toMatchObject({ endpointId: null, attemptCount: 1 });
  });
});

test('dead letters come after the last attempt, and are replayed with the same id and bytes', async () => {
  receiver.behave(broken);
  const made = await endpoint();
  await makeCode();
  const [dead] = await listed(`/webhooks/dead-letters?endpointId=${word(made.id)}`, 1);
  expect(dead).toMatchObject({ state: 'dead', deadReason: 'exhausted', attemptCount: 3 });
  expect(dead?.lastAttempt).toMatchObject({ status: 500, failure: 'status', answer: 'broken' });
  const keptMs = Date.parse(word(dead?.expiresAt)) - Date.parse(word(dead?.deadAt));
  expect(Math.round(keptMs / 3_600_000)).toBe(7 * 24);
  expect(await get(`/webhooks/${word(made.id)}`)).toMatchObject({
    health: { state: 'failing', consecutiveFailures: 3, waiting: 0 },
  });
  receiver.behave(healthy);
  const path = `/webhooks/dead-letters/${word(dead?.id)}/replay`;
  const replayed = await post(path);
  expect([replayed.status, replayed.json.id]).toEqual([202, dead?.id]);
  const requests = await receiver.arrived(4);
  expect(new Set(requests.map(({ body }) => String(body))).size).toBe(1);
  await listed(deliveriesOf(made, '?state=delivered'), 1);
  expect((await post(path)).status).toBe(409);
  await listed(`/webhooks/dead-letters?endpointId=${word(made.id)}`, 0);
});

test('dead letters are found and replayed by time and endpoint', async () => {
  receiver.behave(broken);
  const [one, other] = [await endpoint(), await endpoint()];
  for (let count = 1; count <= 3; count += 1) await makeCode();
  const of = (made: Json): string => `/webhooks/dead-letters?endpointId=${word(made.id)}`;
  await listed(of(other), 3);
  const dead = await listed(of(one), 3);
  const times = dead.map(({ deadAt }) => word(deadAt));
  expect(times).toEqual([...times].sort().toReversed());
  const [newest = '', , oldest = ''] = times;
  await listed(`${of(one)}&from=${oldest}&to=${newest}`, 3);
  const afterMs = Date.parse(newest) + 1;
  await listed(`${of(one)}&from=${new Date(afterMs).toISOString()}`, 0);
  const today = oldest.slice(0, 10);
  await listed(`${of(one)}&from=${today}`, 3);
  await listed(`${of(one)}&to=2020-01-01`, 0);
  const paged = await get(`${of(one)}&limit=2`);
  const rest = await get(`${of(one)}&limit=2&cursor=${word(paged.nextCursor)}`);
  const both = [paged, rest].flatMap(({ data }) => Object.values(data ?? {}));
  expect([paged.total, ...both.map(({ id }) => id)]).toEqual([3, ...dead.map(({ id }) => id)]);
  receiver.behave(healthy);
  const before = receiver.requests.length;
  const range = { from: today, to: newest, endpointId: one.id };
  const replayed = await post('/webhooks/dead-letters/replay', range, 'range-1');
  expect([replayed.status, replayed.json]).toEqual([202, { replayed: 3 }]);
  expect((await post('/webhooks/dead-letters/replay', range, 'range-1')).json).toEqual({
    replayed: 3,
  });
  await listed(of(one), 0);
  await listed(deliveriesOf(one, '?state=delivered'), 3);
  expect(new Set(receiver.requests.slice(before).map(idOf)).size).toBe(3);
  await listed(of(other), 3);
  const all = { from: '2020-01-01', to: '2100-01-01' };
  expect((await post('/webhooks/dead-letters/replay', all)).json).toEqual({ replayed: 3 });
  await listed(deliveriesOf(other, '?state=delivered'), 3);
});

test('410 disables the endpoint; what was dead goes out once it is enabled again', async () => {
  const made = await endpoint();
  receiver.behave({ kind: 'answer', status: 410 });
  await makeCode();
  const [dead] = await listed(`/webhooks/dead-letters?endpointId=${word(made.id)}`, 1);
  expect(dead?.deadReason).toBe('gone');
  const path = `/webhooks/${word(made.id)}`;
  const { json } = await eventually(path, (answer) => word(answer.json.status) === 'disabled');
  expect(json.disabledReason).toBe('gone');
  const replay = `/webhooks/dead-letters/${word(dead?.id)}/replay`;
  const one = await post(replay);
  const range = { from: '2020-01-01', to: '2100-01-01', endpointId: made.id };
  const many = await post('/webhooks/dead-letters/replay', range);
  expect([one.status, many.status, many.json.detail]).toEqual([409, 409, one.json.detail]);
  receiver.behave(healthy);
  await client.patch(`/v1${path}`, { status: 'enabled' });
  expect((await post(replay)).status).toBe(202);
  await listed(deliveriesOf(made, '?state=delivered'), 1);
});

test('fixed words of a path win over ids', async () => {
  expect((await client.get('/v1/webhooks/dead-letters')).status).toBe(200);
  const other = await client.delete('/v1/webhooks/dead-letters');
  expect([other.status, other.headers.allow]).toEqual([405, 'GET, HEAD']);
  expect((await client.get('/v1/webhooks/deliveries')).status).toBe(404);
  const one = await client.get('/v1/webhooks/deliveries/dlv_00000000000000000000');
  expect(one.json.detail).toBe('There is no delivery with this id');
  const list = await client.get('/v1/webhooks/whk_00000000000000000000/deliveries');
  expect(list.json.detail).toBe('There is no webhook endpoint with this id');
});

test('a range that ends before it begins is refused by its begin', async () => {
  const body = { from: '2026-01-02', to: '2026-01-01T23:59:59.999Z' };
  for (const { status, faults } of [
    await client.get('/v1/webhooks/dead-letters?from=2026-03-02&to=2026-03-01'),
    await post('/webhooks/dead-letters/replay', body),
  ]) {
    expect([status, faults[0]]).toMatchObject([422, { path: 'from', code: 'after_to' }]);
  }
});

test('a replay for an unknown endpoint is 404, a filter by one is an empty list', async () => {
  const endpointId = 'whk_00000000000000000000';
  const body = { from: '2026-01-01', to: '2026-01-02', endpointId };
  expect((await post('/webhooks/dead-letters/replay', body)).status).toBe(404);
  const none = { data: [], total: 0 };
  expect(await get(`/webhooks/dead-letters?endpointId=${endpointId}`)).toMatchObject(none);
});
