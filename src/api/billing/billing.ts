/**
 * /billing: what plans cost, the workspace's subscription, its checkouts. The rules are in product/billing/.
 * Amounts are in major units. Nothing here touches a redirect.
 */
import { z } from 'zod';
import type { Billing, BillingStatus } from '../../product/billing/billing.ts';
import {
  billingIntervals,
  billingProviders,
  type CheckoutRecord,
  checkoutStates,
  confirmers,
  paidPlans,
  subscriptionStates,
} from '../../model/billing.ts';
import { isoTime } from '../../model/day.ts';
import { type Actor, plans, roleAtLeast } from '../../model/workspace.ts';
import { createdAt, emptyBody, idField, plainText, time } from '../kernel/fields.ts';
import { created, getRoute, postRoute } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import { view } from '../kernel/view.ts';
import { stripeRoutes } from './stripe.ts';

const reasonLengthMax = 500;

const paidPlan = z.enum(paidPlans).meta({ description: 'A paid plan', example: 'pro' });
const interval = z
  .enum(billingIntervals)
  .meta({ description: 'Billing interval', example: 'month' });
const status = z
  .enum(subscriptionStates)
  .meta({ description: 'State of the subscription', example: 'active' });
const amount = z.number().min(0).meta({ description: 'In major units', example: 29 });
const currency = z.string().meta({ description: 'ISO 4217', example: 'EUR' });
const address = z.string().meta({ override: { type: 'string', format: 'uri' } });

const confirmedBy = z.enum(confirmers).meta({
  description:
    'The step that completes it: an `owner` confirms, the `operator` confirms (`quietzone billing confirm`), or ' +
    'a `payment`',
  example: 'owner',
});

const checkoutBody = z.strictObject({ plan: paidPlan, interval }).meta({ id: 'CheckoutCreate' });

const changeBody = z
  .strictObject({ plan: paidPlan.optional(), interval: interval.optional() })
  .refine((body) => body.plan !== undefined || body.interval !== undefined, {
    message: 'Expected a plan, an interval, or both',
  })
  .meta({ id: 'SubscriptionChange', example: { plan: 'business' } });

const cancelBody = z
  .strictObject({
    reason: plainText(reasonLengthMax).optional().meta({
      description: 'Reason, reported in `subscription.canceled`',
      example: 'The campaign is over',
    }),
  })
  .optional();

const planList = z
  .object({
    data: z
      .array(
        z.object({
          plan: z.enum(plans).meta({ description: 'Its name', example: 'pro' }),
          limits: z
            .object({
              perMinute: z.int().min(0).meta({ description: 'Requests a minute', example: 120 }),
              perDay: z
                .int()
                .min(0)
                .nullable()
                .meta({ description: 'Requests a day; null = no daily cap', example: 50_000 }),
            })
            .meta({ description: 'Limits of the plan' }),
          prices: z
            .array(z.object({ interval, amount, currency }))
            .meta({ description: 'Empty if not sold here' }),
        }),
      )
      .meta({ description: 'Every plan, the smallest first' }),
    provider: z.enum([...billingProviders, 'none']).meta({
      description: '`none`: this installation does not sell plans, the operator sets them',
      example: 'manual',
    }),
    confirmedBy: confirmedBy.nullable().meta({
      description: 'Who completes a checkout here; null if plans are not sold',
      example: 'owner',
    }),
  })
  .meta({ id: 'Plans' });

const checkout = z
  .object({
    id: idField('chk', 'Id of the checkout'),
    url: address.meta({
      description: 'Address to pay or view it',
      example: 'https://billing.example.com/pay/4711',
    }),
    status: z.enum(checkoutStates).meta({ description: 'Its state', example: 'open' }),
    plan: paidPlan,
    interval,
    amount,
    currency,
    confirmedBy,
    createdAt,
    expiresAt: time.meta({ description: 'Time until which it can be paid or confirmed' }),
  })
  .meta({ id: 'Checkout' });

