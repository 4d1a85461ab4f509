/**
 * Who decides about plans: where the operator confirms, no request of an owner raises limits or price, by whatever path;
 * where nothing is sold, no request changes anything. Over HTTP; the operator acts as the command does.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { dayMs } from '../../../src/model/day.ts';
import type { Plan, PlanLimits } from '../../../src/model/workspace.ts';
import { type Answer, Client, type Json, word } from '../../support/client.ts';
import { testPrices } from '../../support/fakes/prices.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';
import { openFakeStripe, stripeEnvironment } from './fake-stripe.ts';

type Terms = { readonly plan?: string; readonly interval?: string };

const operator = { QZ_BILLING_CONFIRMED_BY: 'operator' };
const none = { QZ_BILLING_PROVIDER: 'none' };
/** As a fresh installation is: `manual`, and no price. */
const fresh = Object.fromEntries(Object.keys(testPrices).map((name) => [name, '0']));
const prices = { QZ_BILLING_PRICES_ENTERPRISE_MONTH: '20' };

let app: TestApp;
let client: Client;

async function open(environment: Readonly<Record<string, string>>, plan: Plan = 'free') {
  app = await startTestApi({ plan, environment });
  client = new Client(`${app.url}/v1/billing`, app.apiKey);
}

/** The same data folder under other settings. */
async function reopen(environment: Readonly<Record<string, string>>): Promise<void> {
  const key = client;
  const { apiKey } = app;
  app = await app.restart({ environment });
  await app.listen();
  await key.close();
  client = new Client(`${app.url}/v1/billing`, apiKey);
}

afterEach(async () => {
  await client.close();
});

const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
  // Each in a minute of its own: a Free workspace has 20 requests.
  app.clock.move(60_000);
  return await client.call(method, path, body === undefined ? {} : { body });
};
const codeOf = ({ status, json }: Answer): unknown => [status, json.code];
const checkout = async (plan: string, interval = 'month') =>
  await call('POST', '/checkout', { plan, interval });
const change = async (terms: Terms) => await call('PATCH', '/subscription', terms);
const stateNow = async (): Promise<Json> => (await call('GET', '/subscription')).json;
const confirmAsOwner = async ({ json }: Answer) =>
  await call('POST', `/checkout/${word(json.id)}/confirm`);
const confirmAsOperator = async ({ json }: Answer): Promise<void> => {
  await app.billing.confirm(undefined, word(json.id), () => undefined);
};
async function setPlan(plan: Plan, limits?: PlanLimits): Promise<void> {
  await app.workspaces.workspaces.setPlan(1, plan, limits);
}
async function subscribe(plan: string, interval = 'month'): Promise<void> {
  const made = await checkout(plan, interval);
  expect(made.status).toBe(201);
  await confirmAsOperator(made);
}
function emitted(): string[] {
  const events = [...app.store.events.range({})].map(({ value }) =>
    word(JSON.parse(value.body).event),
  );
  return events.filter((event) => event.startsWith('subscription.'));
}

const waits = [409, 'checkout_required'];

