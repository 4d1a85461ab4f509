/**
 * Billing with the manual provider on a clock in the hand: starts, changes, ends, races, restarts, the scheduler; random lives,
 * periods, the transition table, and the settings.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Catalogue, currencyDigits } from '../../../src/product/billing/catalogue.ts';
import { periodAt } from '../../../src/product/billing/period.ts';
import {
  subscriptionEvents,
  transition,
  transitions,
} from '../../../src/product/billing/subscription.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { billingIntervals, subscriptionStates } from '../../../src/model/billing.ts';
import { addMonths, dayMs, isoTime } from '../../../src/model/day.ts';
import { soon } from '../../support/soon.ts';
import { type BillingFixture, openBillingFixture } from './billing-fixture.ts';

const nothing = (): void => undefined;

/** With a subscription to Pro. */
async function openSubscribed() {
  const fixture = await openBillingFixture();
  await fixture.subscribe('pro');
  const { workspaceNo } = fixture.actor;
  return { fixture, workspaceNo, billing: fixture.billing, clock: fixture.app.clock };
}

const confirm = (fixture: BillingFixture, id: string) =>
  fixture.billing.confirm(fixture.actor.workspaceNo, id, nothing);

describe('a checkout', () => {
  it('is confirmed once, however many try at once', async () => {
    const fixture = await openBillingFixture();
    const { id } = await fixture.open('pro');
    const tries = await Promise.allSettled(Array.from({ length: 20 }, () => confirm(fixture, id)));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(fixture.emitted().map(({ event }) => event)).toEqual(['subscription.created']);
    await expect(confirm(fixture, id)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('expires after 24 hours, and is removed a month later', async () => {
    const fixture = await openBillingFixture();
    const { id, expiresAtMs, createdAtMs } = await fixture.open('pro');
    expect(expiresAtMs - createdAtMs).toBe(dayMs);
    fixture.app.clock.move(dayMs);
    expect(fixture.billing.checkout(fixture.actor.workspaceNo, id).state).toBe('expired');
    await expect(confirm(fixture, id)).rejects.toThrow(/it expired at .*, expected an open one/);
    fixture.app.clock.move(31 * dayMs);
    await fixture.billing.tick();
    expect(() => fixture.billing.checkout(fixture.actor.workspaceNo, id)).toThrow(
      /no checkout with this id/,
    );
  });

  it('replaces the earlier one', async () => {
    const fixture = await openBillingFixture();
    const first = await fixture.open('pro');
    const second = await fixture.open('starter');
    await expect(confirm(fixture, first.id)).rejects.toThrow(/a later checkout replaced it/);
    await confirm(fixture, second.id);
    expect(fixture.plan()).toBe('starter');
  });

  it('is refused for the present plan, during a subscription, and for a plan that is not sold', async () => {
    const fixture = await openBillingFixture(undefined, 'starter');
    await expect(fixture.open('starter')).rejects.toMatchObject({ code: 'conflict' });
    await expect(fixture.open('enterprise')).rejects.toMatchObject({ code: 'validation_failed' });
    const { id } = await fixture.open('pro');
    await confirm(fixture, id);
    await expect(fixture.open('business')).rejects.toMatchObject({ code: 'conflict' });
  });
});

it('a change holds at once and is emitted with before and after; no change is not emitted', async () => {
  const { fixture, workspaceNo, billing, clock } = await openSubscribed();
  await billing.change(workspaceNo, { plan: 'business' });
  await billing.change(workspaceNo, { plan: 'business', interval: 'month' });
  expect(fixture.plan()).toBe('business');
  const before = billing.status(workspaceNo).subscription;
  clock.move(5 * dayMs);
  await billing.change(workspaceNo, { interval: 'year' });
  const after = billing.status(workspaceNo).subscription;
  expect(before?.periodEndMs).toBe(addMonths(before?.anchorMs ?? 0, 1));
  expect(after?.periodStartMs).toBe(clock.now());
  expect(after?.price.amount).toBe(990);
  expect(fixture.emitted().slice(1)).toMatchObject([
    { data: { before: { plan: 'pro' }, after: { plan: 'business' } } },
    {
      event: 'subscription.updated',
      data: { before: { interval: 'month' }, after: { plan: 'business', interval: 'year' } },
    },
  ]);
  expect(fixture.emitted()).toHaveLength(3);
});

it('a change is refused without a subscription, when canceled, and for what is not sold', async () => {
  const fixture = await openBillingFixture();
  const { workspaceNo } = fixture.actor;
  const change = () => fixture.billing.change(workspaceNo, { plan: 'business' });
  await expect(change()).rejects.toMatchObject({ code: 'conflict' });
  await fixture.subscribe('pro');
  const unsold = fixture.billing.change(workspaceNo, { plan: 'enterprise' });
  await expect(unsold).rejects.toMatchObject({ code: 'validation_failed' });
  await fixture.billing.cancel(workspaceNo, undefined);
  await expect(change()).rejects.toThrow(/resume it first/);
  expect(fixture.plan()).toBe('pro');
});

it('a cancellation leaves the plan until effectiveAt, then Free, once; emitted at once, with its reason', async () => {
  const { fixture, workspaceNo, billing, clock } = await openSubscribed();
  const { subscription } = await billing.cancel(workspaceNo, 'Moving');
  const effectiveAtMs = subscription?.effectiveAtMs ?? 0;
  expect(effectiveAtMs).toBe(addMonths(clock.now(), 1));
  expect(fixture.emitted().at(-1)).toMatchObject({
    event: 'subscription.canceled',
    data: {
      workspaceId: fixture.actor.workspaceId,
      effectiveAt: isoTime(effectiveAtMs),
      reason: 'Moving',
    },
  });
  clock.set(effectiveAtMs - 1);
  await billing.tick();
  expect(fixture.plan()).toBe('pro');
  clock.set(effectiveAtMs);
  await billing.tick();
  expect([fixture.plan(), fixture.due()]).toEqual(['free', []]);
  await billing.tick();
  expect(fixture.emitted()).toHaveLength(2);
});

it('a cancellation is taken back until it takes effect, and not after, even before the tick', async () => {
  const { fixture, workspaceNo, billing, clock } = await openSubscribed();
  await billing.cancel(workspaceNo, undefined);
  await expect(billing.cancel(workspaceNo, undefined)).rejects.toThrow(/canceled already/);
  const resumed = await billing.resume(workspaceNo, nothing);
  expect(resumed.subscription).toMatchObject({ state: 'active' });
  expect(resumed.subscription).not.toHaveProperty('reason');
  await billing.cancel(workspaceNo, undefined);
  clock.move(32 * dayMs);
  await expect(billing.resume(workspaceNo, nothing)).rejects.toThrow(/no subscription/);
  expect(fixture.plan()).toBe('free');
  await fixture.subscribe('starter');
  expect(fixture.plan()).toBe('starter');
});

it('a cancellation does not take away a plan that the operator has set since', async () => {
  const { fixture, workspaceNo, billing, clock } = await openSubscribed();
  await billing.cancel(workspaceNo, undefined);
  await fixture.app.workspaces.workspaces.setPlan(workspaceNo, 'enterprise');
  clock.move(32 * dayMs);
  await billing.tick();
  expect(fixture.plan()).toBe('enterprise');
  expect(billing.status(workspaceNo).subscription?.state).toBe('none');
});

it('time renews an active subscription by whole periods, also after years away', async () => {
  const fixture = await openBillingFixture();
  const { workspaceNo } = fixture.actor;
  fixture.app.clock.set(Date.UTC(2026, 0, 31, 12));
  await fixture.subscribe('pro');
  const period = () => {
    const record = fixture.billing.status(workspaceNo).subscription;
    return [isoTime(record?.periodStartMs ?? 0), isoTime(record?.periodEndMs ?? 0)];
  };
  const at = (day: string): string => `${day}T12:00:00.000Z`;
  expect(period()).toEqual([at('2026-01-31'), at('2026-02-28')]);
  fixture.app.clock.set(Date.UTC(2026, 1, 28, 12));
  await fixture.billing.tick();
  expect(period()).toEqual([at('2026-02-28'), at('2026-03-31')]);
  fixture.app.clock.set(Date.UTC(2029, 5, 1));
  await fixture.restart();
  await fixture.billing.tick();
  expect(period()).toEqual([at('2029-05-31'), at('2029-06-30')]);
  expect([fixture.plan(), fixture.emitted().length]).toEqual(['pro', 1]);
});

it('time ends many that are due together in a few ticks', async () => {
  const fixture = await openBillingFixture();
  await fixture.subscribe('pro');
  const { store } = fixture.app;
  const record = store.billing.subscriptions.get(1)!;
  const endMs = fixture.app.clock.now() + dayMs;
  const own = store.workspaces.get(1)!;
  await store.environment.transaction(() => {
    for (let no = 2; no <= 350; no += 1) {
      store.workspaces.put(no, { ...own, no, plan: 'pro' });
      const canceling = { ...record, workspaceNo: no, state: 'canceling' } as const;
      store.billing.subscriptions.put(no, { ...canceling, effectiveAtMs: endMs });
      store.billing.subscriptionDue.set([no], endMs);
    }
  });
  fixture.app.clock.set(endMs);
  await fixture.billing.tick();
  const left = [...store.workspaces.range({})].filter(({ value }) => value.plan !== 'free');
  expect(left.map(({ key }) => key)).toEqual([1]);
  expect(fixture.due()).toHaveLength(1);
});

it('makes a canceled plan Free, after a stop and while it runs', async () => {
  const fixture = await openBillingFixture();
  const cancelAndWait = async (): Promise<void> => {
    await fixture.subscribe('pro');
    await fixture.billing.cancel(fixture.actor.workspaceNo, undefined);
    fixture.app.clock.move(32 * dayMs);
  };
  await cancelAndWait();
  await fixture.billing.start(10);
  expect(fixture.plan()).toBe('free');
  await cancelAndWait();
  await expect.poll(() => fixture.plan(), soon).toBe('free');
  await fixture.billing.close();
});

it('the transition table decides every cell, and refuses no fact', () => {
  for (const state of subscriptionStates) {
    expect(Object.keys(transitions[state]).sort()).toEqual([...subscriptionEvents].sort());
    for (const event of subscriptionEvents) {
      const isWish = event.endsWith('_asked') || event === 'checkout_completed';
      const cell = transitions[state][event];
      if (cell !== 'stays' && 'refuse' in cell) {
        expect([state, event, isWish]).toEqual([state, event, true]);
        expect(() => transition(state, event)).toThrow(/^Cannot .*: .*, expected/);
      } else {
        expect(transition(state, event)).toEqual(cell === 'stays' ? undefined : cell);
      }
    }
  }
});

it.each([
  ['2026-01-31T10:00:00Z', 1, '2026-02-28T10:00:00Z'],
  ['2026-01-31T10:00:00Z', 2, '2026-03-31T10:00:00Z'],
  ['2024-02-29T00:00:00Z', 12, '2025-02-28T00:00:00Z'],
  ['2024-02-29T00:00:00Z', 48, '2028-02-29T00:00:00Z'],
  ['2026-12-31T23:59:59Z', 1, '2027-01-31T23:59:59Z'],
])('addMonths(%s, %i) is %s', (from, months, to) => {
  expect(addMonths(Date.parse(from), months)).toBe(Date.parse(to));
});

it('periodAt holds the time, without gap or overlap, for any anchor', () => {
  const anchors = fc.integer({ min: 0, max: Date.UTC(2080, 0, 1) });
  const spans = fc.integer({ min: 0, max: 40 * 366 * dayMs });
  const everyKind = fc.constantFrom(...billingIntervals);
  fc.assert(
    fc.property(anchors, spans, everyKind, (anchorMs, spanMs, interval) => {
      const timeMs = anchorMs + spanMs;
      const { startMs, endMs } = periodAt(anchorMs, interval, timeMs);
      expect(startMs <= timeMs && timeMs < endMs).toBe(true);
      expect(periodAt(anchorMs, interval, endMs).startMs).toBe(endMs);
      const days = (endMs - startMs) / dayMs;
      expect(days).toBeGreaterThanOrEqual(interval === 'month' ? 28 : 365);
      expect(days).toBeLessThanOrEqual(interval === 'month' ? 31 : 366);
    }),
    { numRuns: 300 },
  );
});

const acts = [
  'subscribe',
  'cancel',
  'resume',
  'change',
  'wait',
  'back',
  'year',
  'restart',
  'tick',
] as const;
const lives = fc.array(fc.constantFrom(...acts, 'wait' as const), {
  minLength: 5,
  maxLength: 25,
});

it('a random life keeps plan, due time and events in step, whatever happens in which order', async () => {
  const fixture = await openBillingFixture();
  await fc.assert(
    fc.asyncProperty(lives, async (life) => {
      await fixture.enterNewWorkspace();
      const { workspaceNo } = fixture.actor;
      const due = () => fixture.due().filter(([, no]) => no === workspaceNo);
      for (const act of life) {
        const work = {
          subscribe: () => fixture.subscribe('pro'),
          cancel: () => fixture.billing.cancel(workspaceNo, undefined),
          resume: () => fixture.billing.resume(workspaceNo, () => undefined),
          change: () =>
            fixture.billing.change(workspaceNo, {
              plan: fixture.plan() === 'pro' ? 'business' : 'pro',
            }),
          wait: async () => fixture.app.clock.move(17 * dayMs),
          back: async () => fixture.app.clock.step(-dayMs),
          year: async () => fixture.app.clock.step(365 * dayMs),
          restart: () => fixture.restart(),
          tick: () => fixture.billing.tick(),
        }[act];
        await Promise.resolve(work()).catch((error: Error) => {
          expect(error.message).toMatch(/^Cannot /);
        });
        const { subscription } = fixture.billing.status(workspaceNo);
        const state = subscription?.state ?? 'none';
        expect(fixture.plan()).toBe(state === 'none' ? 'free' : subscription?.plan);
        const isEnding = state === 'canceling';
        const dueMs = isEnding ? subscription?.effectiveAtMs : subscription?.periodEndMs;
        expect(due()).toEqual(state === 'none' ? [] : [[dueMs, workspaceNo]]);
        const count = (kind: string): number =>
          fixture.emitted().filter(({ event }) => event === `subscription.${kind}`).length;
        const isLive = state === 'active' || state === 'past_due';
        expect(count('created') - count('canceled')).toBeLessThanOrEqual(isLive ? 1 : 0);
      }
    }),
    { numRuns: 12 },
  );
});

const load = (environment: Readonly<Record<string, string>>) =>
  loadConfig(undefined, environment).billing;

describe('billing settings', () => {
  const soldWith = (environment: Readonly<Record<string, string>>) => {
    const { prices, currency } = load(environment);
    const offers = new Catalogue(prices, currency).offers();
    return offers.flatMap(({ plan, prices: at }) => at.map((price) => ({ plan, ...price })));
  };

  it('sell nothing until a price is set, and then by hand', () => {
    expect(load({}).provider).toBe('manual');
    expect(soldWith({})).toEqual([]);
    expect(soldWith({ QZ_BILLING_PRICES_PRO_YEAR: '290' })).toEqual([
      { plan: 'pro', interval: 'year', amount: 290 },
    ]);
  });

  it.each([
    [{ QZ_BILLING_CURRENCY: 'eur' }, /QZ_BILLING_CURRENCY: .*ISO 4217/],
    [{ QZ_BILLING_PRICES_PRO_MONTH: '-1' }, /QZ_BILLING_PRICES_PRO_MONTH/],
    [
      { QZ_BILLING_PRICES_PRO_MONTH: '9.999' },
      /billing\.prices\.pro: 9\.999 EUR, expected at most 2/,
    ],
    [
      { QZ_BILLING_CURRENCY: 'JPY', QZ_BILLING_PRICES_PRO_MONTH: '9.5' },
      /9\.5 JPY, expected at most 0 decimals/,
    ],
    [{ QZ_BILLING_PROVIDER: 'paypal' }, /QZ_BILLING_PROVIDER/],
    [{ QZ_BILLING_PROVIDER: 'stripe' }, /expected billing\.stripe\.secretKey and webhookSecret/],
    [
      {
        QZ_BILLING_PROVIDER: 'stripe',
        QZ_BILLING_STRIPE_WEBHOOK_SECRET: 'whsec_1',
        QZ_BILLING_STRIPE_PRICES_PRO_MONTH: 'price_1',
        QZ_BILLING_PRICES_PRO_YEAR: '290',
      },
      /billing\.stripe\.prices\.pro is set, expected the same amount in billing\.prices\.pro/,
    ],
    [{ QZ_BILLING_STRIPE_API_BASE: 'ftp://x' }, /QZ_BILLING_STRIPE_API_BASE/],
  ])('%j is refused by name, and never with a secret', (environment, message) => {
    expect(() => load({ ...environment, QZ_BILLING_STRIPE_SECRET_KEY: 'sk_secret' })).toThrow(
      message,
    );
    expect(() => load({ ...environment, QZ_BILLING_STRIPE_SECRET_KEY: 'sk_secret' })).not.toThrow(
      /sk_secret/,
    );
  });

  it.each([
    ['EUR', 2],
    ['JPY', 0],
    ['KWD', 3],
  ])('%s has %i digits after the point', (currency, digits) => {
    expect(currencyDigits(currency)).toBe(digits);
  });
});
