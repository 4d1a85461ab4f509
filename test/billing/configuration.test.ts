/** The settings of billing: what is refused at start, and that the defaults sell three plans. */
import { describe, expect, it } from 'vitest';
import { Catalogue, currencyDigits } from '../../src/billing/catalogue.ts';
import { loadConfig } from '../../src/config.ts';

const load = (environment: Readonly<Record<string, string>>) =>
  loadConfig(undefined, environment).billing;

describe('billing settings', () => {
  it('sell starter, pro and business by month and year, by hand', () => {
    const { provider, prices, currency } = load({});
    const sold = new Catalogue(prices, currency)
      .offers()
      .filter((offer) => offer.prices.length > 0);
    expect(provider).toBe('manual');
    expect(sold.map(({ plan, prices: at }) => [plan, at.length])).toEqual([
      ['starter', 2],
      ['pro', 2],
      ['business', 2],
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
