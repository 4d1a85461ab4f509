/** The settings of billing: what is refused at start, and that the defaults sell nothing. */
import { describe, expect, it } from 'vitest';
import { Catalogue, currencyDigits } from '../../src/billing/catalogue.ts';
import { loadConfig } from '../../src/config.ts';

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
