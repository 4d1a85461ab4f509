/** People in the dashboard: signing in, sessions and their cookie, CSRF, throttling, passwords, workspaces, their limit. */
import { createSecretKey } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { SessionCookie } from '../../src/api/workspaces/cookie.ts';
import { Failure } from '../../src/model/failure.ts';
import { Passwords } from '../../src/product/workspaces/passwords.ts';
import { Browser } from '../support/browser.ts';
import { Client, word } from '../support/client.ts';
import { makeMember, useTestApi } from '../support/test-client.ts';
import { startTestApi, type TestApp } from '../support/test-app.ts';

const email = 'owner@localhost.localdomain';
const password = 'correct horse';
const environment = { QZ_TRUSTED_PROXIES: '127.0.0.1', QZ_BOOTSTRAP_PASSWORD: password };
const { service } = await useTestApi({ environment });
const browser = new Browser(service);
afterAll(() => browser.close());

test('signing in gives a cookie for this host that scripts cannot read, and a CSRF token', async () => {
  const answer = await browser.signIn(email.toUpperCase(), password);
  expect(answer.status).toBe(200);
  expect(answer.headers['set-cookie']).toMatch(
    /^quietzone=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/,
  );
  expect(answer.json).toMatchObject({ user: { email }, workspace: { role: 'owner' } });
  const session = await browser.get('/v1/session');
  expect(session.json).toEqual(answer.json);
  expect(session.headers['x-ratelimit-limit']).toBe('600');
  expect(JSON.stringify(service.logLines)).not.toContain(browser.cookie.split('=')[1]);
});

test('signing in answers a wrong password and an unknown e-mail alike', async () => {
  const answerTo = async (who: string) => {
    const { status, json, headers } = await browser.signIn(who, 'wrong', '192.0.2.1');
    return { status, json: { ...json, requestId: '' }, cookie: headers['set-cookie'] };
  };
  const known = await answerTo(email);
  expect(known).toMatchObject({ status: 401, cookie: undefined });
  expect(await answerTo('nobody@example.com')).toEqual(known);
});

