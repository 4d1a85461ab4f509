/**
 * The Stripe provider against a fake on a real socket, with real signatures: every way to a
 * subscription and away from it, events twice, late, forged, in any order, and Stripe not answering.
 */
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { dayMs } from '../../../src/model/day.ts';
import {
  openFakeStripe,
  secretKey,
  type SignedEvent,
  type FakeStripe,
  type Subscription,
  webhookSecret,
} from './fake-stripe.ts';
import { openBillingFixture, type BillingFixture } from './billing-fixture.ts';
import { pause } from '../../support/process.ts';
import { soon } from '../../support/soon.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';

let fixture: BillingFixture;
let stripe: FakeStripe;
let providerLog: string[];

async function openShop(): Promise<void> {
  const clock = new TestClock();
  const fake = await openFakeStripe(clock);
  stripe = fake.stripe;
  providerLog = fake.logLines;
  fixture = await openBillingFixture(fake.provider);
  // One clock for both: what the fixture's says, Stripe's says.
  clock.now = () => fixture.app.clock.now();
}

beforeEach(openShop);

const receive = async ({ body, signature }: Pick<SignedEvent, 'body' | 'signature'>) =>
  await fixture.billing.receive(Buffer.from(body), signature);
const send = async (type: string, subscription: Subscription): Promise<SignedEvent> => {
  const event = stripe.event(type, subscription);
  await receive(event);
  return event;
};
const record = () => fixture.billing.status(fixture.actor.workspaceNo).subscription;
const kinds = () => fixture.emitted().map(({ event }) => event.replace('subscription.', ''));

/** With another last digit. */
const otherDigit = (hex: string): string => `${hex.slice(0, -1)}${hex.endsWith('0') ? '1' : '0'}`;

/** A paid checkout whose event has come. */
async function subscribed(): Promise<Subscription> {
  const { sessionId } = await fixture.open('pro');
  const subscription = stripe.pay(sessionId ?? '');
  await send('checkout.session.completed', subscription);
  return subscription;
}

