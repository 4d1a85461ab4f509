/** The transition table on a real store, periods, and the settings of billing. */
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { periodAt } from '../../src/billing/period.ts';
import { addMonths, dayMs } from '../../src/model/day.ts';
import { subscriptionEvents, transition, transitions } from '../../src/billing/subscription.ts';
import { billingIntervals, subscriptionStates } from '../../src/model/billing.ts';
import { Catalogue, currencyDigits } from '../../src/billing/catalogue.ts';
import { loadConfig } from '../../src/config.ts';
import { openBillingFixture } from './billing-fixture.ts';

describe('transitions', () => {
  it('decides every cell, and refuses no fact', () => {
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
});

describe('periodAt', () => {
  it.each([
    ['2026-01-31T10:00:00Z', 1, '2026-02-28T10:00:00Z'],
    ['2026-01-31T10:00:00Z', 2, '2026-03-31T10:00:00Z'],
    ['2024-02-29T00:00:00Z', 12, '2025-02-28T00:00:00Z'],
    ['2024-02-29T00:00:00Z', 48, '2028-02-29T00:00:00Z'],
    ['2026-12-31T23:59:59Z', 1, '2027-01-31T23:59:59Z'],
  ])('addMonths(%s, %i) is %s', (from, months, to) => {
    expect(addMonths(Date.parse(from), months)).toBe(Date.parse(to));
  });

  it('holds the time, without gap or overlap, for any anchor', () => {
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
});

describe('a random life', () => {
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

  it('keeps plan, due time and events in step, whatever happens in which order', async () => {
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
