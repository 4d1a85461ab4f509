/**
 * /billing: what plans cost, the workspace's subscription, its checkouts. The rules are in billing/.
 * Amounts are in major units. Nothing here touches a redirect.
 */
import { z } from 'zod';
import type { Billing, BillingStatus } from '../../billing/billing.ts';
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
import { createdAt, emptyBody, idField, plainText, time } from '../fields.ts';
import { created, getRoute, keptResult } from '../resource.ts';
import { createRoute, jsonResult, type Route } from '../route.ts';

const reasonLengthMax = 500;

const paidPlan = z.enum(paidPlans).meta({ description: 'A plan that is paid for', example: 'pro' });
const interval = z
  .enum(billingIntervals)
  .meta({ description: 'How often it is paid', example: 'month' });
const status = z
  .enum(subscriptionStates)
  .meta({ description: 'Where the subscription stands', example: 'active' });
const amount = z.number().min(0).meta({ description: 'In major units', example: 29 });
const currency = z.string().meta({ description: 'ISO 4217', example: 'EUR' });
const address = z.string().meta({ override: { type: 'string', format: 'uri' } });

const checkoutBody = z.strictObject({ plan: paidPlan, interval }).meta({ id: 'CheckoutCreate' });

const changeBody = z
  .strictObject({ plan: paidPlan.optional(), interval: interval.optional() })
  .refine((body) => body.plan !== undefined || body.interval !== undefined, {
    message: 'Expected a plan, an interval, or both',
  })
  .meta({ id: 'SubscriptionChange' });

const cancelBody = z
  .strictObject({
    reason: plainText(reasonLengthMax).optional().meta({
      description: 'Why; goes into `subscription.canceled`',
      example: 'The campaign is over',
    }),
  })
  .optional();

/** Only the fields of every event: the signature proves that the rest is Stripe's. */
const stripeEventBody = z
  .looseObject({
    id: z
      .string()
      .meta({ description: 'Stripe’s id of the event', example: 'evt_1Q2w3E4r5T6y7U8i' }),
    type: z
      .string()
      .meta({ description: 'Kind of the event', example: 'customer.subscription.updated' }),
  })
  .meta({ description: 'An event as Stripe sends it' });

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
            .meta({ description: 'What it allows' }),
          prices: z
            .array(z.object({ interval, amount, currency }))
            .meta({ description: 'Empty for what is not sold here' }),
        }),
      )
      .meta({ description: 'Every plan, the smallest first' }),
  })
  .meta({ id: 'Plans' });

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
    currentPeriodStart: time.optional().meta({ description: 'Since when it is paid' }),
    currentPeriodEnd: time.optional().meta({ description: 'Until when it is paid' }),
    effectiveAt: time.optional().meta({ description: 'When a canceled plan becomes Free' }),
    reason: z.string().optional().meta({ description: 'Why it was canceled', example: 'Moving' }),
  })
  .meta({ id: 'Subscription' });

const canceled = z.object({
  status: status.meta({ example: 'canceling' }),
  effectiveAt: time.meta({ description: 'When the plan becomes Free' }),
});

const checkout = z
  .object({
    id: idField('chk', 'Id of the checkout'),
    url: address.meta({
      description: 'Where it is paid, or shown',
      example: 'https://billing.example.com/pay/4711',
    }),
    status: z.enum(checkoutStates).meta({ description: 'Where it stands', example: 'open' }),
    plan: paidPlan,
    interval,
    amount,
    currency,
    createdAt,
    expiresAt: time.meta({ description: 'It can be paid until then' }),
  })
  .meta({ id: 'Checkout' });

const portal = z.object({
  url: address.meta({
    description: 'Where to go, within a few minutes',
    example: 'https://billing.stripe.com/p/session/test',
  }),
});
const received = z.object({
  received: z.literal(true).meta({ description: 'What it led to is stored' }),
});

function viewPlans(catalogue: Catalogue): z.input<typeof planList> {
  const data = catalogue.offers().map(({ plan, limits, prices }) => ({
    plan,
    limits: { perMinute: limits.perMinute, perDay: limits.perDay ?? null },
    prices: prices.map((price) => ({ ...price, currency: catalogue.currency })),
  }));
  return { data };
}

