/** Billing on the wire: what may be asked for, and what is answered. Amounts are in major units. */
import { z } from 'zod';
import type { BillingStatus } from '../../billing/billing.ts';
import type { Catalogue } from '../../billing/catalogue.ts';
import {
  billingIntervals,
  billingProviders,
  type CheckoutRecord,
  checkoutStates,
  paidPlans,
  subscriptionStates,
} from '../../model/billing.ts';
import { isoTime } from '../../model/day.ts';
import { plans } from '../../model/workspace.ts';
import { plainText, time } from '../fields.ts';

const reasonLengthMax = 500;

const paidPlan = z.enum(paidPlans).meta({ example: 'pro' });
const interval = z.enum(billingIntervals).meta({ example: 'month' });
const amount = z.number().min(0).meta({ description: 'In major units', example: 29 });
const currency = z.string().meta({ description: 'ISO 4217', example: 'EUR' });
const address = z.string().meta({ override: { type: 'string', format: 'uri' } });

export const checkoutBody = z
  .strictObject({ plan: paidPlan, interval })
  .meta({ id: 'CheckoutCreate' });

export const changeBody = z
  .strictObject({ plan: paidPlan.optional(), interval: interval.optional() })
  .refine((body) => body.plan !== undefined || body.interval !== undefined, {
    message: 'Expected a plan, an interval, or both',
  })
  .meta({ id: 'SubscriptionChange' });

export const cancelBody = z
  .strictObject({
    reason: plainText(reasonLengthMax).optional().meta({
      description: 'Why; goes into `subscription.canceled`',
      example: 'The campaign is over',
    }),
  })
  .optional();

/** A POST that says everything by its address; `{}` is as good as nothing. */
export const emptyBody = z.strictObject({}).optional();

/** Only what tells an event from anything else: the signature says that the rest is Stripe's. */
export const stripeEventBody = z
  .looseObject({ id: z.string(), type: z.string() })
  .meta({ description: 'An event as Stripe sends it' });

export const planList = z
  .object({
    data: z.array(
      z.object({
        plan: z.enum(plans),
        limits: z.object({
          perMinute: z.int(),
          perDay: z.int().nullable().meta({ description: 'null = no daily cap' }),
        }),
        prices: z
          .array(z.object({ interval, amount, currency }))
          .meta({ description: 'Empty for what is not sold here' }),
      }),
    ),
  })
  .meta({ id: 'Plans' });

export const subscription = z
  .object({
    plan: z.enum(plans).meta({ description: 'The workspace’s plan now', example: 'pro' }),
    status: z.enum(subscriptionStates).meta({ example: 'active' }),
    interval: interval.optional(),
    amount: amount.optional(),
    currency: currency.optional(),
    provider: z.enum(billingProviders).optional(),
    currentPeriodStart: time.optional(),
    currentPeriodEnd: time.optional(),
    effectiveAt: time.optional().meta({ description: 'When a canceled plan becomes Free' }),
    reason: z.string().optional().meta({ description: 'Why it was canceled', example: 'Moving' }),
  })
  .meta({ id: 'Subscription' });

export const canceled = z.object({
  status: z.enum(subscriptionStates).meta({ example: 'canceling' }),
  effectiveAt: time,
});

export const checkout = z
  .object({
    id: z.string().meta({ example: 'chk_01k3zq8m4hd2v7c5x9ab' }),
    url: address.meta({
      description: 'Where it is paid, or shown',
      example: 'https://example.com',
    }),
    status: z.enum(checkoutStates).meta({ example: 'open' }),
    plan: paidPlan,
    interval,
    amount,
    currency,
    createdAt: time,
    expiresAt: time,
  })
  .meta({ id: 'Checkout' });

export const portal = z.object({
  url: address.meta({ example: 'https://billing.stripe.com/p/session/test' }),
});
export const received = z.object({ received: z.literal(true) });

export function viewPlans(catalogue: Catalogue): z.input<typeof planList> {
  const data = catalogue.offers().map(({ plan, limits, prices }) => ({
    plan,
    limits: { perMinute: limits.perMinute, perDay: limits.perDay ?? null },
    prices: prices.map((price) => ({ ...price, currency: catalogue.currency })),
  }));
  return { data };
}

export function viewSubscription(standing: BillingStatus): z.input<typeof subscription> {
  const { workspace, subscription: record } = standing;
  if (record === undefined || record.state === 'none') {
    return { plan: workspace.plan, status: 'none' };
  }
  const { effectiveAtMs, reason } = record;
  return {
    plan: workspace.plan,
    status: record.state,
    interval: record.interval,
    amount: record.price.amount,
    currency: record.price.currency,
    provider: record.provider,
    currentPeriodStart: isoTime(record.periodStartMs),
    currentPeriodEnd: isoTime(record.periodEndMs),
    ...(effectiveAtMs === undefined ? {} : { effectiveAt: isoTime(effectiveAtMs) }),
    ...(reason === undefined ? {} : { reason }),
  };
}

export function viewCheckout(record: CheckoutRecord): z.input<typeof checkout> {
  const { id, url, state, plan, interval: every, price, createdAtMs, expiresAtMs } = record;
  return {
    id,
    url,
    status: state,
    plan,
    interval: every,
    amount: price.amount,
    currency: price.currency,
    createdAt: isoTime(createdAtMs),
    expiresAt: isoTime(expiresAtMs),
  };
}