const subscription = z
  .object({
    plan: z.enum(plans).meta({ description: 'The workspace’s plan now', example: 'pro' }),
    status,
    interval: interval.optional(),
    amount: amount.optional(),
    currency: currency.optional(),
    provider: z
      .enum(billingProviders)
      .optional()
      .meta({ description: 'Who takes the payment', example: 'manual' }),
    currentPeriodStart: time.optional().meta({ description: 'Start of the paid period' }),
    currentPeriodEnd: time.optional().meta({ description: 'End of the paid period' }),
    effectiveAt: time
      .optional()
      .meta({ description: 'Time at which a canceled plan becomes Free' }),
    reason: z
      .string()
      .optional()
      .meta({ description: 'Reason for the cancellation', example: 'Moving' }),
    openCheckout: checkout.optional().meta({
      description: 'For owners: the checkout to confirm or pay',
    }),
  })
  .meta({ id: 'Subscription' });

const canceled = z.object({
  status: status.meta({ example: 'canceling' }),
  effectiveAt: time.meta({ description: 'Time at which the plan becomes Free' }),
});

function viewPlans({ catalogue, confirmedBy: confirmer }: Billing): z.input<typeof planList> {
  const data = catalogue.offers().map(({ plan, limits, prices }) => ({
    plan,
    limits: { perMinute: limits.perMinute, perDay: limits.perDay ?? null },
    prices: prices.map((price) => ({ ...price, currency: catalogue.currency })),
  }));
  const byHand = confirmer === undefined ? 'none' : 'manual';
  const provider = confirmer === 'payment' ? 'stripe' : byHand;
  return { data, provider, confirmedBy: confirmer ?? null };
}

function viewSubscription(
  billing: Billing,
  { role }: Actor,
  { workspace, subscription: record, openCheckout: open }: BillingStatus,
): z.input<typeof subscription> {
  const { plan } = workspace;
  const isShown = open !== undefined && roleAtLeast(role, 'owner');
  const waiting = isShown ? { openCheckout: viewCheckout(billing, open) } : {};
  if (record === undefined || record.state === 'none') return { plan, status: 'none', ...waiting };
  return view(subscription, {
    ...record,
    ...record.price,
    plan,
    status: record.state,
    currentPeriodStartMs: record.periodStartMs,
    currentPeriodEndMs: record.periodEndMs,
    ...waiting,
  });
}

function viewCheckout(billing: Billing, record: CheckoutRecord): z.input<typeof checkout> {
  const byHand = billing.confirmedBy === 'owner' ? 'owner' : 'operator';
  return view(checkout, {
    ...record,
    ...record.price,
    status: record.state,
    confirmedBy: record.provider === 'stripe' ? 'payment' : byHand,
  });
}

const tag = 'Billing';

export function billingRoutes(billing: Billing): Route[] {
  const listPlans = getRoute({
    path: '/billing/plans',
    operationId: 'listPlans',
    access: 'viewer',
    tag,
    summary: 'List plans and prices',
    description: 'Every plan with its limits, the smallest first, and how to buy one.',
    schema: planList,
    what: 'The plans',
    read: () => viewPlans(billing),
  });
  const getSubscription = getRoute({
    path: '/billing/subscription',
    operationId: 'getSubscription',
    access: 'viewer',
    tag,
    summary: 'Get the subscription',
    description:
      '`none` without a paid plan, `past_due` while a payment is late, `canceling` until the ' +
      'canceled plan becomes Free at `effectiveAt`. Redirects continue in every state.',
    schema: subscription,
    what: 'The plan and its subscription',
    read: ({ actor }) => viewSubscription(billing, actor, billing.status(actor.workspaceNo)),
  });
  const getCheckout = getRoute({
    path: '/billing/checkout/:id',
    operationId: 'getCheckout',
    access: 'owner',
    tag,
    summary: 'Get a checkout',
    description: '`complete` once its plan has started; kept for 30 days.',
    schema: checkout,
    what: 'The checkout',
    read: ({ actor, id }) => viewCheckout(billing, billing.checkout(actor.workspaceNo, id)),
  });
  return [
    listPlans,
    getSubscription,
    openCheckout(billing),
    getCheckout,
    confirmCheckout(billing),
    changeSubscription(billing),
    cancelSubscription(billing),
    resumeSubscription(billing),
    ...stripeRoutes(billing),
  ];
}

