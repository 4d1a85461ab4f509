/** Webhook endpoints through HTTP: made, changed, rotated, tried, with a real receiver behind them. */
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { eventKinds } from '../../src/model/event.ts';
import { endpointsMax } from '../../src/webhooks/endpoints/endpoints.ts';
import { type Answer, type Json, word } from '../support/client.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { healthy, openReceiver, type ReceivedRequest } from '../support/fakes/receiver.ts';
import { useTestApi } from '../support/test-client.ts';

const clock = new OffsetClock();
const { service, client } = await useTestApi({
  clock,
  environment: { QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8' },
});
const receiver = await openReceiver();
beforeEach(() => receiver.behave(healthy));
afterAll(() => receiver.close());

const create = async (more: object = {}): Promise<Answer> =>
  await client.post('/v1/webhooks', { url: receiver.url(), events: ['member.joined'], ...more });
const pathOf = ({ json }: Answer, more = ''): string => `/v1/webhooks/${word(json.id)}${more}`;

test('an endpoint is made with a secret that is shown once, and read without it', async () => {
  const made = await create({ description: 'Till' });
  expect(made.status).toBe(201);
  expect(made.headers.location).toBe(pathOf(made));
  const secret = word(made.json.secret);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(made.json).toMatchObject({
    url: receiver.url(),
    events: ['member.joined'],
    description: 'Till',
    maxBatch: 100,
    status: 'enabled',
    disabledReason: null,
    olderSecretsEndAt: null,
  });
  const one = await client.get(pathOf(made));
  expect(one.json).toMatchObject({
    id: made.json.id,
    health: { state: 'unused', consecutiveFailures: 0, lastSuccessAt: null, waiting: 0 },
  });
  const list = await client.get('/v1/webhooks?limit=1');
  expect(list.json).toMatchObject({ page: 1, limit: 1 });
  expect(list.items).toEqual([one.json]);
  for (const text of [one.text, list.text]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain('sealed.');
  }
  const stored = readFileSync(join(service.config.dataDir, 'management.mdb'));
  expect(stored.includes(secret.slice('whsec_'.length))).toBe(false);
});

test('an endpoint changes by merge patch, stops, starts again, and is gone when deleted', async () => {
  const made = await create({ description: 'x' });
  const patch = async (body: object): Promise<Json> =>
    (await client.patch(pathOf(made), body)).json;
  const changed = await patch({ events: ['*'], maxBatch: 1, description: null });
  expect(changed).toMatchObject({ events: ['*'], maxBatch: 1, description: null });
  expect(changed.url).toBe(made.json.url);
  const off = await patch({ status: 'disabled' });
  expect(off).toMatchObject({ status: 'disabled', disabledReason: 'by_hand' });
  expect(off.disabledAt).toMatch(/Z$/);
  expect((await client.get(pathOf(made))).json.health).toMatchObject({ state: 'disabled' });
  const on = { status: 'enabled', disabledAt: null };
  expect(await patch({ status: 'enabled' })).toMatchObject(on);
  expect(await patch({})).toMatchObject({ events: ['*'], status: 'enabled' });
  const deleted = await client.delete(pathOf(made));
  expect(deleted.json).toEqual({ deleted: true, id: made.json.id });
  expect((await client.patch(pathOf(made), {})).status).toBe(404);
});

describe('bad input', () => {
  const faultsOf = async (body: unknown): Promise<unknown> => {
    const { status, faults } = await client.post('/v1/webhooks', body);
    return [status, ...faults.map(({ path, code }) => `${path} ${code}`).sort()];
  };
  const events = ['qr.created'];

  test('is reported with all other faults, the address included', async () => {
    const url = 'http://user:pw@10.0.0.1/';
    expect(
      await faultsOf({ url, events: ['qr.made'], maxBatch: 0, description: '', x: 1 }),
    ).toEqual([
      422,
      'description too_small',
      'events.0 not_allowed',
      'maxBatch too_small',
      'url credentials',
      'x unknown_field',
    ]);
  });

  test.each([
    [{ url: 'http://169.254.169.254/latest' }, 'url blocked_ip'],
    [{ events: [] }, 'events too_small'],
    [{ events: ['qr.created', 'qr.created'] }, 'events invalid'],
    [{ description: 'a\u0007' }, 'description invalid_format'],
  ])('%j is refused, in a change too', async (body, fault) => {
    expect(await faultsOf({ url: receiver.url(), events, ...body })).toEqual([422, fault]);
    const made = await create();
    const changed = await client.patch(pathOf(made), body);
    expect([changed.status, `${changed.faults[0]?.path}`]).toEqual([422, fault.split(' ')[0]]);
    await client.delete(pathOf(made));
  });
});

/** Which of the secrets signed a request; webhooks/endpoints shows that both signatures are of the same. */
function signers({ headers, body }: ReceivedRequest, secrets: readonly string[]): string[] {
  const [time = '', ...given] = String(headers['x-service-signature']).split(',');
  expect(given.length).toBeGreaterThan(0);
  const sign = (secret: string): string =>
    createHmac('sha256', secret)
      .update(`${time.slice(2)}.`)
      .update(body)
      .digest('hex');
  return secrets.filter((secret) => given.includes(`v1=${sign(secret)}`));
}

const sample = async (made: Answer, event = 'qr.created'): Promise<Answer> =>
  await client.post(pathOf(made, '/test'), { event });
const newest = (): ReceivedRequest => {
  const request = receiver.requests.at(-1);
  if (request === undefined) throw new Error('Cannot look at a request: none has come');
  return request;
};

test('three secrets are valid at a time, and none but the new one after an overlap of 0', async () => {
  const made = await create();
  const rotate = (body?: object) => client.post(pathOf(made, '/rotate-secret'), body);
  const second = await rotate();
  const third = await rotate({});
  const refused = await rotate();
  expect([refused.status, refused.json.code]).toEqual([409, 'conflict']);
  const secrets = [made, second, third].map(({ json }) => word(json.secret));
  await sample(made);
  expect(signers(newest(), secrets)).toEqual(secrets);
  const last = await rotate({ overlapSeconds: 0 });
  await sample(made);
  expect(signers(newest(), [...secrets, word(last.json.secret)])).toEqual([last.json.secret]);
});

test.each(eventKinds)(
  'a sample of %s is sent at once, whatever the endpoint subscribes to',
  async (kind) => {
    const made = await create();
    const answer = await sample(made, kind);
    expect([answer.status, answer.json.delivered]).toEqual([200, true]);
    expect(answer.json.attempt).toMatchObject({ status: 200, failure: null, answer: 'ok' });
    expect(answer.json.attempt?.remoteIp).toBe('127.0.0.1');
    const { headers, body } = newest();
    const envelope: Json = JSON.parse(String(body));
    expect(envelope.event).toBe(kind);
    expect(envelope.id).toMatch(/^evt_[0-9a-z]{20}$/);
    expect('createdAt' in envelope).toBe(kind.startsWith('qr.'));
    expect([headers['x-service-event'], headers['x-service-attempt']]).toEqual([kind, '1']);
    expect(signers(newest(), [word(made.json.secret)])).toHaveLength(1);
    expect(headers['x-service-delivery']).toBe(answer.json.deliveryId);
    const logged = await client.get(`/v1/webhooks/deliveries/${word(answer.json.deliveryId)}`);
    expect(logged.json).toMatchObject({ state: 'delivered', eventIds: [envelope.id] });
    expect(logged.json.body).toBe(String(body));
    await client.delete(pathOf(made));
  },
);

test('a sample says what went wrong, and is not tried again', async () => {
  const made = await create();
  receiver.behave({ kind: 'answer', status: 500, body: 'no\u0000 luck' });
  const answer = await sample(made);
  expect(answer.status).toBe(200);
  expect(answer.json).toMatchObject({
    delivered: false,
    attempt: { status: 500, failure: 'status', answer: 'no\u0000 luck' },
  });
  const { json } = await client.get(pathOf(made));
  expect(json.health).toMatchObject({ waiting: 0 });
  await client.patch(pathOf(made), { status: 'disabled' });
  receiver.behave(healthy);
  expect((await sample(made)).json.delivered).toBe(true);
});

test('no secret is in the log', () => {
  expect(service.logLines.length).toBeGreaterThan(0);
  expect(service.logLines.join('')).not.toContain('whsec_');
});

test('a workspace has at most fifty', async () => {
  for (const { id } of (await client.get('/v1/webhooks?limit=100')).items) {
    await client.delete(`/v1/webhooks/${word(id)}`);
  }
  const answers = await Promise.all(
    Array.from({ length: endpointsMax + 1 }, async () => await create()),
  );
  const refused = answers.filter(({ status }) => status === 409);
  expect([answers.filter(({ status }) => status === 201).length, refused.length]).toEqual([50, 1]);
  expect(refused[0]?.json.detail).toContain('50');
  const page = await client.get('/v1/webhooks?limit=30');
  const rest = await client.get(`/v1/webhooks?limit=30&cursor=${word(page.json.nextCursor)}`);
  expect([page.json.total, page.items.length, rest.items.length]).toEqual([50, 30, 20]);
});