function viewSubscription({
  workspace,
  subscription: record,
}: BillingStatus): z.input<typeof subscription> {
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

function viewCheckout(record: CheckoutRecord): z.input<typeof checkout> {
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

const tag = 'Billing';

export function billingRoutes(billing: Billing): Route[] {
  const listPlans = getRoute({
    path: '/billing/plans',
    operationId: 'listPlans',
    tag,
    summary: 'List plans and prices',
    description: 'Every plan with its limits, the smallest first.',
    schema: planList,
    what: 'The plans',
    read: () => viewPlans(billing.catalogue),
  });
  const getSubscription = getRoute({
    path: '/billing/subscription',
    operationId: 'getSubscription',
    tag,
    summary: 'Get the subscription',
    description:
      '`none` without a paid plan, `past_due` while a payment is late, `canceling` until the ' +
      'canceled plan becomes Free at `effectiveAt`. Redirects go on whatever it says.',
    schema: subscription,
    what: 'Where the workspace stands',
    read: ({ actor }) => viewSubscription(billing.status(actor.workspaceNo)),
  });
  const getCheckout = getRoute({
    path: '/billing/checkout/:id',
    operationId: 'getCheckout',
    tag,
    summary: 'Get a checkout',
    description: '`complete` once its plan has started; kept for 30 days.',
    schema: checkout,
    what: 'The checkout',
    read: ({ actor, id }) => viewCheckout(billing.checkout(actor.workspaceNo, id)),
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
    openPortal(billing),
    receiveStripeEvent(billing),
  ];
}

function openCheckout(billing: Billing): Route {
  return createRoute({
    method: 'POST',
    path: '/billing/checkout',
    operationId: 'openCheckout',
    tag,
    summary: 'Start a checkout',
    description:
      'For a workspace without a subscription. Open `url` to pay, or, with the `manual` provider, ' +
      'to see it; it lasts 24 hours and replaces an open one. The plan starts with the payment or ' +
      'confirmation, which emits `subscription.created`.',
    body: checkoutBody,
    answer: { status: 201, schema: checkout, what: 'The checkout; Location names it' },
    failures: ['conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, body, keep }) =>
      await keptResult(
        keep,
        (record) => created('/billing/checkout', viewCheckout(record)),
        (kept: (record: CheckoutRecord) => void) => billing.openCheckout(actor, body, kept),
      ),
  });
}

function confirmCheckout(billing: Billing): Route {
  return createRoute({
    method: 'POST',
    path: '/billing/checkout/:id/confirm',
    operationId: 'confirmCheckout',
    tag,
    summary: 'Confirm a checkout',
    description:
      'With the `manual` provider: says that the payment is settled between people. The plan starts ' +
      'at once. Emits `subscription.created`.',
    body: emptyBody,
    answer: { status: 200, schema: checkout, what: 'The complete checkout' },
    failures: ['not_found', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, id, keep }) =>
      await keptResult(
        keep,
        (record) => jsonResult(200, viewCheckout(record)),
        (kept: (record: CheckoutRecord) => void) => billing.confirm(actor.workspaceNo, id, kept),
      ),
  });
}

function changeSubscription(billing: Billing): Route {
  return createRoute({
    method: 'PATCH',
    path: '/billing/subscription',
    operationId: 'changeSubscription',
    tag,
    summary: 'Change plan or interval',
    description:
      'Takes effect at once, limits included; another interval begins a new period. Emits ' +
      '`subscription.updated` when something changed.',
    body: changeBody,
    answer: { status: 200, schema: subscription, what: 'The subscription as it is now' },
    failures: ['conflict', 'storage_full'],
    handle: async ({ actor, body }) =>
      jsonResult(200, viewSubscription(await billing.change(actor.workspaceNo, body))),
  });
}

function cancelSubscription(billing: Billing): Route {
  return createRoute({
    method: 'DELETE',
    path: '/billing/subscription',
    operationId: 'cancelSubscription',
    tag,
    summary: 'Cancel the subscription',
    description:
      'The plan stays until the end of the paid period, then becomes Free. Emits ' +
      '`subscription.canceled` at once. Can be taken back until then.',
    body: cancelBody,
    answer: { status: 200, schema: canceled, what: 'It is canceled' },
    failures: ['conflict', 'storage_full'],
    handle: async ({ actor, body }) => {
      const { subscription: record } = await billing.cancel(actor.workspaceNo, body?.reason);
      const effectiveAtMs = record?.effectiveAtMs ?? record?.periodEndMs ?? 0;
      return jsonResult(200, { status: record?.state, effectiveAt: isoTime(effectiveAtMs) });
    },
  });
}

function resumeSubscription(billing: Billing): Route {
  return createRoute({
    method: 'POST',
    path: '/billing/subscription/resume',
    operationId: 'resumeSubscription',
    tag,
    summary: 'Take a cancellation back',
    description: 'Before `effectiveAt`; afterwards a new checkout starts a new subscription.',
    body: emptyBody,
    answer: { status: 200, schema: subscription, what: 'The subscription, active again' },
    failures: ['conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, keep }) =>
      await keptResult(
        keep,
        (status) => jsonResult(200, viewSubscription(status)),
        (kept: (status: BillingStatus) => void) => billing.resume(actor.workspaceNo, kept),
      ),
  });
}

function openPortal(billing: Billing): Route {
  return createRoute({
    method: 'POST',
    path: '/billing/portal',
    operationId: 'openPortal',
    tag,
    summary: 'Open the customer portal',
    description: 'With Stripe: a link, good for a few minutes, to invoices and means of payment.',
    body: emptyBody,
    answer: { status: 201, schema: portal, what: 'The link; Location is the same' },
    failures: ['conflict', 'idempotency_conflict'],
    handle: async ({ actor }) => {
      const url = await billing.portalUrl(actor.workspaceNo);
      return jsonResult(201, { url }, { Location: url });
    },
  });
}

/** Has no actor and parses no JSON: the signature is over the bytes, which billing/ checks and reads. */
function receiveStripeEvent(billing: Billing): Route {
  return {
    method: 'POST',
    path: '/billing/stripe/webhook',
    operationId: 'receiveStripeEvent',
    tag,
    summary: 'Receive an event of Stripe',
    description:
      'For Stripe alone: no key, but a `Stripe-Signature` over the body. Answered 200 once what it ' +
      'led to is stored; sent again, it has no second effect. Subscribe the endpoint to ' +
      '`checkout.session.completed`, `customer.subscription.updated`, ' +
      '`customer.subscription.deleted` and `invoice.payment_failed`.',
    body: stripeEventBody,
    answer: { status: 200, schema: received, what: 'It had its effect, or has none' },
    failures: ['invalid_signature', 'not_found', 'storage_full'],
    run: async (call) => {
      await billing.receive(await call.body(), call.header('stripe-signature'));
      return jsonResult(200, { received: true });
    },
  };
}
