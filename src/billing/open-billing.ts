/** Billing as it is configured: with Stripe behind it, or with people (`manual`). */
import type { Config } from '../config.ts';
import { Billing, type BillingParts } from './billing.ts';
import { openStripe } from './stripe-provider.ts';

type Parts = Omit<BillingParts, 'prices' | 'currency' | 'publicUrl' | 'provider'>;

export async function openBilling({ billing, api }: Config, parts: Parts): Promise<Billing> {
  const { provider, prices, currency, stripe } = billing;
  return new Billing({
    ...parts,
    prices,
    currency,
    publicUrl: api.publicUrl,
    provider: provider === 'stripe' ? await openStripe(stripe, parts.log) : undefined,
  });
}
