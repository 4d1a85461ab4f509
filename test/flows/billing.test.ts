/**
 * A redirect never depends on billing: the real service, a paid plan confirmed on the command line
 * beside it, canceled, over, and over its quota, while the printed code keeps leading where it should
 * and every scan is counted. Time passes by a restart, and by the clock.
 */
import { expect, it } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { Client, word } from '../support/client.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { freePorts, type Ports, runCommand, withDataFolder } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

const target = 'https://example.com/menu';
const minuteMs = 60_000;

async function expectRedirects(ports: Ports, code: string, times: number): Promise<void> {
  const links = new Client(`http://127.0.0.1:${ports.redirect}`);
  for (let scan = 0; scan < times; scan += 1) {
    const answer = await links.call('GET', `/${code}`, {
      headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/126.0' },
    });
    expect([answer.status, answer.headers.location]).toEqual([302, target]);
  }
  await links.close();
}

/** Pays by the operator's hand, and cancels. @returns the key, the code and its id */
async function subscribeAndCancel(dataDir: string, service: TestService) {
  const key = service.apiKey;
  const api = new Client(`${service.apiUrl}/v1`, key);
  const made = await api.call('POST', '/qr-codes', { body: { target } });
  expect(made.headers['x-ratelimit-limit']).toBe('20');
  const code = word(made.json.shortUrl).split('/').at(-1) ?? '';
  const wish = { plan: 'pro', interval: 'month' };
  const checkout = await api.call('POST', '/billing/checkout', { body: wish });
  expect(checkout.status).toBe(201);
  const run = (...args: string[]) => runCommand(['billing', ...args], { QZ_DATA_DIR: dataDir });
  const id = word(checkout.json.id);
  expect(JSON.parse((await run('list', '--json')).stdout)).toMatchObject([{ id, ...wish }]);
  const confirmed = await run('confirm', id);
  expect([confirmed.code, confirmed.stdout]).toEqual([0, expect.stringContaining('plan pro')]);
  const again = await run('confirm', id);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('it is complete')]);
  expect((await run('list')).stdout).toBe('none\n');
  const paid = await api.call('GET', '/billing/subscription');
  expect(paid.headers['x-ratelimit-limit']).toBe('120');
  expect(paid.json).toMatchObject({ plan: 'pro', status: 'active', amount: 29, currency: 'EUR' });
  const canceled = await api.call('DELETE', '/billing/subscription');
  expect(canceled.json).toEqual({ status: 'canceling', effectiveAt: paid.json.currentPeriodEnd });
  await expectRedirects(service.ports, code, 3);
  expect((await api.call('GET', '/billing/subscription')).json.plan).toBe('pro');
  await api.close();
  return { key, code, id: word(made.json.id) };
}

it(
  'redirects go on after cancellation, after the period, and over the quota',
  { timeout: 180_000 },
  () =>
    withDataFolder(async (dataDir) => {
      const clock = new OffsetClock();
      const ports = await freePorts();
      const environment = { QZ_BOOTSTRAP_PLAN: 'free' };
      const first = await TestService.start({ dataDir, ports, environment, clock });
      const { key, code, id } = await subscribeAndCancel(dataDir, first);
      await first.close();

      clock.offsetMs = 32 * dayMs;
      const later = await TestService.start({ dataDir, ports, environment, clock });
      await expectRedirects(ports, code, 3);
      const api = new Client(`${later.apiUrl}/v1`, key);
      const after = await api.call('GET', '/billing/subscription');
      expect(after.json).toEqual({ plan: 'free', status: 'none' });
      expect(after.headers['x-ratelimit-limit']).toBe('20');
      let status = 200;
      for (let call = 0; call < 60 && status !== 429; call += 1) {
        status = (await api.call('GET', '/qr-codes')).status;
      }
      expect(status).toBe(429);
      await expectRedirects(ports, code, 4);

      clock.offsetMs += 2 * minuteMs;
      const scans = async () => (await api.call('GET', `/qr-codes/${id}`)).json.scans;
      await expect.poll(scans, { ...soon, interval: 2_000 }).toBe(10);
      const events = await api.call('GET', '/events');
      const kinds = events.items
        .map(({ event }) => word(event))
        .filter((kind) => kind.startsWith('subscription'));
      expect(kinds).toEqual(['subscription.canceled', 'subscription.created']);
      await api.close();
      await later.close();
    }),
);
