/** What only Stripe has: a portal for its customers, and events that it sends. */
import { z } from 'zod';
import type { Billing } from '../../product/billing/billing.ts';
import { emptyBody } from '../kernel/fields.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';

const tag = 'Billing';

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

const portal = z.object({
  url: z.string().meta({
    override: { type: 'string', format: 'uri' },
    description: 'Address to open within a few minutes',
    example: 'https://billing.stripe.com/p/session/test',
  }),
});
const received = z.object({
  received: z.literal(true).meta({ description: 'The result is stored' }),
});

export function stripeRoutes(billing: Billing): Route[] {
  return [openPortal(billing), receiveStripeEvent(billing)];
}

function openPortal(billing: Billing): Route {
  return createRoute({
    method: 'POST',
    path: '/billing/portal',
    operationId: 'openPortal',
    access: 'owner',
    isSlow: true,
    tag,
    summary: 'Open the customer portal',
    description: 'With Stripe: a link to invoices and payment methods, valid for a few minutes.',
    body: emptyBody,
    answer: { status: 201, schema: portal, what: 'The link; Location is the same' },
    failures: ['conflict', 'billing_disabled', 'idempotency_conflict'],
    handle: async ({ actor }) => {
      const url = await billing.portalUrl(actor.workspaceNo);
      return jsonResult(201, { url }, { Location: url });
    },
  });
}

/** Has no actor and parses no JSON: the signature is over the bytes, which product/billing/ checks and reads. */
function receiveStripeEvent(billing: Billing): Route {
  return {
    method: 'POST',
    path: '/billing/stripe/webhook',
    operationId: 'receiveStripeEvent',
    access: 'signed',
    isSlow: true,
    tag,
    summary: 'Receive an event of Stripe',
    description:
      'Only for Stripe: no key, but a `Stripe-Signature` over the body. Answers 200 when the result is stored; a ' +
      'repeated event has no effect. Subscribe the endpoint to ' +
      '`checkout.session.completed`, `customer.subscription.updated`, ' +
      '`customer.subscription.deleted` and `invoice.payment_failed`.',
    body: stripeEventBody,
    answer: { status: 200, schema: received, what: 'The event is processed or ignored' },
    failures: ['invalid_signature', 'not_found', 'storage_full'],
    run: async (call) => {
      await billing.receive(await call.body(), call.header('stripe-signature'));
      return jsonResult(200, { received: true });
    },
  };
}
