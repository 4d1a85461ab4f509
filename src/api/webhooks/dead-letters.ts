/** /webhooks/dead-letters: deliveries whose last attempt failed, kept for 7 days, and their replay. */
import { z } from 'zod';
import { dayMs, isoTime, parseDay } from '../../model/day.ts';
import type { Delivery } from '../../webhooks/deliveries/delivery.ts';
import type { Positions } from '../kernel/positions.ts';
import {
  checkOrder,
  count,
  emptyBody,
  givenId,
  moment,
  pageQuery,
  time,
} from '../kernel/fields.ts';
import { getRoute, pageSchema } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import type { Webhooks } from '../services.ts';
import { acceptedDelivery, deliveryFields, deliveryPage, viewDelivery } from './deliveries.ts';

const tag = 'Webhooks';
/** No endpoint has this number: a filter by an unknown id finds nothing. */
const noEndpoint = 0;

const deadLetter = z
  .object({
    ...deliveryFields,
    deadAt: time.meta({
      description: 'Time of the last failed attempt, or of finding its endpoint disabled',
    }),
    deadReason: z.enum(['exhausted', 'gone', 'endpoint_disabled']).meta({
      description:
        '`exhausted`: every attempt failed; `gone`: the receiver answered 410; `endpoint_disabled`: it ' +
        'waited when its endpoint was disabled',
    }),
    expiresAt: time.meta({ description: 'Time of its removal' }),
  })
  .meta({ id: 'DeadLetter' });

const replayed = z
  .object({
    replayed: count.meta({ description: 'Number of deliveries to send again', example: 3 }),
  })
  .meta({ id: 'Replayed' });

const start = dayOrMoment(0).meta({
  override: { type: 'string' },
  description: 'A day (`YYYY-MM-DD`, UTC) or a time, included',
  example: '2026-03-01',
});
const end = dayOrMoment(1).meta({
  override: { type: 'string' },
  description: 'A day or a time, included',
  example: '2026-03-07',
});

const givenEndpointId = givenId('whk', 'an endpoint');

const deadLettersQuery = z.object({
  endpointId: givenEndpointId
    .optional()
    .meta({ description: 'Only dead letters of this endpoint' }),
  from: start.optional().meta({ description: 'Dead since this day (UTC) or time, included' }),
  to: end.optional().meta({ description: 'Dead until this day (UTC) or time, included' }),
  ...pageQuery,
});
const replayBody = z
  .strictObject({
    from: start,
    to: end,
    endpointId: givenEndpointId.optional().meta({ description: 'Only this endpoint’s' }),
  })
  .meta({ id: 'DeadLetterReplay' });

/** Milliseconds: the first of a day or a moment (0), or the first after it (1). */
function dayOrMoment(plus: 0 | 1) {
  return z.string().transform((text, context) => {
    const found = parseDay(text);
    if (found !== undefined) return (found + plus) * dayMs;
    const parsed = moment.safeParse(text);
    if (parsed.success) return parsed.data + plus;
    const message = 'Expected a date as YYYY-MM-DD, or a time as 2026-03-01T12:00:00Z';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

export function deadLetterRoutes(webhooks: Webhooks, positions: Positions): Route[] {
  return [listRoute(webhooks, positions), replayRoute(webhooks), replayRangeRoute(webhooks)];
}

function listRoute(webhooks: Webhooks, positions: Positions): Route {
  const { endpoints } = webhooks;
  const { deadLetters } = webhooks.deliveries;
  return getRoute({
    path: '/webhooks/dead-letters',
    operationId: 'listDeadLetters',
    access: 'admin',
    tag,
    summary: 'List dead letters',
    description:
      'Deliveries whose last attempt failed, or whose endpoint was disabled, newest first. `from` and `to` bound ' +
      'this time. Dead letters are removed after 7 days.',
    query: deadLettersQuery,
    schema: pageSchema('DeadLetterPage', deadLetter),
    what: 'A page',
    read: ({ actor: { workspaceNo }, query: { endpointId: filterId, from, to, ...query } }) => {
      checkRange(from, to);
      const endpointNo =
        filterId === undefined
          ? undefined
          : (endpoints.list(workspaceNo).find(({ id }) => id === filterId)?.no ?? noEndpoint);
      const filter = { endpointNo, fromMs: from, beforeMs: to };
      return deliveryPage(
        positions.of(workspaceNo, 'dead letters'),
        query,
        deadLetters.count(workspaceNo, filter),
        (place) => deadLetters.list(workspaceNo, { ...filter, ...place }),
        (one) => viewDeadLetter(webhooks, one),
      );
    },
  });
}

function replayRoute({ deliveries }: Webhooks): Route {
  return createRoute({
    method: 'POST',
    path: '/webhooks/dead-letters/:id/replay',
    operationId: 'replayDeadLetter',
    access: 'admin',
    tag,
    summary: 'Replay a dead letter',
    description:
      'Sends the same delivery again, with the same event ids and bytes and all its retries.',
    body: emptyBody,
    answer: { status: 202, schema: acceptedDelivery, what: 'It waits to be sent' },
    failures: ['not_found', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, id: deadId }) => {
      const { id, state } = await deliveries.deadLetters.replay(
        deliveries.get(actor.workspaceNo, deadId),
      );
      return jsonResult(202, { id, state });
    },
  });
}

function replayRangeRoute({ endpoints, deliveries }: Webhooks): Route {
  return createRoute({
    method: 'POST',
    path: '/webhooks/dead-letters/replay',
    operationId: 'replayDeadLetters',
    access: 'admin',
    tag,
    summary: 'Replay dead letters by time',
    description: 'All dead letters of one enabled endpoint, or of all enabled endpoints.',
    body: replayBody,
    answer: { status: 202, schema: replayed, what: 'Number of deliveries to send again' },
    failures: ['not_found', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor: { workspaceNo }, body: { from, to, endpointId: filterId } }) => {
      checkRange(from, to);
      const endpoint = filterId === undefined ? undefined : endpoints.get(workspaceNo, filterId);
      const range = { endpointNo: endpoint?.no, fromMs: from, beforeMs: to };
      return jsonResult(202, {
        replayed: await deliveries.deadLetters.replayRange(workspaceNo, range),
      });
    },
  });
}

function viewDeadLetter(webhooks: Webhooks, one: Delivery) {
  return {
    ...viewDelivery(webhooks, one),
    deadAt: isoTime(one.deadAtMs),
    deadReason: one.deadReason,
    expiresAt: isoTime(webhooks.deliveries.expiresAtMs(one) ?? one.deadAtMs),
  };
}

/** @param beforeMs the first millisecond after the range @throws Failure validation_failed */
function checkRange(fromMs: number | undefined, beforeMs: number | undefined): void {
  checkOrder(fromMs, beforeMs === undefined ? undefined : beforeMs - 1);
}
