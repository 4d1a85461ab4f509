/**
 * /billing: what plans cost, the workspace's subscription, checkouts. Shapes in, records out; the rules
 * are the billing room's. Nothing here touches a redirect.
 */
import type { Billing } from '../../billing/billing.ts';
import type { CheckoutRecord } from '../../model/billing.ts';
import { isoTime } from '../../model/day.ts';
import {
  cancelBody,
  canceled,
  changeBody,
  checkout,
  checkoutBody,
  emptyBody,
  planList,
  portal,
  received,
  stripeEventBody,
  subscription,
  viewCheckout,
  viewPlans,
  viewSubscription,
} from './billing-schemas.ts';
import { noBody, noQuery } from '../fields.ts';
import { createRoute, jsonResult, type Result, type Route } from '../route.ts';

const tag = 'Billing';

export function billingRoutes(billing: Billing): Route[] {
  return [
    listPlans(billing),
    getSubscription(billing),
    openCheckout(billing),
    getCheckout(billing),
    confirmCheckout(billing),
    changeSubscription(billing),
    cancelSubscription(billing),
    resumeSubscription(billing),
    openPortal(billing),
    receiveStripeEvent(billing),
  ];
}

function listPlans(billing: Billing): Route {
  return createRoute({
    method: 'GET',
    path: '/billing/plans',
    operationId: 'listPlans',
    tag,
    summary: 'List plans and prices',
    description: 'Every plan with its limits, the smallest first.',
    query: noQuery,
    body: noBody,
    answer: { status: 200, schema: planList, what: 'The plans' },
    failures: [],
    handle: () => jsonResult(200, viewPlans(billing.catalogue)),
  });
}

function getSubscription(billing: Billing): Route {
  return createRoute({
    method: 'GET',
    path: '/billing/subscription',
    operationId: 'getSubscription',
    tag,
    summary: 'Get the subscription',
    description:
      '`none` without a paid plan, `past_due` while a payment is late, `canceling` until the ' +
      'canceled plan becomes Free at `effectiveAt`. Redirects go on whatever it says.',
    query: noQuery,
    body: noBody,
    answer: { status: 200, schema: subscription, what: 'Where the workspace stands' },
    failures: [],
    handle: ({ actor }) => jsonResult(200, viewSubscription(billing.standing(actor.workspaceNo))),
  });
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
    query: noQuery,
    body: checkoutBody,
    answer: { status: 201, schema: checkout, what: 'The checkout; Location names it' },
    failures: ['conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, body, keep }) => {
      const opened = (record: CheckoutRecord): Result =>
        jsonResult(201, viewCheckout(record), { Location: `/v1/billing/checkout/${record.id}` });
      return opened(await billing.openCheckout(actor, body, (record) => keep(opened(record))));
    },
  });
}

function getCheckout(billing: Billing): Route {
  return createRoute({
    method: 'GET',
    path: '/billing/checkout/:id',
    operationId: 'getCheckout',
    tag,
    summary: 'Get a checkout',
    description: '`complete` once its plan has started; kept for 30 days.',
    query: noQuery,
    body: noBody,
    answer: { status: 200, schema: checkout, what: 'The checkout' },
    failures: ['not_found'],
    handle: ({ actor, params }) =>
      jsonResult(200, viewCheckout(billing.checkout(actor.workspaceNo, params.id ?? ''))),
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
    query: noQuery,
    body: emptyBody,
    answer: { status: 200, schema: checkout, what: 'The complete checkout' },
    failures: ['not_found', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, params, keep }) => {
      const done = (record: CheckoutRecord): Result => jsonResult(200, viewCheckout(record));
      const kept = (record: CheckoutRecord): void => keep(done(record));
      return done(await billing.confirm(actor.workspaceNo, params.id ?? '', kept));
    },
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
    query: noQuery,
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
    query: noQuery,
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
    query: noQuery,
    body: emptyBody,
    answer: { status: 200, schema: subscription, what: 'The subscription, active again' },
    failures: ['conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, keep }) => {
      const resumed = (standing: Parameters<typeof viewSubscription>[0]): Result =>
        jsonResult(200, viewSubscription(standing));
      return resumed(
        await billing.resume(actor.workspaceNo, (standing) => keep(resumed(standing))),
      );
    },
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
    query: noQuery,
    body: emptyBody,
    answer: { status: 201, schema: portal, what: 'The link; Location is the same' },
    failures: ['conflict', 'idempotency_conflict'],
    handle: async ({ actor }) => {
      const url = await billing.portalUrl(actor.workspaceNo);
      return jsonResult(201, { url }, { Location: url });
    },
  });
}

/** Reads no actor and no JSON of its own: the bytes, as they were signed, are the billing room's. */
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
    query: noQuery,
    body: stripeEventBody,
    answer: { status: 200, schema: received, what: 'It had its effect, or has none' },
    failures: ['invalid_signature', 'not_found', 'storage_full'],
    run: async (call) => {
      await billing.receive(await call.body(), call.header('stripe-signature'));
      return jsonResult(200, { received: true });
    },
  };
}