describe('where the operator confirms', () => {
  it('an owner’s confirmation is 403, and the operator’s starts the plan', async () => {
    await open(operator);
    const made = await checkout('pro');
    expect(made.json).toMatchObject({ status: 'open', confirmedBy: 'operator' });
    const lastsMs = Date.parse(word(made.json.expiresAt)) - Date.parse(word(made.json.createdAt));
    expect(lastsMs).toBe(30 * dayMs);
    const refused = await confirmAsOwner(made);
    expect(codeOf(refused)).toEqual([403, 'forbidden']);
    expect(refused.json.detail).toContain('only the operator');
    expect(await stateNow()).toMatchObject({
      plan: 'free',
      status: 'none',
      openCheckout: { id: made.json.id, plan: 'pro', amount: 29, confirmedBy: 'operator' },
    });
    const viewer = await app.keyOf('viewer');
    const seen = await client.get('/subscription', { key: viewer });
    expect(seen.json).toEqual({ plan: 'free', status: 'none' });
    expect(app.billing.pending().map(({ id }) => id)).toEqual([made.json.id]);
    await confirmAsOperator(made);
    const after = await stateNow();
    expect(after).toMatchObject({ plan: 'pro', status: 'active' });
    expect([after.openCheckout, app.billing.pending()]).toEqual([undefined, []]);
    expect(emitted()).toEqual(['subscription.created']);
    expect((await call('GET', '/plans')).json).toMatchObject({
      provider: 'manual',
      confirmedBy: 'operator',
    });
    expect(codeOf(await call('POST', '/checkout/chk_00000000000000000000/confirm'))).toEqual([
      404,
      'not_found',
    ]);
  });

  it.each<readonly [from: Terms, to: Terms]>([
    [{ plan: 'pro' }, { plan: 'business' }],
    [{ plan: 'pro' }, { interval: 'year' }],
    [{ plan: 'pro' }, { plan: 'pro', interval: 'year' }],
    [{ plan: 'pro' }, { plan: 'business', interval: 'year' }],
    // Lower limits, at a price that nobody has agreed to.
    [{ plan: 'pro' }, { plan: 'starter', interval: 'year' }],
    // Cheaper, with higher limits.
    [
      { plan: 'starter', interval: 'year' },
      { plan: 'pro', interval: 'month' },
    ],
    [{ plan: 'business' }, { plan: 'enterprise' }],
  ])('a change of %j to %j waits for the operator as a checkout', async (from, to) => {
    await open({ ...operator, ...prices });
    await subscribe(from.plan ?? '', from.interval);
    const before = await stateNow();
    expect(codeOf(await change(to))).toEqual(waits);
    expect(await stateNow()).toEqual(before);
    const wanted = { plan: from.plan, interval: from.interval ?? 'month', ...to };
    const made = await checkout(word(wanted.plan), wanted.interval);
    expect([made.status, codeOf(await confirmAsOwner(made))]).toEqual([201, [403, 'forbidden']]);
    expect(await stateNow()).toMatchObject({ plan: before.plan, interval: before.interval });
    await confirmAsOperator(made);
    expect(await stateNow()).toMatchObject({ ...wanted, status: 'active' });
    expect(emitted()).toEqual(['subscription.created', 'subscription.updated']);
  });

  it('a change that raises neither is the owner’s, and is not taken back by one', async () => {
    await open(operator);
    await subscribe('business', 'year');
    for (const terms of [{ interval: 'month' }, { plan: 'pro' }, { plan: 'pro' }]) {
      expect((await change(terms)).status).toBe(200);
    }
    expect(await stateNow()).toMatchObject({ plan: 'pro', interval: 'month', amount: 29 });
    expect(codeOf(await change({ plan: 'business' }))).toEqual(waits);
    expect(codeOf(await checkout('pro'))).toEqual([409, 'conflict']);
  });

  it('cancelling and resuming give back what was, and no more', async () => {
    await open(operator);
    await subscribe('starter');
    const waiting = await checkout('business');
    expect((await call('DELETE', '/subscription')).status).toBe(200);
    expect(codeOf(await change({ plan: 'pro' }))).toEqual([409, 'conflict']);
    expect(codeOf(await checkout('pro'))).toEqual([409, 'conflict']);
    await expect(confirmAsOperator(waiting)).rejects.toMatchObject({ code: 'conflict' });
    expect((await call('POST', '/subscription/resume')).json).toMatchObject({ plan: 'starter' });
    expect(codeOf(await confirmAsOwner(waiting))).toEqual([403, 'forbidden']);
    const { currentPeriodEnd } = await stateNow();
    await call('DELETE', '/subscription');
    app.clock.move(Date.parse(word(currentPeriodEnd)) - app.clock.now());
    await app.billing.tick();
    expect(await stateNow()).toMatchObject({ plan: 'free', status: 'none' });
    expect(codeOf(await call('POST', '/subscription/resume'))).toEqual([409, 'conflict']);
    expect(codeOf(await change({ plan: 'starter' }))).toEqual([409, 'conflict']);
  });

  it.each<readonly [Plan, PlanLimits | undefined, Terms]>([
    ['free', undefined, { plan: 'starter' }],
    ['free', undefined, { interval: 'month' }],
    ['enterprise', { perMinute: 50, perDay: 500 }, { plan: 'starter' }],
  ])('a plan that the operator lowered to %s %j stays under %j', async (plan, limits, terms) => {
    await open(operator);
    await subscribe('pro', 'year');
    await setPlan(plan, limits);
    expect(codeOf(await change(terms))).toEqual(waits);
    await call('DELETE', '/subscription');
    await call('POST', '/subscription/resume');
    expect(await stateNow()).toMatchObject({ plan, status: 'active' });
  });

  it('what waits for the operator is not the owner’s under Stripe, nor is a plan settled by hand', async () => {
    await open(operator);
    await subscribe('starter');
    const waiting = await checkout('business');
    const shop = await openFakeStripe(app.clock);
    await reopen(stripeEnvironment(shop.apiBase));
    expect(codeOf(await confirmAsOwner(waiting))).toEqual([403, 'forbidden']);
    expect(codeOf(await change({ plan: 'business' }))).toEqual(waits);
    expect(await stateNow()).toMatchObject({ plan: 'starter' });
  });
});

