/** Signing in, sessions and their cookie, CSRF, throttling, passwords, several workspaces. */
import { createSecretKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Passwords } from '../../src/workspaces/passwords.ts';
import { Browser } from '../support/browser.ts';
import { Client, word } from '../support/client.ts';
import { startTestApi, type TestApp } from '../support/test-app.ts';

let service: TestApp;
let browser: Browser;
const email = 'owner@localhost.localdomain';
const password = 'correct horse';

beforeAll(async () => {
  service = await startTestApi({
    environment: { QZ_TRUSTED_PROXIES: '127.0.0.1', QZ_BOOTSTRAP_PASSWORD: password },
  });
  browser = new Browser(service);
});
afterAll(async () => {
  await browser.close();
  await service.close();
});

describe('signing in', () => {
  test('gives a cookie for this host that scripts cannot read, and a CSRF token', async () => {
    const answer = await browser.signIn(email.toUpperCase(), password);
    expect(answer.status).toBe(200);
    expect(answer.headers['set-cookie']).toMatch(
      /^quietzone=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    expect(answer.json).toMatchObject({ user: { email }, workspace: { role: 'owner' } });
    const session = await browser.call('GET', '/v1/session');
    expect(session.json).toEqual(answer.json);
    expect(session.headers['x-ratelimit-limit']).toBe('600');
    expect(JSON.stringify(service.logLines)).not.toContain(browser.cookie.split('=')[1]);
  });

  test('answers a wrong password and an unknown e-mail alike', async () => {
    const answerTo = async (who: string) => {
      const { status, json, headers } = await browser.signIn(who, 'wrong', '192.0.2.1');
      return { status, json: { ...json, requestId: '' }, cookie: headers['set-cookie'] };
    };
    const known = await answerTo(email);
    expect(known).toMatchObject({ status: 401, cookie: undefined });
    expect(await answerTo('nobody@example.com')).toEqual(known);
  });

  test.each([
    [{ email }, 422],
    [{ email, password: 'x'.repeat(257) }, 422],
    [{ email: 'x'.repeat(300), password }, 422],
    [{ email: ['a'], password }, 422],
    [{ email, password, admin: true }, 422],
  ])('refuses %j', async (body, status) => {
    const headers = { 'x-forwarded-for': '192.0.2.9' };
    const answer = await browser.call('POST', '/v1/auth/sign-in', { body, headers });
    expect(answer.status).toBe(status);
  });

  test('waits longer after each failure, whether the account exists or not', async () => {
    for (const [who, net] of [
      ['stuffed@example.com', '198.51.100'],
      [email, '203.0.113'],
    ] as const) {
      let last = await browser.signIn(who, 'no', `${net}.0`);
      for (let at = 1; at < 14 && last.status !== 429; at += 1) {
        last = await browser.signIn(who, 'no', `${net}.${at}`);
      }
      expect(last.status).toBe(429);
      expect(Number(last.headers['retry-after'])).toBeGreaterThan(0);
    }
  });
});

describe('a session', () => {
  const create = { body: { target: 'https://example.com/' } };

  test.each([
    ['no token', { 'x-csrf-token': '' }],
    ['a wrong token', { 'x-csrf-token': 'A'.repeat(43) }],
    ['another origin', { origin: 'https://evil.example' }],
    ['a null origin', { origin: 'null' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a subdomain', { 'sec-fetch-site': 'same-site' }],
  ])('changes nothing with %s', async (_name, headers) => {
    const answer = await browser.call('POST', '/v1/qr-codes', { ...create, headers });
    expect([answer.status, answer.json.code]).toEqual([403, 'forbidden']);
  });

  test('changes things from its own pages; a key comes before it', async () => {
    const headers = { origin: service.config.api.publicUrl, 'sec-fetch-site': 'same-origin' };
    expect((await browser.call('POST', '/v1/qr-codes', { ...create, headers })).status).toBe(201);
    const key = await service.keyOf('viewer');
    expect((await browser.call('POST', '/v1/qr-codes', { ...create, key })).status).toBe(403);
    const forged = await browser.call('GET', '/v1/session', { key: 'nonsense' });
    expect(forged.status).toBe(401);
  });

  test('is found among other cookies of its name', async () => {
    const cookie = `quietzone=x; quietzone=${'A'.repeat(43)}; ${browser.cookie}; quietzone=`;
    const { status } = await browser.call('POST', '/v1/qr-codes', {
      ...create,
      headers: { cookie },
    });
    expect(status).toBe(201);
  });

  test('makes workspaces, switches, and stays within them', async () => {
    const made = await browser.call('POST', '/v1/workspaces', { body: { name: 'Second' } });
    expect([made.status, made.json.plan, made.json.role]).toEqual([201, 'free', 'owner']);
    const list = await browser.call('GET', '/v1/workspaces?limit=1');
    expect([list.items[0]?.id, list.json.total]).toEqual([made.json.id, 2]);
    const rest = await browser.call('GET', `/v1/workspaces?cursor=${word(list.json.nextCursor)}`);
    expect(rest.items).toHaveLength(1);
    const id = word(made.json.id);
    const other = await browser.call('PATCH', `/v1/workspaces/${id}`, { body: { name: 'x' } });
    expect(other.status).toBe(404);
    const switched = await browser.call('POST', `/v1/workspaces/${id}/switch`);
    expect(switched.json.workspace?.id).toBe(id);
    expect((await browser.call('GET', '/v1/billing/usage')).json.plan).toBe('free');
    const named = await browser.call('PATCH', `/v1/workspaces/${id}`, { body: { name: 'Third' } });
    expect(named.json.name).toBe('Third');
    const back = await browser.call('POST', `/v1/workspaces/${word(rest.items[0]?.id)}/switch`);
    expect(back.status).toBe(200);
    const unknown = await browser.call('POST', '/v1/workspaces/ws_00000000000000000000/switch');
    expect(unknown.status).toBe(404);
  });

  test('ends on sign-out, others on a change of the password', async () => {
    const user = { email: 'zoë@exämple.com', name: 'Zoë', password: 'first password' };
    await service.workspaces.users.create(1, 'viewer', user);
    const [one, two] = [new Browser(service), new Browser(service)];
    for (const each of [one, two]) {
      expect((await each.signIn(user.email, user.password, '192.0.2.77')).status).toBe(200);
    }
    const change = async (oldPassword: string, newPassword: string): Promise<number> => {
      const body = { oldPassword, newPassword };
      return (await one.call('POST', '/v1/auth/password', { body })).status;
    };
    expect(await change('wrong', 'second password')).toBe(401);
    expect(await change(user.password, 'short')).toBe(422);
    const weak = { oldPassword: user.password, newPassword: 'password1' };
    const { faults } = await one.call('POST', '/v1/auth/password', { body: weak });
    expect(faults).toMatchObject([{ path: 'newPassword', code: 'too_weak' }]);
    expect(await change(user.password, 'second password')).toBe(200);
    expect((await two.call('GET', '/v1/session')).status).toBe(401);
    expect((await one.call('GET', '/v1/session')).status).toBe(200);
    expect((await one.call('POST', '/v1/auth/sign-out')).status).toBe(200);
    expect((await one.call('GET', '/v1/session')).status).toBe(401);
    expect((await two.signIn(user.email, 'second password', '192.0.2.78')).status).toBe(200);
    await service.workspaces.accounts.resetPassword(user.email, 'third password');
    expect((await two.call('GET', '/v1/session')).status).toBe(401);
    await Promise.all([one.close(), two.close()]);
  });
});

test('sign-ins beyond the queue of hashes get 503, and other requests are served', async () => {
  const randomBytes = (bytes: Uint8Array): Uint8Array => bytes.fill(7);
  const secret = () => createSecretKey(Buffer.alloc(32, 7));
  const hash = (costLog2: number) => new Passwords({ randomBytes, costLog2, secret }).hash('x');
  const queue = { isFull: true };
  const hashes = Array.from({ length: 34 }, async () => {
    // Each takes its place again as soon as it is done: two run and 32 wait whenever a request comes.
    while (queue.isFull) await hash(10);
  });
  const [refused, live] = await Promise.all([
    browser.signIn('flood@example.com', 'x', '198.18.0.1'),
    browser.call('GET', '/health/live'),
  ]);
  queue.isFull = false;
  expect([refused.status, refused.headers['retry-after'], live.status]).toEqual([503, '5', 200]);
  await Promise.all(hashes);
  expect((await browser.signIn('flood@example.com', 'x', '198.18.0.1')).status).toBe(401);
});

test.each([
  { base: 'http://localhost:8081', local: true },
  { base: 'https://go.example.com', local: false },
])('says what short links begin with: $base', async ({ base, local }) => {
  const service = await startTestApi({ environment: { QZ_SHORT_URL_BASE: base } });
  const client = new Client(service.url, service.apiKey);
  const { json } = await client.call('GET', '/v1/session');
  expect(json.shortLinks).toEqual({ base, local });
  await client.close();
});

test.each([['2026-06-05'], [undefined]])('says the date of the geo data: %s', async (date) => {
  const service = await startTestApi({ answers: { geo: { date } } });
  const client = new Client(service.url, service.apiKey);
  const { json } = await client.call('GET', '/v1/session');
  expect(json['geoDate']).toBe(date ?? null);
  await client.close();
});
