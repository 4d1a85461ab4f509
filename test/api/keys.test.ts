/** API keys and what they may ask: quota, roles, idempotency, and the headers that every answer carries. */
import { describe, expect, test } from 'vitest';
import { type Answer, word } from '../support/client.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { useTestApi } from '../support/test-client.ts';

const clock = new OffsetClock();
const { client } = await useTestApi({
  plan: 'enterprise',
  clock,
  environment: { QZ_TRUSTED_PROXIES: '127.0.0.1' },
});
const target = 'https://example.com/';

/** An address that no other test uses: requests without a key are counted by address. */
let addresses = 0;
const stranger = (): Record<string, string> => ({
  'x-forwarded-for': `198.51.100.${(addresses += 1)}`,
});

function expectHeaders(answer: Answer, limit: string): void {
  expect(answer.headers['x-ratelimit-limit']).toBe(limit);
  expect(answer.headers['x-ratelimit-remaining']).toMatch(/^\d+$/);
  const reset = Number(answer.headers['x-ratelimit-reset']) * 1_000;
  // The window ended while the answer was on its way, at the earliest.
  expect(reset - clock.now()).toBeGreaterThan(-30_000);
  expect(reset - clock.now()).toBeLessThanOrEqual(60_000);
  expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-z]{20}$/);
}

describe('every answer carries the quota’s numbers and a request id', () => {
  test.each([
    ['200', 'GET', '/v1/qr-codes', undefined],
    ['201', 'POST', '/v1/qr-codes', { target }],
    ['404 of a resource', 'GET', '/v1/qr-codes/qr_00000000000000000000', undefined],
    ['404 of a path', 'GET', '/v1/nonsense', undefined],
    ['404 of a trailing slash', 'GET', '/v1/qr-codes/', undefined],
    ['405', 'DELETE', '/v1/qr-codes', undefined],
    ['422', 'POST', '/v1/qr-codes', {}],
    ['400', 'POST', '/v1/qr-codes', '{'],
  ])('%s', async (status, method, path, body) => {
    const raw = typeof body === 'string' ? { raw: body } : { body };
    const answer = await client.call(method, path, raw);
    expect(String(answer.status)).toBe(status.slice(0, 3));
    expectHeaders(answer, '600');
    if (answer.status >= 400) {
      expect(answer.headers['content-type']).toBe('application/problem+json');
      expect(answer.json).toMatchObject({ status: answer.status });
      expect(answer.json.requestId).toBe(answer.headers['x-request-id']);
      expect(answer.json.type).toBe(`http://localhost:8080/docs/api#${word(answer.json.code)}`);
    }
  });

  test.each([
    ['no key', '/v1/qr-codes', 401],
    ['no key, unknown path', '/v1/nonsense', 401],
    ['no key, outside /v1', '/nonsense', 404],
    ['the OpenAPI document', '/v1/openapi.json', 200],
  ])('%s, in a Free-sized bucket', async (_name, path, status) => {
    const answer = await client.get(path, { key: undefined, headers: stranger() });
    expect(answer.status).toBe(status);
    expectHeaders(answer, '20');
  });
});

test('405 names what is allowed, HEAD goes wherever GET does', async () => {
  for (const method of ['PUT', 'OPTIONS', 'TRACE', 'PROPFIND']) {
    const { status, json, headers } = await client.call(method, '/v1/qr-codes');
    expect([method, status, json.code]).toEqual([method, 405, 'method_not_allowed']);
    expect(headers.allow?.split(', ').sort()).toEqual(['GET', 'HEAD', 'POST']);
  }
  const head = await client.call('HEAD', '/v1/qr-codes?limit=1');
  expect([head.status, head.text]).toEqual([200, '']);
  expect(Number(head.headers['content-length'])).toBeGreaterThan(10);
});

test.each([
  ['no header', undefined],
  ['another scheme', 'Basic YTpi'],
  ['an empty token', 'Bearer '],
  ['two tokens', 'Bearer a b'],
  ['a huge token', `Bearer ${'a'.repeat(3_000)}`],
])('%s is 401 with WWW-Authenticate', async (_name, authorization) => {
  const headers = { ...stranger(), ...(authorization === undefined ? {} : { authorization }) };
  const answer = await client.get('/v1/qr-codes', { key: undefined, headers });
  expect([answer.status, answer.json.code]).toEqual([401, 'unauthorized']);
  expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
});