it.each([
  ['by choice', none],
  ['on a fresh installation', fresh],
])(
  'where nothing is sold %s: limits have no prices, usage works, and every change says so',
  async (_, environment) => {
    await open(environment);
    const plans = await call('GET', '/plans');
    expect(plans.json).toMatchObject({ provider: 'none', confirmedBy: null });
    expect(plans.items.map(({ plan, prices: at }) => [plan, at])).toEqual(
      ['free', 'starter', 'pro', 'business', 'enterprise'].map((plan) => [plan, []]),
    );
    expect(plans.items[2]).toMatchObject({ limits: { perMinute: 120, perDay: 50_000 } });
    expect(await stateNow()).toEqual({ plan: 'free', status: 'none' });
    expect((await call('GET', '/usage')).json).toMatchObject({ plan: 'free' });
    for (const [method, path, body] of [
      ['POST', '/checkout', { plan: 'pro', interval: 'month' }],
      ['POST', '/checkout/chk_00000000000000000000/confirm', undefined],
      ['PATCH', '/subscription', { plan: 'pro' }],
      ['DELETE', '/subscription', undefined],
      ['POST', '/subscription/resume', undefined],
      ['POST', '/portal', undefined],
    ] as const) {
      const answer = await call(method, path, body);
      expect([path, codeOf(answer)]).toEqual([path, [409, 'billing_disabled']]);
    }
    expect((await call('GET', '/checkout/chk_00000000000000000000')).status).toBe(404);
    await setPlan('business');
    expect(await stateNow()).toEqual({ plan: 'business', status: 'none' });
    expect((await call('GET', '/usage')).headers['x-ratelimit-limit']).toBe('300');
    expect(emitted()).toEqual([]);
  },
);

it('where nothing is sold a subscription from before is shown, renews, and stays as it is', async () => {
  await open({});
  expect((await confirmAsOwner(await checkout('pro'))).status).toBe(200);
  const before = await stateNow();
  await reopen(none);
  expect(await stateNow()).toEqual(before);
  expect(codeOf(await change({ plan: 'business' }))).toEqual([409, 'billing_disabled']);
  app.clock.move(Date.parse(word(before.currentPeriodEnd)) - app.clock.now());
  await app.billing.tick();
  expect(await stateNow()).toMatchObject({ plan: 'pro', status: 'active' });
});
