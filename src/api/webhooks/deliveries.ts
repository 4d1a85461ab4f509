/**
 * /webhooks/…/deliveries: what was sent to an endpoint, with every attempt, and the same once more.
 *
 * Lists of deliveries may be long and are read from their newest end. A cursor continues where a page ended, at
 * constant cost; a page by its number reads everything above it, so page numbers are bounded.
 */
import { z } from 'zod';
import { eventKinds } from '../../model/event.ts';
import { invalid } from '../../model/failure.ts';
import { idTimeMs } from '../../model/ids.ts';
import type { AttemptRecord, FailureClass } from '../../model/webhook.ts';
import type { DeliveryPage } from '../../webhooks/deliveries/dead-letters.ts';
import type { Delivery } from '../../webhooks/deliveries/delivery.ts';
import type { ListPositions, Positions } from '../kernel/positions.ts';
import { count, createdAt, emptyBody, idField, pageQuery, time } from '../kernel/fields.ts';
import { getRoute, pageSchema } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import { view } from '../kernel/view.ts';
import type { Webhooks } from '../services.ts';

const tag = 'Webhooks';

export const kind = z
  .enum(eventKinds)
  .meta({ id: 'EventKind', description: 'Kind of the event', example: 'qr.scanned' });
export const endpointId = idField('whk', 'Id of the endpoint');
export const deliveryId = idField('dlv', 'Id of the delivery');
const eventId = idField('evt', 'Id of the event');

const failureClasses = [
  'status',
  'timeout',
  'connect',
  'tls',
  'reset',
  'blocked_ip',
  'redirect',
  'protocol',
  'unknown',
] as const satisfies readonly FailureClass[];

export const attempt = z
  .object({
    at: time.meta({ description: 'Start of the attempt' }),
    durationMs: z.number().min(0).meta({ description: 'Duration in milliseconds', example: 38 }),
    remoteIp: z.string().nullable().meta({
      description: 'Address of the receiver; null if not reached',
      example: '198.18.7.20',
    }),
    status: z
      .int()
      .nullable()
      .meta({ description: 'HTTP status of the receiver; null without an answer', example: 204 }),
    failure: z.enum(failureClasses).nullable().meta({
      description:
        'Why the attempt failed; `null` after a success. `blocked_ip`: the address is not allowed, or the name has none',
      example: null,
    }),
    answer: z.string().nullable().meta({ description: 'First 4 KB of the answer', example: 'ok' }),
  })
  .meta({ id: 'WebhookAttempt', description: 'One attempt and its answer' });

const deliveryStates = ['pending', 'delivered', 'dead', 'canceled'] as const;

const deliveryState = z
  .enum(deliveryStates)
  .meta({ description: 'Its state', example: 'delivered' });

export const deliveryFields = {
  id: deliveryId,
  endpointId: endpointId.nullable().meta({ description: '`null` if the endpoint is deleted' }),
  event: kind,
  eventIds: z.array(eventId).meta({ description: 'Several if scans are sent as a list' }),
  state: deliveryState,
  attemptCount: count.meta({ description: 'Attempts so far', example: 1 }),
  lastAttempt: attempt.nullable().meta({ description: 'Null before the first one' }),
  nextAttemptAt: time
    .nullable()
    .meta({ description: 'Time of the next attempt, or null', example: null }),
  createdAt,
};
const delivery = z.object(deliveryFields).meta({ id: 'Delivery' });
const wholeDelivery = z
  .object({
    ...deliveryFields,
    attempts: z.array(attempt).meta({ description: 'Oldest first' }),
    body: z.string().meta({
      description: 'The exact sent and signed text',
      example: '{"id":"evt_01k3zq8m4hd2v7c5x9ab","event":"qr.deleted","data":{}}',
    }),
  })
  .meta({ id: 'WholeDelivery' });
export const acceptedDelivery = z
  .object({ id: deliveryId, state: deliveryState.meta({ example: 'pending' }) })
  .meta({ id: 'AcceptedDelivery' });
const deliveriesQuery = z.object({
  state: z.enum(deliveryStates).optional().meta({ description: 'Only deliveries in this state' }),
  ...pageQuery,
});
/**
 * Shows a name without an address like a name with a denied address, so that a workspace cannot find out which names exist
 * in the operator's network. The metrics distinguish them.
 */
const shownFailure = (failure: FailureClass | undefined) =>
  failure === 'dns' ? 'blocked_ip' : failure;

export const viewAttempt = (record: AttemptRecord) =>
  view(attempt, { ...record, failure: shownFailure(record.failure) });