test('signing in waits longer after each failure, whether the account exists or not', async () => {
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

describe('a session', () => {
  const body = { target: 'https://example.com/' };

  test.each([
    ['no token', { 'x-csrf-token': '' }],
    ['a wrong token', { 'x-csrf-token': 'A'.repeat(43) }],
    ['another origin', { origin: 'https://evil.example' }],
    ['a null origin', { origin: 'null' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a subdomain', { 'sec-fetch-site': 'same-site' }],
  ])('changes nothing with %s', async (_name, headers) => {
    const answer = await browser.post('/v1/qr-codes', body, { headers });
    expect([answer.status, answer.json.code]).toEqual([403, 'forbidden']);
  });

  test('changes things from its own pages; a key comes before it', async () => {
    const headers = { origin: service.config.api.publicUrl, 'sec-fetch-site': 'same-origin' };
    expect((await browser.post('/v1/qr-codes', body, { headers })).status).toBe(201);
    const key = await service.keyOf('viewer');
    expect((await browser.post('/v1/qr-codes', body, { key })).status).toBe(403);
    const forged = await browser.get('/v1/session', { key: 'nonsense' });
    expect(forged.status).toBe(401);
  });

  test('is found among other cookies of its name', async () => {
    const cookie = `quietzone=x; quietzone=${'A'.repeat(43)}; ${browser.cookie}; quietzone=`;
    expect((await browser.post('/v1/qr-codes', body, { headers: { cookie } })).status).toBe(201);
  });

  test('makes workspaces, switches, and stays within them', async () => {
    const made = await browser.post('/v1/workspaces', { name: 'Second' });
    expect([made.status, made.json.plan, made.json.role]).toEqual([201, 'free', 'owner']);
    const list = await browser.get('/v1/workspaces?limit=1');
    expect([list.items[0]?.id, list.json.total]).toEqual([made.json.id, 2]);
    const rest = await browser.get(`/v1/workspaces?cursor=${word(list.json.nextCursor)}`);
    expect(rest.items).toHaveLength(1);
    const id = word(made.json.id);
    const other = await browser.patch(`/v1/workspaces/${id}`, { name: 'x' });
    expect(other.status).toBe(404);
    const switched = await browser.post(`/v1/workspaces/${id}/switch`);
    expect(switched.json.workspace?.id).toBe(id);
    expect((await browser.get('/v1/billing/usage')).json.plan).toBe('free');
    const named = await browser.patch(`/v1/workspaces/${id}`, { name: 'Third' });
    expect(named.json.name).toBe('Third');
    const back = await browser.post(`/v1/workspaces/${word(rest.items[0]?.id)}/switch`);
    expect(back.status).toBe(200);
    const unknown = await browser.post('/v1/workspaces/ws_00000000000000000000/switch');
    expect(unknown.status).toBe(404);
  });

  test('ends on sign-out, others on a change of the password', async () => {
    const user = { email: 'zoë@exämple.com', name: 'Zoë', password: 'first password' };
    await service.workspaces.users.create(1, 'viewer', user);
    const one = await Browser.signedIn(service, user, '192.0.2.77');
    const two = await Browser.signedIn(service, user, '192.0.2.77');
    const change = async (oldPassword: string, newPassword: string): Promise<number> => {
      const body = { oldPassword, newPassword };
      return (await one.post('/v1/auth/password', body)).status;
    };
    expect(await change('wrong', 'second password')).toBe(401);
    const weak = { oldPassword: user.password, newPassword: 'password1' };
    const { faults } = await one.post('/v1/auth/password', weak);
    expect(faults).toMatchObject([{ path: 'newPassword', code: 'too_weak' }]);
    expect(await change(user.password, 'second password')).toBe(200);
    expect((await two.get('/v1/session')).status).toBe(401);
    expect((await one.get('/v1/session')).status).toBe(200);
    expect((await one.post('/v1/auth/sign-out')).status).toBe(200);
    expect((await one.get('/v1/session')).status).toBe(401);
    expect((await two.signIn(user.email, 'second password', '192.0.2.78')).status).toBe(200);
    await service.workspaces.accounts.resetPassword(user.email, 'third password');
    expect((await two.get('/v1/session')).status).toBe(401);
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
    browser.get('/health/live'),
  ]);
  queue.isFull = false;
  expect([refused.status, refused.headers['retry-after'], live.status]).toEqual([503, '5', 200]);
  await Promise.all(hashes);
  expect((await browser.signIn('flood@example.com', 'x', '198.18.0.1')).status).toBe(401);
});

test.each([
  [{ QZ_SHORT_URL_BASE: 'http://localhost:8081' }, true, '2026-06-05'],
  [{ QZ_SHORT_URL_BASE: 'https://go.example.com' }, false, undefined],
])(
  'says what short links begin with, and the date of the geo data: %j',
  async (given, local, date) => {
    const app = await startTestApi({ environment: given, answers: { geo: { date } } });
    const client = new Client(app.url, app.apiKey);
    const { json } = await client.get('/v1/session');
    expect(json.shortLinks).toEqual({ base: given.QZ_SHORT_URL_BASE, local });
    expect(json.geoDate).toBe(date ?? null);
    await client.close();
  },
);

test('over https the cookie is Secure and bound to this host', () => {
  const cookie = new SessionCookie('https://qr.example.com');
  expect(cookie.begin('s')).toBe(
    '__Host-quietzone=s; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax; Secure',
  );
  expect(cookie.end()).toMatch(/^__Host-quietzone=; Max-Age=0; .*Secure$/);
});

describe('the limit of people', () => {
  const perMinute = 600;
  let app: TestApp;
  let keys: Client;
  const openBrowser = (who = { email, password }): Promise<Browser> => Browser.signedIn(app, who);

  beforeEach(async () => {
    app = await startTestApi({ plan: 'free', environment });
    keys = new Client(app.url, app.apiKey);
    onTestFinished(() => keys.close());
  });

  test('is not that of keys: these have 20 a minute on Free, then 429 with Retry-After', async () => {
    const browser = await openBrowser();
    for (let left = 19; left >= 0; left -= 1) {
      const { status, headers } = await keys.get('/v1/session');
      expect([status, headers['x-ratelimit-remaining']]).toEqual([200, String(left)]);
    }
    const refused = await keys.get('/v1/session');
    expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited']);
    // It is 05:06:07.008.
    expect(refused.headers).toMatchObject({
      'x-ratelimit-limit': '20',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Date.UTC(2026, 2, 4, 5, 7) / 1_000),
      'retry-after': '53',
    });
    // All keys count together, also in a request with a cookie.
    expect((await keys.get('/v1/session', { key: await app.keyOf('viewer') })).status).toBe(429);
    const bearer = { authorization: `Bearer ${app.apiKey}` };
    expect((await browser.get('/v1/session', { headers: bearer })).status).toBe(429);
    for (let at = 1; at <= 40; at += 1) {
      const { status, headers } = await browser.get('/v1/qr-codes');
      expect([status, headers['x-ratelimit-limit']]).toEqual([200, String(perMinute)]);
      expect(headers['x-ratelimit-remaining']).toBe(String(perMinute - at));
    }
    const usage = await browser.get('/v1/billing/usage');
    expect(usage.json).toMatchObject({
      plan: 'free',
      minute: { used: 20, limit: 20 },
      day: { used: 20, limit: 1_000, remaining: 980 },
      qrCodes: 0,
    });
    app.clock.move(53_000);
    expect((await keys.get('/v1/session')).status).toBe(200);
  });

  test('a person has 600 requests a minute over all sessions, refused ones too, and no more', async () => {
    const [one, other] = [await openBrowser(), await openBrowser()];
    const jane = await makeMember(app, 'viewer');
    const unproven = await one.post('/v1/qr-codes', {}, { headers: { 'x-csrf-token': 'x' } });
    expect(unproven.status).toBe(403);
    expect((await one.get('/v1/nonsense')).status).toBe(404);
    for (let at = 2; at < perMinute; at += 1) {
      const { status } = await (at % 2 === 0 ? one : other).get('/v1/session');
      if (status !== 200) throw new Error(`Request ${at} was answered ${status}`);
    }
    const refused = await other.get('/v1/session');
    expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited']);
    const resetMs = Number(refused.headers['x-ratelimit-reset']) * 1_000;
    const waitSeconds = Number(refused.headers['retry-after']);
    expect(waitSeconds).toBe(Math.ceil((resetMs - app.clock.now()) / 1_000));
    expect((await one.get('/v1/session')).status).toBe(429);
    expect((await (await openBrowser(jane)).get('/v1/session')).status).toBe(200);
    app.clock.move(waitSeconds * 1_000);
    const next = await one.get('/v1/session');
    expect(next.headers['x-ratelimit-remaining']).toBe(String(perMinute - 1));
  });

  test('a request with a damaged session counts for its address, as its answer says', async () => {
    const browser = await openBrowser();
    vi.spyOn(app.workspaces.sessions, 'find').mockImplementation(() => {
      throw new Failure('data_damaged', 'A stored record is damaged');
    });
    // The sign-in is the first of 20.
    for (const remaining of ['18', '17']) {
      const { status, headers } = await browser.get('/v1/session');
      expect([status, headers['x-ratelimit-limit']]).toEqual([503, '20']);
      expect(headers['x-ratelimit-remaining']).toBe(remaining);
    }
  });
});
