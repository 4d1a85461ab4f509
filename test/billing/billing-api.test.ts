/** Billing from outside: addresses, shapes, roles, bad input, Stripe's webhook. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, type CallOptions, Client, word } from '../support/client.ts';
import { startTestApi, type TestApp } from '../support/test-app.ts';
import { openFakeStripe, secretKey, type SignedEvent, webhookSecret } from './fake-stripe.ts';

class SteppingClock {
  nowMs = Date.UTC(2026, 2, 1, 12, 0, 10);
  now(): number {
    return this.nowMs;
  }
  monotonicMs(): number {
    return performance.now();
  }
}

let clock: SteppingClock;
let service: TestApp;
let client: Client;

async function open(environment: Readonly<Record<string, string>> = {}): Promise<void> {
  service = await startTestApi({ plan: 'free', clock, environment });
  client = new Client(`${service.url}/v1/billing`, service.apiKey);
}

async function close(): Promise<void> {
  await client.close();
  await service.close();
}

beforeEach(async () => {
  clock = new SteppingClock();
  await open();
});
afterEach(close);

const call = (method: string, path: string, options: CallOptions = {}): Promise<Answer> =>
  client.call(method, path, options);
const checkout = (plan = 'pro', interval = 'month', options: CallOptions = {}) =>
  call('POST', '/checkout', { body: { plan, interval }, ...options });

async function kinds(): Promise<string[]> {
  const root = new Client(service.url, service.apiKey);
  const { items } = await root.get('/v1/events');
  await root.close();
  return items.map(({ event }) => word(event).replace('subscription.', '')).toReversed();
}

describe('the whole way', () => {
  it('answers as written, and the document says so', async () => {
    const root = new Client(service.url, service.apiKey);
    const document = (await root.get('/v1/openapi.json')).json;
    await root.close();
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'openapi');
    const expectShape = (method: string, path: string, answer: Answer, status: number): void => {
      expect([path, answer.status, answer.text]).toEqual([path, status, answer.text]);
      const own = ['paths', `/billing${path}`, method, 'responses', String(status)];
      // Refusals are shared by operations.
      const shared = document.paths?.[`/billing${path}`]?.[method]?.responses?.[status]?.$ref;
      const at = shared === undefined ? own : word(shared).split('/').slice(1);
      const type = answer.headers['content-type'] ?? '';
      const steps = [...at, 'content', type, 'schema'].map((step) => step.replace(/\//g, '~1'));
      const validate = ajv.getSchema(`openapi#/${steps.map(encodeURIComponent).join('/')}`);
      expect([path, validate?.(answer.json), validate?.errors]).toEqual([path, true, null]);
    };
    expectShape('get', '/plans', await call('GET', '/plans'), 200);
    const none = await call('GET', '/subscription');
    expectShape('get', '/subscription', none, 200);
    expect(none.json).toEqual({ plan: 'free', status: 'none' });
    const opened = await checkout('pro', 'year');
    expectShape('post', '/checkout', opened, 201);
    const id = word(opened.json.id);
    expect(id).toMatch(/^chk_[0-9a-hjkmnp-tv-z]{20}$/);
    expect(opened.headers.location).toBe(`/v1/billing/checkout/${id}`);
    expect(opened.json).toMatchObject({ status: 'open', amount: 290, currency: 'EUR' });
    expectShape('get', '/checkout/{id}', await call('GET', `/checkout/${id}`), 200);
    const confirmed = await call('POST', `/checkout/${id}/confirm`);
    expectShape('post', '/checkout/{id}/confirm', confirmed, 200);
    expect([confirmed.json.status, confirmed.headers['x-ratelimit-limit']]).toEqual([
      'complete',
      '20',
    ]);
    const active = await call('GET', '/subscription');
    expect(active.headers['x-ratelimit-limit']).toBe('120');
    expectShape('get', '/subscription', active, 200);
    const body = { plan: 'business', interval: 'month' };
    const changed = await call('PATCH', '/subscription', { body });
    expectShape('patch', '/subscription', changed, 200);
    expect(changed.json).toMatchObject({ ...body, status: 'active', amount: 99 });
    const canceled = await call('DELETE', '/subscription', { body: { reason: 'Moving' } });
    expectShape('delete', '/subscription', canceled, 200);
    expect(canceled.json).toEqual({
      status: 'canceling',
      effectiveAt: changed.json.currentPeriodEnd,
    });
    const resumed = await call('POST', '/subscription/resume');
    expectShape('post', '/subscription/resume', resumed, 200);
    expect(resumed.json.status).toBe('active');
    expectShape('post', '/portal', await call('POST', '/portal'), 409);
    expect(await kinds()).toEqual(['created', 'updated', 'canceled']);
  });

  it('lists plans with prices and limits', async () => {
    const { items } = await call('GET', '/plans');
    expect(items.map(({ plan }) => plan)).toEqual([
      'free',
      'starter',
      'pro',
      'business',
      'enterprise',
    ]);
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
});

describe('bad input', () => {
  const wishes = [
    [{ plan: 'gold', interval: 'month' }, 'plan'],
    [{ plan: 'pro', interval: 'week' }, 'interval'],
    [{ plan: 'free', interval: 'month' }, 'plan'],
    [{ plan: 'enterprise', interval: 'month' }, 'plan'],
    [{ plan: 'pro' }, 'interval'],
    [{ plan: ['pro'], interval: 'month' }, 'plan'],
    [{ plan: 'pro', interval: 'month', amount: 0 }, 'amount'],
  ] as const;
  const calls = [
    ['POST', '/checkout', '{', 400, 'invalid_json'],
    ['POST', '/checkout', '', 400, 'invalid_json'],
    ['POST', '/checkout', `{"plan":"${'x'.repeat(70_000)}"}`, 413, 'body_too_large'],
    ['PATCH', '/subscription', '{}', 422, 'validation_failed'],
    ['PATCH', '/subscription', '{"plan":"free"}', 422, 'validation_failed'],
    ['PATCH', '/subscription', '{"plan":"pro"}', 409, 'conflict'],
    ['DELETE', '/subscription', '', 409, 'conflict'],
    ['DELETE', '/subscription', '{"reason":"a\\u0000b"}', 422, 'validation_failed'],
    ['DELETE', '/subscription', '{"why":"x"}', 422, 'validation_failed'],
    ['POST', '/subscription/resume', '', 409, 'conflict'],
    ['POST', '/subscription/resume', '{"a":1}', 422, 'validation_failed'],
    ['POST', '/checkout/chk_00000000000000000000/confirm', '', 404, 'not_found'],
    ['GET', '/checkout/qr_00000000000000000000', undefined, 404, 'not_found'],
    ['POST', '/stripe/webhook', '{}', 404, 'not_found'],
    ['PUT', '/subscription', '{}', 405, 'method_not_allowed'],
  ] as const;

  it('is refused with its reason, and nothing is stored', async () => {
    for (const [body, path] of wishes) {
      const answer = await call('POST', '/checkout', { body });
      expect([body, answer.status, answer.faults[0]?.path]).toEqual([body, 422, path]);
    }
    for (const [method, path, raw, status, code] of calls) {
      clock.nowMs += 60_000;
      const answer = await call(method, path, raw === undefined ? {} : { raw });
      const said = [method, path, raw, answer.status, answer.json.code];
      expect(said).toEqual([method, path, raw, status, code]);
      expect(answer.headers['x-ratelimit-limit']).toBe('20');
    }
    expect([await kinds(), (await call('GET', '/subscription')).json.status]).toEqual([[], 'none']);
  });

  it('of another workspace is as unknown as an id that never was', async () => {
    const { json } = await checkout();
    const { keys, users, workspaces } = service.workspaces;
    const owner = users.firstOwner(1);
    const other = await workspaces.create(owner?.id ?? '', 'Other');
    const wish = {
      workspaceNo: other.no,
      userId: owner?.id ?? '',
      name: 'k',
      role: 'owner',
    } as const;
    const { token: key } = await keys.create(wish);
    for (const id of [word(json.id), 'chk_00000000000000000000']) {
      const read = await call('GET', `/checkout/${id}`, { key });
      const confirmed = await call('POST', `/checkout/${id}/confirm`, { key });
      for (const { status, json: problem } of [read, confirmed]) {
        expect([status, problem.code, problem.detail]).toEqual([
          404,
          'not_found',
          'There is no checkout with this id',
        ]);
      }
    }
    expect((await call('GET', `/checkout/${word(json.id)}`)).json.status).toBe('open');
    expect((await call('GET', '/subscription', { key })).json.status).toBe('none');
  });
});

describe('with Stripe', () => {
  const openShop = async () => {
    await close();
    const shop = await openFakeStripe(clock);
    await open({
      QZ_BILLING_PROVIDER: 'stripe',
      QZ_BILLING_STRIPE_SECRET_KEY: secretKey,
      QZ_BILLING_STRIPE_WEBHOOK_SECRET: webhookSecret,
      QZ_BILLING_STRIPE_API_BASE: shop.apiBase,
      QZ_BILLING_STRIPE_PRICES_PRO_MONTH: 'price_pro_month',
      QZ_TRUSTED_PROXIES: '127.0.0.1',
    });
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