describe('a checkout', () => {
  it('is Stripe’s session, and starts the plan when it is paid', async () => {
    const checkout = await fixture.open('pro');
    expect(checkout.url).toMatch(/^https:\/\/checkout\.stripe\.com\//);
    const session = stripe.sessions.get(checkout.sessionId ?? '');
    expect(Object.fromEntries(session?.form ?? [])).toMatchObject({
      mode: 'subscription',
      'line_items[0][price]': 'price_pro_month',
      client_reference_id: checkout.id,
      'subscription_data[metadata][quietzone_workspace]': fixture.actor.workspaceId,
      success_url: `http://localhost:8080/billing/checkout/${checkout.id}`,
    });
    expect(fixture.plan()).toBe('free');
    const subscription = stripe.pay(checkout.sessionId ?? '');
    await send('checkout.session.completed', subscription);
    expect(fixture.plan()).toBe('pro');
    expect(fixture.emitted()).toMatchObject([
      { event: 'subscription.created', data: { plan: 'pro', amount: 29, currency: 'EUR' } },
    ]);
    expect(fixture.billing.checkout(1, checkout.id).state).toBe('complete');
  });

  it('is not for an owner to confirm', async () => {
    const { id } = await fixture.open('pro');
    const confirmed = fixture.billing.confirm(1, id, () => undefined);
    await expect(confirmed).rejects.toMatchObject({ code: 'conflict' });
    expect(fixture.plan()).toBe('free');
  });

  it('that is replaced can be paid no more; paid all the same, it counts', async () => {
    const first = await fixture.open('starter');
    const second = await fixture.open('pro');
    expect(stripe.sessions.get(first.sessionId ?? '')?.status).toBe('expired');
    await send('checkout.session.completed', stripe.pay(first.sessionId ?? ''));
    expect(fixture.plan()).toBe('starter');
    expect(stripe.sessions.get(second.sessionId ?? '')?.status).toBe('expired');
    expect(fixture.billing.checkout(1, second.id).state).toBe('replaced');
    await send('checkout.session.completed', stripe.pay(second.sessionId ?? ''));
    expect([fixture.plan(), kinds()]).toEqual(['starter', ['created']]);
    expect(fixture.app.logLines.join('')).toContain('a workspace pays two subscriptions');
  });

  it('fails clearly while Stripe does not answer, and leaves nothing behind', async () => {
    stripe.faults.push(500, 500, 500);
    await expect(fixture.open('pro')).rejects.toMatchObject({
      code: 'overloaded',
      retryAfterSeconds: 30,
    });
    expect([...fixture.app.store.billing.checkouts.keys({})]).toEqual([]);
    expect((await fixture.open('pro')).state).toBe('open');
  });
});

describe('events', () => {
  it('have one effect, however often and in whatever order they come', async () => {
    const types = [
      'checkout.session.completed',
      'customer.subscription.created',
      'customer.subscription.updated',
      'customer.subscription.updated',
      'invoice.paid',
    ];
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 0, 2, 4], { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(order, fc.boolean(), async (indexes, isParallel) => {
        await fixture.enterNewWorkspace();
        const { sessionId } = await fixture.open('pro');
        const subscription = stripe.pay(sessionId ?? '');
        const events = types.map((type) => stripe.event(type, subscription));
        const chosen = indexes.flatMap((index) => events[index] ?? []);
        if (isParallel) await Promise.all(chosen.map(receive));
        else for (const event of chosen) await receive(event);
        expect([fixture.plan(), kinds(), record()?.state]).toEqual(['pro', ['created'], 'active']);
      }),
      { numRuns: 6 },
    );
  });

  it('that come late do not bring back what was', async () => {
    const subscription = await subscribed();
    const stale = stripe.event('customer.subscription.updated', structuredClone(subscription));
    subscription.status = 'canceled';
    await send('customer.subscription.deleted', subscription);
    expect(fixture.plan()).toBe('free');
    await receive(stale);
    expect([fixture.plan(), kinds()]).toEqual(['free', ['created', 'canceled']]);
  });

  it('run one after the other: a slow answer does not overwrite a newer one', async () => {
    const subscription = await subscribed();
    const first = stripe.event('customer.subscription.updated', subscription);
    stripe.delaysMs.push(200);
    const before = stripe.requests.length;
    const slow = receive(first);
    while (stripe.requests.length === before) await pause(5);
    subscription.status = 'canceled';
    const quick = send('customer.subscription.deleted', subscription);
    await Promise.all([slow, quick]);
    expect([fixture.plan(), kinds()]).toEqual(['free', ['created', 'canceled']]);
  });

  it('twice: the second asks Stripe nothing, also after a restart, for 30 days', async () => {
    const subscription = await subscribed();
    const event = await send('customer.subscription.updated', subscription);
    const before = stripe.requests.length;
    await receive(event);
    await fixture.restart();
    await receive(event);
    expect(stripe.requests).toHaveLength(before);
    fixture.app.clock.move(31 * dayMs);
    await fixture.billing.tick();
    expect(fixture.app.store.billing.providerEvents.has(event.id)).toBe(false);
  });

  it('are refused when forged, too old, or signed with another secret', async () => {
    const subscription = await subscribed();
    subscription.status = 'canceled';
    const event = stripe.event('customer.subscription.deleted', subscription);
    const old = stripe.event(
      'customer.subscription.deleted',
      subscription,
      fixture.app.clock.now() - 301_000,
    );
    const forgeries = [
      { ...event, body: event.body.replace('deleted', 'updated') },
      { ...event, signature: event.signature.replace(/v1=./, (start) => otherDigit(start)) },
      { ...event, signature: '' },
      { ...event, signature: 't=1,v1=00' },
      { ...event, signature: event.signature.replace('v1=', 'v0=') },
      old,
    ];
    for (const forgery of forgeries) {
      await expect(receive(forgery)).rejects.toMatchObject({ code: 'invalid_signature' });
    }
    expect(fixture.plan()).toBe('pro');
    await receive(event);
    expect(fixture.plan()).toBe('free');
  });

  it('about others’ things, unknown subscriptions and nothing at all change nothing', async () => {
    const unknown = { ...(await subscribed()), id: 'sub_other', metadata: {} };
    stripe.subscriptions.set(unknown.id, unknown);
    await send('customer.subscription.deleted', unknown);
    await send('customer.subscription.updated', { ...unknown, id: 'sub_unknown' });
    await receive(stripe.sign({ id: 'evt_a', object: 'event', type: 'charge.succeeded' }));
    expect([fixture.plan(), kinds()]).toEqual(['pro', ['created']]);
    const odd = stripe.sign({ id: '', object: 'event' });
    await expect(receive(odd)).rejects.toMatchObject({ code: 'invalid_json' });
  });
});