export function viewDelivery({ endpoints, deliveries }: Webhooks, one: Delivery) {
  const last = one.attempts.at(-1);
  return view(delivery, {
    ...one,
    endpointId: endpoints.byNo(one.endpointNo)?.id,
    event: one.kind,
    attemptCount: one.attemptsMade,
    lastAttempt: last && viewAttempt(last),
    nextAttemptAtMs: deliveries.nextAttemptAtMs(one),
    createdAtMs: idTimeMs(one.id),
  });
}

function viewWholeDelivery(webhooks: Webhooks, one: Delivery) {
  return {
    ...viewDelivery(webhooks, one),
    attempts: one.attempts.map(viewAttempt),
    body: one.body,
  };
}

/** Most deliveries before a numbered page: about 10 ms of reading. */
const skippedMax = 1_000;

interface Query {
  readonly page: number;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * @param read the page of `limit` that begins after `before`
 * @throws Failure validation_failed for a cursor of another list, or a page number that is too deep
 */
export function deliveryPage(
  positions: ListPositions,
  { page, limit, cursor }: Query,
  total: number,
  read: (place: { before?: string; limit: number }) => DeliveryPage,
  view: (delivery: Delivery) => unknown,
): unknown {
  const before = positions.read(cursor);
  const place = before === undefined ? placeOf(page, limit, total, read) : { before };
  const found: DeliveryPage = place === undefined ? { data: [] } : read({ ...place, limit });
  return {
    data: found.data.map(view),
    page,
    total,
    limit,
    nextCursor: positions.write(found.before),
  };
}

/** The start of a numbered page; undefined = past the end. */
function placeOf(
  page: number,
  limit: number,
  total: number,
  read: (place: { limit: number }) => DeliveryPage,
): { before?: string } | undefined {
  const skipped = (page - 1) * limit;
  if (skipped === 0) return {};
  if (skipped >= total) return undefined;
  if (skipped > skippedMax) {
    const message = `Expected a page within the newest ${skippedMax}; walk further by nextCursor`;
    throw invalid('page', 'too_deep', message);
  }
  const { before } = read({ limit: skipped });
  return before === undefined ? undefined : { before };
}

export function deliveryRoutes(webhooks: Webhooks, positions: Positions): Route[] {
  const { endpoints, deliveries } = webhooks;
  const listDeliveries = getRoute({
    path: '/webhooks/:id/deliveries',
    operationId: 'listDeliveries',
    access: 'admin',
    tag,
    summary: 'List an endpoint’s deliveries',
    description:
      'Newest first: all waiting, dead or canceled ones, and the latest delivered ones. While many wait, ' +
      '`total` is an estimate.',
    query: deliveriesQuery,
    schema: pageSchema('DeliveryPage', delivery),
    what: 'A page',
    read: ({ actor: { workspaceNo }, id, query: { state, ...query } }) => {
      const { no } = endpoints.get(workspaceNo, id);
      return deliveryPage(
        positions.of(workspaceNo, 'deliveries'),
        query,
        deliveries.count(no, state),
        (place) => deliveries.list(no, { ...place, state }),
        (one) => viewDelivery(webhooks, one),
      );
    },
  });
  const getDelivery = getRoute({
    path: '/webhooks/deliveries/:id',
    operationId: 'getDelivery',
    access: 'admin',
    tag,
    summary: 'Get a delivery',
    description: 'With every attempt and the exact body. The id is that of `X-Service-Delivery`.',
    schema: wholeDelivery,
    what: 'The delivery',
    read: ({ actor, id }) => viewWholeDelivery(webhooks, deliveries.get(actor.workspaceNo, id)),
  });
  const redeliver = createRoute({
    method: 'POST',
    path: '/webhooks/deliveries/:id/redeliver',
    operationId: 'redeliver',
    access: 'admin',
    tag,
    summary: 'Send a delivery again',
    description:
      'Makes another delivery of the same events and bytes, with its own retries, whatever the state of ' +
      'this one. Receivers recognize the events by their ids.',
    body: emptyBody,
    answer: {
      status: 202,
      schema: acceptedDelivery,
      what: 'The new delivery; Location names it',
      headers: ['Location'],
    },
    failures: ['not_found', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, id: deliveredId }) => {
      const { id, state } = await deliveries.redeliver(actor.workspaceNo, deliveredId);
      return jsonResult(202, { id, state }, { Location: `/v1/webhooks/deliveries/${id}` });
    },
  });
  return [listDeliveries, getDelivery, redeliver];
}