test('guessing is refused with 429 after 20 tries of one address, whatever else it forges', async () => {
  // To the begin of a minute, in which all tries are.
  clock.offsetMs += 60_000 - (clock.now() % 60_000);
  const headers = { 'x-forwarded-for': '6.6.6.6, 203.0.113.9' };
  const statuses: number[] = [];
  let last: Answer | undefined;
  for (let tries = 0; tries < 22; tries += 1) {
    last = await client.get('/v1/qr-codes', { key: `a.b.${tries}`, headers });
    statuses.push(last.status);
  }
  expect(statuses.slice(0, 20)).toEqual(Array(20).fill(401));
  expect(last?.json.code).toBe('rate_limited');
});

test('under an Idempotency-Key the replay is the first answer, marked; nothing is made twice', async () => {
  const headers = { 'idempotency-key': 'one' };
  const first = await client.post('/v1/qr-codes', { target }, { headers });
  const again = await client.post('/v1/qr-codes', { target }, { headers });
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(again.text).toBe(first.text);
  expect(again.headers.location).toBe(first.headers.location);
  expect(first.headers['idempotent-replayed']).toBeUndefined();
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
});

describe('API keys', async () => {
  const clock = new OffsetClock();
  const { service, client } = await useTestApi({ clock });

  const works = async (key: string): Promise<number> =>
    (await client.get('/v1/qr-codes', { key })).status;
  const create = async (body: unknown, key = service.apiKey) =>
    await client.post('/v1/api-keys', body, { key });

  test('are shown once, listed without their secret, and revoked at once', async () => {
    const made = await create({ name: 'Till', role: 'viewer' });
    expect(made.status).toBe(201);
    const key = word(made.json.key);
    expect(made.headers.location).toBe(`/v1/api-keys/${word(made.json.id)}`);
    expect(await works(key)).toBe(200);
    const list = await client.get('/v1/api-keys?limit=1');
    expect(list.items[0]).toMatchObject({ id: made.json.id, name: 'Till', revokedAt: null });
    expect(list.items[0]?.lastUsedAt).toMatch(/Z$/);
    expect(list.text).not.toContain(key.split('.')[2]);
    const path = `/v1/api-keys/${word(made.json.id)}`;
    expect((await client.delete(path)).json).toEqual({ deleted: true, id: made.json.id });
    expect(await works(key)).toBe(401);
    expect((await client.delete(path)).status).toBe(404);
  });

  test('rotate: both work for the overlap, then the old one is expired', async () => {
    const old = (await create({ name: 'Old', role: 'editor' })).json;
    const path = `/v1/api-keys/${word(old.id)}/rotate`;
    const made = await client.post(path, { overlapSeconds: 3_600 });
    expect([made.status, made.json.role, made.json.name]).toEqual([201, 'editor', 'Old']);
    const [before, after] = [word(old.key), word(made.json.key)];
    expect([await works(before), await works(after)]).toEqual([200, 200]);
    clock.offsetMs = 3_601_000;
    expect([await works(before), await works(after)]).toEqual([401, 200]);
    expect((await client.post(path)).status).toBe(404);
    clock.offsetMs = 0;
    const next = await client.post(`/v1/api-keys/${word(made.json.id)}/rotate`);
    const last = await client.post(`/v1/api-keys/${word(next.json.id)}/rotate`, {
      overlapSeconds: 0,
    });
    expect(await works(word(next.json.key))).toBe(401);
    expect(await works(word(last.json.key))).toBe(200);
  });

  test('grant, rotate and revoke nothing above the asker’s role', async () => {
    const admin = await service.keyOf('admin');
    expect((await create({ name: 'up', role: 'owner' }, admin)).status).toBe(403);
    const owner = word((await create({ name: 'own', role: 'owner' })).json.id);
    const rotated = await client.post(`/v1/api-keys/${owner}/rotate`, {}, { key: admin });
    expect(rotated.status).toBe(403);
    expect((await client.delete(`/v1/api-keys/${owner}`, { key: admin })).status).toBe(403);
  });

  test('end in the time to come', async () => {
    const { status, faults } = await create({ name: 'x', expiresAt: '2020-01-01T00:00:00Z' });
    expect([status, faults[0]?.path]).toEqual([422, 'expiresAt']);
  });
});
