/** The limit of people in the dashboard is their own: their plan's is for keys, and no session lends it more. */
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { Browser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { startTestApi, type TestApp } from '../support/test-app.ts';

const email = 'owner@localhost.localdomain';
const password = 'correct horse';
const perMinute = 600;

let app: TestApp;
let keys: Client;

async function openBrowser(who = { email, password }): Promise<Browser> {
  const browser = new Browser(app);
  onTestFinished(() => browser.close());
  expect((await browser.signIn(who.email, who.password)).status).toBe(200);
  return browser;
}

beforeEach(async () => {
  app = await startTestApi({
    plan: 'free',
    environment: { QZ_TRUSTED_PROXIES: '127.0.0.1', QZ_BOOTSTRAP_PASSWORD: password },
  });
  keys = new Client(app.url, app.apiKey);
  onTestFinished(() => keys.close());
});

test('the dashboard goes on when the keys of a Free workspace have used up its plan', async () => {
  const browser = await openBrowser();
  for (let at = 0; at < 20; at += 1) await keys.call('GET', '/v1/session');
  expect((await keys.call('GET', '/v1/session')).status).toBe(429);
  for (let at = 1; at <= 40; at += 1) {
    const { status, headers } = await browser.call('GET', '/v1/qr-codes');
    expect([status, headers['x-ratelimit-limit']]).toEqual([200, String(perMinute)]);
    expect(headers['x-ratelimit-remaining']).toBe(String(perMinute - at));
  }
  const usage = await browser.call('GET', '/v1/billing/usage');
  expect(usage.json).toMatchObject({ minute: { used: 20 }, day: { used: 20 } });
});

test('a person has 600 requests a minute over all sessions, refused ones too, and no more', async () => {
  const [one, other] = [await openBrowser(), await openBrowser()];
  const { users } = app.workspaces;
  const jane = { email: 'jane@example.com', password };
  await users.create(app.actor.workspaceNo, 'viewer', { ...jane, name: 'Jane' });
  const unproven = { headers: { 'x-csrf-token': 'x' }, body: { target: 'https://example.com/' } };
  expect((await one.call('POST', '/v1/qr-codes', unproven)).status).toBe(403);
  expect((await one.call('GET', '/v1/nonsense')).status).toBe(404);
  for (let at = 2; at < perMinute; at += 1) {
    const { status } = await (at % 2 === 0 ? one : other).call('GET', '/v1/session');
    if (status !== 200) throw new Error(`Request ${at} was answered ${status}`);
  }
  const refused = await other.call('GET', '/v1/session');
  expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited']);
  const resetMs = Number(refused.headers['x-ratelimit-reset']) * 1_000;
  const waitSeconds = Number(refused.headers['retry-after']);
  expect(waitSeconds).toBe(Math.ceil((resetMs - app.clock.now()) / 1_000));
  expect((await one.call('GET', '/v1/session')).status).toBe(429);
  expect((await (await openBrowser(jane)).call('GET', '/v1/session')).status).toBe(200);
  app.clock.move(waitSeconds * 1_000);
  const next = await one.call('GET', '/v1/session');
  expect(next.headers['x-ratelimit-remaining']).toBe(String(perMinute - 1));
});

test('a cookie beside a key lends the key nothing', async () => {
  const browser = await openBrowser();
  const headers = { authorization: `Bearer ${app.apiKey}` };
  for (let at = 19; at >= 0; at -= 1) {
    const answer = await browser.call('GET', '/v1/session', { headers });
    expect(answer.headers['x-ratelimit-remaining']).toBe(String(at));
  }
  expect((await browser.call('GET', '/v1/session', { headers })).status).toBe(429);
});

test('a request with a damaged session counts for its address, as its answer says', async () => {
  const browser = await openBrowser();
  vi.spyOn(app.workspaces.sessions, 'find').mockImplementation(() => {
    throw new Failure('data_damaged', 'A stored record is damaged');
  });
  // The sign-in is the first of 20.
  for (const remaining of ['18', '17']) {
    const { status, headers } = await browser.call('GET', '/v1/session');
    expect([status, headers['x-ratelimit-limit']]).toEqual([503, '20']);
    expect(headers['x-ratelimit-remaining']).toBe(remaining);
  }
});
