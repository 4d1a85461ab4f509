/** Billing as it is configured: with Stripe behind it, or with people (`manual`). */
import type { Config } from '../config.ts';
import { Billing, type BillingOptions } from './billing.ts';
import { openStripe } from './stripe-provider.ts';

type Parts = Omit<BillingOptions, 'prices' | 'currency' | 'publicUrl' | 'provider'>;

export async function openBilling({ billing, api }: Config, options: Parts): Promise<Billing> {
  const { provider, prices, currency, stripe } = billing;
  return new Billing({
    ...options,
    prices,
    currency,
    publicUrl: api.publicUrl,
    provider: provider === 'stripe' ? await openStripe(stripe, options.log) : undefined,
  });
}
