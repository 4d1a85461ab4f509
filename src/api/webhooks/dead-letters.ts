/**
 * /webhooks/dead-letters: deliveries that nobody took, for 7 days, and another round of attempts for them.
 */
import { isoTime } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import type { Delivery } from '../../webhooks/deliveries/delivery-transaction.ts';
import { deliveryPageResult, shown } from './delivery-page.ts';
import { emptyBody, noBody, noQuery } from '../fields.ts';
import { createRoute, jsonResult, type Route } from '../route.ts';
import type { Webhooks } from '../services.ts';
import { pageSchema } from '../resource.ts';
import {
  acceptedDelivery,
  deadLetter,
  deadLettersQuery,
  replayBody,
  replayed,
  viewDelivery,
} from './webhook-schemas.ts';

const tag = 'Webhooks';
/** No endpoint has it: what a filter by an unknown id finds. */
const noEndpoint = 0;

export function deadLetterRoutes(webhooks: Webhooks): Route[] {
  return [listMany(webhooks), replayOne(webhooks), replayMany(webhooks)];
}

function listMany(webhooks: Webhooks): Route {
  const { endpoints, deliveries } = webhooks;
  return createRoute({
    method: 'GET',
    path: '/webhooks/dead-letters',
    operationId: 'listDeadLetters',
    tag,
    summary: 'List dead letters',
    description:
      'Deliveries whose last attempt failed, or whose endpoint was disabled, newest first; `from` and `to` ' +
      'look at when that was. They are removed after 7 days.',
    query: deadLettersQuery,
    body: noBody,
    answer: { status: 200, schema: pageSchema('DeadLetterPage', deadLetter), what: 'A page' },
    failures: [],
    handle: ({ actor: { workspaceNo }, query: { endpointId, from, to, ...query } }) => {
      checkRange(from, to);
      const endpointNo =
        endpointId === undefined
          ? undefined
          : (endpoints.list(workspaceNo).find(({ id }) => id === endpointId)?.no ?? noEndpoint);
      const filter = { endpointNo, fromMs: from, beforeMs: to };
      return deliveryPageResult(
        query,
        deliveries.deadLetterCount(workspaceNo, filter),
        (place) => deliveries.deadLetters(workspaceNo, { ...filter, ...place }),
        (found) => viewDeadLetter(webhooks, found),
      );
    },
  });
}

function replayOne({ deliveries }: Webhooks): Route {
  return createRoute({
    method: 'POST',
    path: '/webhooks/dead-letters/:id/replay',
    operationId: 'replayDeadLetter',
    tag,
    summary: 'Replay a dead letter',
    description:
      'The same delivery goes out again, with the same event ids and bytes and all its retries.',
    query: noQuery,
    body: emptyBody,
    answer: { status: 202, schema: acceptedDelivery, what: 'It waits to be sent' },
    failures: ['not_found', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, params }) => {
      const { id, state } = await deliveries.replay(actor.workspaceNo, params.id ?? '');
      return jsonResult(202, { id, state });
    },
  });
}

function replayMany({ endpoints, deliveries }: Webhooks): Route {
  return createRoute({
    method: 'POST',
    path: '/webhooks/dead-letters/replay',
    operationId: 'replayDeadLetters',
    tag,
    summary: 'Replay dead letters of a time',
    description: 'All of them, of one endpoint or of every one that is enabled.',
    query: noQuery,
    body: replayBody,
    answer: { status: 202, schema: replayed, what: 'How many wait to be sent again' },
    failures: ['not_found', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor: { workspaceNo }, body: { from, to, endpointId } }) => {
      checkRange(from, to);
      const endpoint =
        endpointId === undefined ? undefined : endpoints.get(workspaceNo, endpointId);
      const range = { endpointNo: endpoint?.no, fromMs: from, beforeMs: to };
      return jsonResult(202, { replayed: await deliveries.replayRange(workspaceNo, range) });
    },
  });
}

function viewDeadLetter(webhooks: Webhooks, delivery: Delivery) {
  const expiresAtMs = webhooks.deliveries.expiresAtMs(delivery) ?? delivery.deadAtMs;
  return {
    ...viewDelivery(shown(webhooks, delivery)),
    deadAt: isoTime(delivery.deadAtMs),
    deadReason: delivery.deadReason,
    expiresAt: isoTime(expiresAtMs),
  };
}

/** @param beforeMs the first millisecond after the range @throws Failure validation_failed */
function checkRange(fromMs: number | undefined, beforeMs: number | undefined): void {
  if (fromMs === undefined || beforeMs === undefined || fromMs < beforeMs) return;
  throw new Failure('validation_failed', 'The range runs backwards', {
    faults: [{ path: 'from', code: 'after_to', message: 'Expected `from` not after `to`' }],
  });
}