function openCheckout(billing: Billing): Route {
  return postRoute({
    path: '/billing/checkout',
    operationId: 'openCheckout',
    access: 'owner',
    isSlow: true,
    tag,
    summary: 'Start a checkout',
    description:
      'For a workspace without a subscription; if the operator confirms, also for a change that raises limits or ' +
      'price. Open `url` to pay, or, with the `manual` provider, to view it; it lasts 24 hours, 30 days for the ' +
      'operator, and replaces an open checkout. The plan starts with the payment ' +
      'or confirmation, which emits `subscription.created`, or `subscription.updated` for a change.',
    body: checkoutBody,
    answer: { status: 201, schema: checkout, what: 'The checkout; Location names it' },
    failures: ['conflict', 'billing_disabled'],
    make: async ({ actor, body }, kept) => await billing.openCheckout(actor, body, kept),
    result: (record: CheckoutRecord) => created('/billing/checkout', viewCheckout(billing, record)),
  });
}

function confirmCheckout(billing: Billing): Route {
  return postRoute({
    path: '/billing/checkout/:id/confirm',
    operationId: 'confirmCheckout',
    access: 'owner',
    tag,
    summary: 'Confirm a checkout',
    description:
      'With the `manual` provider: confirms that you have settled the payment. The plan starts at once. Emits ' +
      '`subscription.created`. If `confirmedBy` is `operator`, the answer is 403.',
    body: emptyBody,
    answer: { status: 200, schema: checkout, what: 'The complete checkout' },
    failures: ['not_found', 'conflict', 'billing_disabled'],
    make: async ({ actor, id }, kept) => await billing.confirm(actor.workspaceNo, id, kept),
    result: (record: CheckoutRecord) => jsonResult(200, viewCheckout(billing, record)),
  });
}

function changeSubscription(billing: Billing): Route {
  return createRoute({
    method: 'PATCH',
    path: '/billing/subscription',
    operationId: 'changeSubscription',
    access: 'owner',
    isSlow: true,
    tag,
    summary: 'Change plan or interval',
    description:
      'Takes effect at once, limits included; another interval begins a new period. Emits ' +
      '`subscription.updated` after a change. If the operator confirms, higher limits or a ' +
      'higher price need a checkout.',
    body: changeBody,
    answer: { status: 200, schema: subscription, what: 'The subscription after the change' },
    failures: ['conflict', 'checkout_required', 'billing_disabled', 'storage_full'],
    handle: async ({ actor, body }) =>
      jsonResult(
        200,
        viewSubscription(billing, actor, await billing.change(actor.workspaceNo, body)),
      ),
  });
}

function cancelSubscription(billing: Billing): Route {
  return createRoute({
    method: 'DELETE',
    path: '/billing/subscription',
    operationId: 'cancelSubscription',
    access: 'owner',
    isSlow: true,
    tag,
    summary: 'Cancel the subscription',
    description:
      'The plan stays until the end of the paid period, then becomes Free. Emits `subscription.canceled` at ' +
      'once. You can resume it until then.',
    body: cancelBody,
    answer: { status: 200, schema: canceled, what: 'The canceled subscription' },
    failures: ['conflict', 'billing_disabled', 'storage_full'],
    handle: async ({ actor, body }) => {
      const { subscription: record } = await billing.cancel(actor.workspaceNo, body?.reason);
      const effectiveAtMs = record?.effectiveAtMs ?? record?.periodEndMs ?? 0;
      return jsonResult(200, { status: record?.state, effectiveAt: isoTime(effectiveAtMs) });
    },
  });
}

function resumeSubscription(billing: Billing): Route {
  return postRoute({
    path: '/billing/subscription/resume',
    operationId: 'resumeSubscription',
    access: 'owner',
    isSlow: true,
    tag,
    summary: 'Resume the subscription',
    description: 'Only before `effectiveAt`; later, start a new checkout.',
    body: emptyBody,
    answer: { status: 200, schema: subscription, what: 'The subscription, active again' },
    failures: ['conflict', 'billing_disabled'],
    make: async ({ actor }, kept) => await billing.resume(actor.workspaceNo, kept),
    result: (status: BillingStatus, actor: Actor) =>
      jsonResult(200, viewSubscription(billing, actor, status)),
  });
}
