/**
 * /webhooks/…/deliveries: what was sent to an endpoint, every attempt of it, and the same once more.
 */
import { deliveryPageResult, shown } from './delivery-page.ts';
import { emptyBody, noBody, noQuery } from '../fields.ts';
import { createRoute, jsonResult, type Route } from '../route.ts';
import type { Webhooks } from '../services.ts';
import { pageSchema } from '../resource.ts';
import {
  acceptedDelivery,
  deliveriesQuery,
  delivery,
  viewDelivery,
  viewWholeDelivery,
  wholeDelivery,
} from './webhook-schemas.ts';

const tag = 'Webhooks';

export function deliveryRoutes(webhooks: Webhooks): Route[] {
  return [listMany(webhooks), getOne(webhooks), sendAgain(webhooks)];
}

function listMany(webhooks: Webhooks): Route {
  const { endpoints, deliveries } = webhooks;
  return createRoute({
    method: 'GET',
    path: '/webhooks/:id/deliveries',
    operationId: 'listDeliveries',
    tag,
    summary: 'List an endpoint’s deliveries',
    description: 'Newest first: all that wait or are dead, and the latest that were delivered.',
    query: deliveriesQuery,
    body: noBody,
    answer: { status: 200, schema: pageSchema('DeliveryPage', delivery), what: 'A page' },
    failures: ['not_found'],
    handle: ({ actor, params, query: { state, ...query } }) => {
      const { no } = endpoints.get(actor.workspaceNo, params.id ?? '');
      return deliveryPageResult(
        query,
        deliveries.count(no, state),
        (place) => deliveries.list(no, { ...place, state }),
        (found) => viewDelivery(shown(webhooks, found)),
      );
    },
  });
}

function getOne(webhooks: Webhooks): Route {
  return createRoute({
    method: 'GET',
    path: '/webhooks/deliveries/:id',
    operationId: 'getDelivery',
    tag,
    summary: 'Get a delivery',
    description: 'With every attempt and the exact body. The id is that of `X-Service-Delivery`.',
    query: noQuery,
    body: noBody,
    answer: { status: 200, schema: wholeDelivery, what: 'The delivery' },
    failures: ['not_found'],
    handle: ({ actor, params }) => {
      const found = webhooks.deliveries.get(actor.workspaceNo, params.id ?? '');
      return jsonResult(200, viewWholeDelivery(shown(webhooks, found)));
    },
  });
}

function sendAgain({ deliveries }: Webhooks): Route {
  return createRoute({
    method: 'POST',
    path: '/webhooks/deliveries/:id/redeliver',
    operationId: 'redeliver',
    tag,
    summary: 'Send a delivery again',
    description:
      'Makes another delivery of the same events and bytes, with retries of its own, whatever became of ' +
      'this one. Receivers know the events by their ids.',
    query: noQuery,
    body: emptyBody,
    answer: { status: 202, schema: acceptedDelivery, what: 'The new delivery; Location names it' },
    failures: ['not_found', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, params }) => {
      const { id, state } = await deliveries.redeliver(actor.workspaceNo, params.id ?? '');
      return jsonResult(202, { id, state }, { Location: `/v1/webhooks/deliveries/${id}` });
    },
  });
}
