/** Billing from outside: addresses, shapes, roles, bad input, Stripe's webhook. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, type CallOptions, Client, type Json, word } from '../support/client.ts';
import { TestClock } from '../support/fakes/test-clock.ts';
import { makeStranger } from '../support/test-client.ts';
import { startTestApi, type TestApp } from '../support/test-app.ts';
import {
  openFakeStripe,
  type SignedEvent,
  stripeEnvironment,
} from '../product/billing/fake-stripe.ts';

let clock: TestClock;
let service: TestApp;
let client: Client;

async function open(environment: Readonly<Record<string, string>> = {}): Promise<void> {
  service = await startTestApi({ plan: 'free', clock, environment });
  client = new Client(service.url, service.apiKey);
}

async function close(): Promise<void> {
  await client.close();
  await service.close();
}

beforeEach(async () => {
  clock = new TestClock(Date.UTC(2026, 2, 1, 12, 0, 10));
  await open();
});
afterEach(close);

const call = (method: string, path: string, options: CallOptions = {}): Promise<Answer> =>
  client.call(method, `/v1/billing${path}`, options);
const checkout = (plan = 'pro', interval = 'month') =>
  call('POST', '/checkout', { body: { plan, interval } });

const events = async (): Promise<readonly Json[]> => (await client.get('/v1/events')).items;

async function kinds(): Promise<string[]> {
  const items = await events();
  return items.map(({ event }) => word(event).replace('subscription.', '')).toReversed();
}

it('the whole way is a checkout, its confirmation, a change, a cancellation that is taken back', async () => {
  const subscription = async (): Promise<Json> => (await call('GET', '/subscription')).json;
  expect(await subscription()).toEqual({ plan: 'free', status: 'none' });
  const opened = await checkout('pro', 'year');
  const id = word(opened.json.id);
  expect(id).toMatch(/^chk_[0-9a-hjkmnp-tv-z]{20}$/);
  expect([opened.status, opened.headers.location]).toEqual([201, `/v1/billing/checkout/${id}`]);
  expect(opened.json).toMatchObject({ status: 'open', amount: 290, currency: 'EUR' });
  const confirmed = await call('POST', `/checkout/${id}/confirm`);
  expect(confirmed.json.status).toBe('complete');
  expect(confirmed.headers['x-ratelimit-limit']).toBe('20');
  const { id: workspaceId } = service.first.workspace;
  const terms = { plan: 'pro', interval: 'year', amount: 290, currency: 'EUR' };
  const [created] = await events();
  expect(created?.data).toMatchObject({ workspaceId, ...terms });
  expect(created).not.toHaveProperty('createdAt');
  const active = await call('GET', '/subscription');
  expect(active.headers['x-ratelimit-limit']).toBe('120');
  const body = { plan: 'business', interval: 'month' };
  const changed = await call('PATCH', '/subscription', { body });
  expect(changed.json).toMatchObject({ ...body, status: 'active', amount: 99 });
  const canceled = await call('DELETE', '/subscription', { body: { reason: 'Moving' } });
  const effectiveAt = changed.json.currentPeriodEnd;
  expect(canceled.json).toEqual({ status: 'canceling', effectiveAt });
  expect((await call('POST', '/subscription/resume')).json.status).toBe('active');
  expect(await kinds()).toEqual(['created', 'updated', 'canceled']);
});

it('plans are listed with prices and limits', async () => {
  const { items } = await call('GET', '/plans');
  const plans = ['free', 'starter', 'pro', 'business', 'enterprise'];
  expect(items.map(({ plan }) => plan)).toEqual(plans);
  expect(items[1]).toEqual({
    plan: 'starter',
    limits: { perMinute: 60, perDay: 10_000 },
    prices: [
      { interval: 'month', amount: 9, currency: 'EUR' },
      { interval: 'year', amount: 90, currency: 'EUR' },
    ],
  });
  expect(items[4]).toMatchObject({ limits: { perDay: null }, prices: [] });
});

describe('bad input', () => {
  it.each([
    ['POST', '/checkout', '{"plan":"free","interval":"month"}', 422, 'validation_failed'],
    ['PATCH', '/subscription', '{}', 422, 'validation_failed'],
    ['PATCH', '/subscription', '{"plan":"free"}', 422, 'validation_failed'],
    ['PATCH', '/subscription', '{"plan":"pro"}', 409, 'conflict'],
    ['DELETE', '/subscription', '', 409, 'conflict'],
    ['DELETE', '/subscription', '{"reason":"a\\u0000b"}', 422, 'validation_failed'],
    ['POST', '/subscription/resume', '', 409, 'conflict'],
    ['POST', '/stripe/webhook', '{}', 404, 'not_found'],
    ['PUT', '/subscription', '{}', 405, 'method_not_allowed'],
  ])('%s %s %s is %i %s, and nothing is stored', async (method, path, raw, status, code) => {
    const answer = await call(method, path, { raw });
    expect([answer.status, answer.json.code]).toEqual([status, code]);
    expect([await kinds(), (await call('GET', '/subscription')).json.status]).toEqual([[], 'none']);
  });

  it('of another workspace is as unknown as an id that never was', async () => {
    const { id } = (await checkout()).json;
    const key = await makeStranger(service);
    const detail = 'There is no checkout with this id';
    for (const one of [word(id), 'chk_00000000000000000000']) {
      const read = await call('GET', `/checkout/${one}`, { key });
      const confirmed = await call('POST', `/checkout/${one}/confirm`, { key });
      for (const { json } of [read, confirmed]) expect(json).toMatchObject({ status: 404, detail });
    }
    expect((await call('GET', `/checkout/${word(id)}`)).json.status).toBe('open');
  });
});

describe('with Stripe', () => {
  const openShop = async () => {
    await close();
    const shop = await openFakeStripe(clock);
    await open({ ...stripeEnvironment(shop.apiBase), QZ_TRUSTED_PROXIES: '127.0.0.1' });
    return shop.stripe;
  };
  const deliver = (event: Pick<SignedEvent, 'body' | 'signature'>, from = '198.51.100.1') =>
    call('POST', '/stripe/webhook', {
      key: undefined,
      raw: event.body,
      headers: {
        'stripe-signature': event.signature,
        'idempotency-key': 'stripe does not send one',
        'x-forwarded-for': from,
      },
    });

  it('a paid session starts the plan; the event again is 200 and nothing more', async () => {
    const stripe = await openShop();
    const { json } = await checkout();
    expect(json.url).toMatch(/^https:\/\/checkout\.stripe\.com\//);
    const [sessionId = ''] = stripe.sessions.keys();
    const subscription = stripe.pay(sessionId);
    const event = stripe.event('checkout.session.completed', subscription);
    const answers = await Promise.all([deliver(event), deliver(event)]);
    for (const answer of [...answers, await deliver(event)]) {
      expect([answer.status, answer.text]).toEqual([200, '{"received":true}']);
    }
    expect((await call('GET', '/subscription')).json).toMatchObject({
      plan: 'pro',
      provider: 'stripe',
    });
    expect(await kinds()).toEqual(['created']);
    const portal = await call('POST', '/portal');
    expect([portal.status, portal.json.url]).toEqual([201, portal.headers.location]);
  });

  it('a forged signature is a 400 problem, and throttles the forger alone', async () => {
    const stripe = await openShop();
    const forged = { body: '{"id":"evt_1"}', signature: 't=1,v1=00' };
    const first = await deliver(forged, '203.0.113.7');
    expect([first.status, first.json.code]).toEqual([400, 'invalid_signature']);
    expect(first.headers['content-type']).toBe('application/problem+json');
    const statuses: number[] = [];
    for (let tries = 0; tries < 21; tries += 1) {
      statuses.push((await deliver(forged, '203.0.113.7')).status);
    }
    expect([statuses[18], statuses.at(-1)]).toEqual([400, 429]);
    for (let event = 0; event < 30; event += 1) {
      const signed = stripe.sign({ id: `evt_${event}`, object: 'event', type: 'charge.succeeded' });
      expect((await deliver(signed)).status).toBe(200);
    }
    const large = { ...forged, body: 'x'.repeat(70_000) };
    expect((await deliver(large, '203.0.113.8')).status).toBe(413);
  });

  it('an event that cannot be looked up is 503, for Stripe to send again', async () => {
    const stripe = await openShop();
    await checkout();
    const [sessionId = ''] = stripe.sessions.keys();
    const event = stripe.event('checkout.session.completed', stripe.pay(sessionId));
    stripe.faults.push(503);
    const failed = await deliver(event);
    expect([failed.status, failed.headers['retry-after']]).toEqual([503, '30']);
    expect((await deliver(event)).status).toBe(200);
    expect(await kinds()).toEqual(['created']);
  });
});