describe('a subscription', () => {
  it('is changed, canceled and resumed at Stripe first, and emitted once', async () => {
    const subscription = await subscribed();
    await fixture.billing.change(1, { plan: 'business' });
    expect(subscription.items.data[0]?.price.id).toBe('price_business_month');
    expect([fixture.plan(), record()?.price.amount]).toEqual(['business', 99]);
    await fixture.billing.cancel(1, 'Moving');
    expect(subscription).toMatchObject({
      cancel_at_period_end: true,
      cancellation_details: { comment: 'Moving' },
    });
    await send('customer.subscription.updated', subscription);
    expect(record()).toMatchObject({ state: 'canceling', reason: 'Moving' });
    await fixture.billing.resume(1, () => undefined);
    await send('customer.subscription.updated', subscription);
    expect(subscription.cancel_at_period_end).toBe(false);
    expect([record()?.state, kinds()]).toEqual(['active', ['created', 'updated', 'canceled']]);
  });

  it('canceled to a date of the portal’s own is over then, and can be resumed before', async () => {
    const subscription = await subscribed();
    const endMs = fixture.app.clock.now() + 10 * dayMs;
    subscription.cancel_at = Math.floor(endMs / 1_000);
    await send('customer.subscription.updated', subscription);
    expect(record()).toMatchObject({ state: 'canceling', reason: 'unspecified' });
    expect(record()?.effectiveAtMs).toBe(subscription.cancel_at * 1_000);
    await fixture.billing.resume(1, () => undefined);
    expect([record()?.state, subscription.cancel_at]).toEqual(['active', null]);
    subscription.cancel_at = Math.floor(endMs / 1_000);
    await send('customer.subscription.updated', subscription);
    subscription.cancel_at += 86_400;
    await send('customer.subscription.updated', subscription);
    fixture.app.clock.set(endMs + 1_000);
    await fixture.billing.tick();
    expect(fixture.plan()).toBe('pro');
    fixture.app.clock.set(endMs + dayMs);
    await fixture.billing.tick();
    expect([fixture.plan(), kinds()]).toEqual([
      'free',
      ['created', 'canceled', 'canceled', 'canceled'],
    ]);
  });

  it('is emitted once when the message overtakes the answer', async () => {
    const subscription = await subscribed();
    const canceled = structuredClone(subscription);
    await Promise.all([
      fixture.billing.cancel(1, 'Moving'),
      receive(stripe.event('customer.subscription.updated', canceled)),
      receive(stripe.event('customer.subscription.updated', canceled)),
    ]);
    expect(kinds()).toEqual(['created', 'canceled']);
  });

  it('keeps plan and record when Stripe declines', async () => {
    await subscribed();
    stripe.faults.push(402);
    await expect(fixture.billing.change(1, { plan: 'business' })).rejects.toThrow(/was declined/);
    expect([fixture.plan(), kinds()]).toEqual(['pro', ['created']]);
  });

  it('follows what the customer does in the portal', async () => {
    const subscription = await subscribed();
    expect(await fixture.billing.portalUrl(1)).toContain(subscription.customer);
    const price = { id: 'price_pro_year', currency: 'eur', unit_amount: 29_000 };
    subscription.items.data[0]!.price = price;
    subscription.cancel_at_period_end = true;
    subscription.cancellation_details.comment = 'Too dear';
    await send('customer.subscription.updated', subscription);
    expect(record()).toMatchObject({ interval: 'year', state: 'canceling', reason: 'Too dear' });
    expect(kinds()).toEqual(['created', 'updated', 'canceled']);
  });

  it('is past due while a payment is late, then active or over', async () => {
    const subscription = await subscribed();
    subscription.status = 'past_due';
    await send('invoice.payment_failed', subscription);
    expect([record()?.state, fixture.plan()]).toEqual(['past_due', 'pro']);
    await expect(fixture.billing.change(1, { plan: 'business' })).rejects.toThrow(/payment is due/);
    subscription.status = 'active';
    await send('customer.subscription.updated', subscription);
    expect(record()?.state).toBe('active');
    subscription.status = 'past_due';
    await send('customer.subscription.updated', subscription);
    subscription.status = 'unpaid';
    subscription.cancellation_details.reason = 'payment_failed';
    await send('customer.subscription.updated', subscription);
    expect([record()?.state, fixture.plan()]).toEqual(['none', 'free']);
    expect(fixture.emitted().at(-1)?.data).toMatchObject({ reason: 'payment_failed' });
  });

  it('ends at effectiveAt by our clock, whether Stripe says so or not, and not twice', async () => {
    const subscription = await subscribed();
    await fixture.billing.cancel(1, undefined);
    fixture.app.clock.set(record()?.effectiveAtMs ?? 0);
    await fixture.billing.tick();
    expect(fixture.plan()).toBe('free');
    await send('customer.subscription.updated', subscription);
    subscription.status = 'canceled';
    await send('customer.subscription.deleted', subscription);
    expect([fixture.plan(), kinds()]).toEqual(['free', ['created', 'canceled']]);
  });

  it('goes on after its period when the event was lost: Stripe is asked', async () => {
    const subscription = await subscribed();
    const item = subscription.items.data[0]!;
    const endMs = item.current_period_end * 1_000;
    fixture.app.clock.set(endMs);
    stripe.faults.push(503);
    await fixture.billing.tick();
    const log = () => fixture.app.logLines.join('');
    await expect.poll(log, soon).toContain('the payment provider does not answer, retrying');
    expect([record()?.state, fixture.plan(), fixture.due()[0]?.[0]]).toEqual([
      'active',
      'pro',
      endMs + 3_600_000,
    ]);
    item.current_period_start = item.current_period_end;
    item.current_period_end += 30 * 86_400;
    fixture.app.clock.move(3_600_000);
    await fixture.billing.tick();
    const renewed = [endMs + 30 * dayMs, 'pro'];
    await expect.poll(() => [record()?.periodEndMs, fixture.plan()], soon).toEqual(renewed);
    subscription.status = 'canceled';
    fixture.app.clock.move(31 * dayMs);
    await fixture.billing.tick();
    await expect.poll(() => fixture.plan(), soon).toBe('free');
    expect(kinds()).toEqual(['created', 'canceled']);
  });

  it('of a price that the catalogue lacks keeps its plan, and the log says so', async () => {
    const subscription = await subscribed();
    const price = { id: 'price_odd', currency: 'eur', unit_amount: 1 };
    subscription.items.data[0]!.price = price;
    await send('customer.subscription.updated', subscription);
    expect([fixture.plan(), kinds()]).toEqual(['pro', ['created']]);
    expect(fixture.app.logLines.join('')).toContain('billing.stripe.prices');
  });
});

it('never logs the key, the secret or a signature', async () => {
  const subscription = await subscribed();
  stripe.faults.push(503);
  await expect(fixture.billing.change(1, { plan: 'business' })).rejects.toThrow();
  const event = stripe.event('customer.subscription.updated', subscription);
  await expect(receive({ ...event, body: `${event.body} ` })).rejects.toThrow();
  const text = [...fixture.app.logLines, ...providerLog].join('');
  expect(text).toContain('the payment provider refused a request');
  for (const secret of [secretKey, webhookSecret, event.signature]) {
    expect(text).not.toContain(secret);
  }
});
