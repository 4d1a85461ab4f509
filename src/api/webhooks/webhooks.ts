/**
 * /webhooks: endpoints, their secrets and their health, and a sample on demand. What was sent to them is in
 * deliveries.ts and dead-letters.ts.
 */
import { z } from 'zod';
import type { Clock } from '../../model/clock.ts';
import { Failure, type Fault } from '../../model/failure.ts';
import type { IdSource } from '../../model/ids.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import type { CreatedEndpoint } from '../../webhooks/endpoints/endpoints.ts';
import { sampleEvent } from '../../webhooks/sample-events.ts';
import { alsoFinding } from '../faults.ts';
import { noBody, noQuery } from '../fields.ts';
import { createRoute, jsonResult, type Result, type Route } from '../route.ts';
import type { Webhooks } from '../services.ts';
import { deleted, listRoute, pageSchema } from '../resource.ts';
import {
  endpoint,
  endpointBody,
  endpointPatch,
  madeEndpoint,
  secretBody,
  testBody,
  testResult,
  viewAttempt,
  viewEndpoint,
  viewHealth,
  watchedEndpoint,
} from './webhook-schemas.ts';

const tag = 'Webhooks';
const millisecondsPerSecond = 1_000;

export interface WebhooksOptions {
  readonly webhooks: Webhooks;
  readonly ids: IdSource;
  readonly clock: Clock;
}

export function webhookRoutes(options: WebhooksOptions): Route[] {
  const { webhooks } = options;
  return [
    createOne(webhooks),
    listMany(webhooks),
    getOne(webhooks),
    patchOne(webhooks),
    deleteOne(webhooks),
    rotateOne(webhooks),
    testOne(options),
  ];
}

function createOne({ endpoints }: Webhooks): Route {
  const checkedBody = alsoFinding(endpointBody, (raw) => urlFaults(endpoints, raw));
  return createRoute({
    method: 'POST',
    path: '/webhooks',
    operationId: 'createWebhook',
    tag,
    summary: 'Create an endpoint',
    description:
      'From now on the events it subscribes to are sent there, signed as `/docs/webhooks` describes. ' +
      'The secret is shown this once.',
    query: noQuery,
    body: endpointBody,
    bodyFor: () => checkedBody,
    answer: { status: 201, schema: madeEndpoint, what: 'The endpoint; Location names it' },
    failures: ['conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, body, keep }) => {
      const answer = ({ endpoint: record, secret }: CreatedEndpoint): Result => {
        const headers = { Location: `/v1/webhooks/${record.id}` };
        return jsonResult(201, { ...view(endpoints, record), secret }, headers);
      };
      return answer(await endpoints.create(actor, body, (made) => keep(answer(made))));
    },
  });
}

function listMany({ endpoints }: Webhooks): Route {
  return listRoute({
    path: '/webhooks',
    operationId: 'listWebhooks',
    tag,
    summary: 'List endpoints',
    description: 'Newest first, disabled ones too. Never their secrets.',
    schema: pageSchema('WebhookPage', endpoint),
    items: ({ actor }) => endpoints.list(actor.workspaceNo),
    idOf: ({ id }) => id,
    view: (record) => view(endpoints, record),
  });
}

function getOne({ endpoints, deliveries }: Webhooks): Route {
  return createRoute({
    method: 'GET',
    path: '/webhooks/:id',
    operationId: 'getWebhook',
    tag,
    summary: 'Get an endpoint',
    description: 'With how its deliveries fare.',
    query: noQuery,
    body: noBody,
    answer: { status: 200, schema: watchedEndpoint, what: 'The endpoint' },
    failures: ['not_found'],
    handle: ({ actor, params }) => {
      const record = endpoints.get(actor.workspaceNo, params.id ?? '');
      const health = viewHealth(record, deliveries.figures(record.no));
      return jsonResult(200, { ...view(endpoints, record), health });
    },
  });
}

function patchOne({ endpoints }: Webhooks): Route {
  const checkedBody = alsoFinding(endpointPatch, (raw) => urlFaults(endpoints, raw));
  return createRoute({
    method: 'PATCH',
    path: '/webhooks/:id',
    operationId: 'updateWebhook',
    tag,
    summary: 'Change an endpoint',
    description:
      'Holds for what is sent from now on, retries included. `enabled: true` also revives one that was ' +
      'disabled because it was gone or kept failing.',
    query: noQuery,
    body: endpointPatch,
    answer: { status: 200, schema: endpoint, what: 'The endpoint as it is now' },
    failures: ['not_found', 'storage_full'],
    bodyFor: () => checkedBody,
    handle: async ({ actor, params, body }) => {
      const record = await endpoints.change(actor.workspaceNo, params.id ?? '', body);
      return jsonResult(200, view(endpoints, record));
    },
  });
}

function deleteOne({ endpoints, deliveries }: Webhooks): Route {
  return createRoute({
    method: 'DELETE',
    path: '/webhooks/:id',
    operationId: 'deleteWebhook',
    tag,
    summary: 'Delete an endpoint',
    description: 'What waits for it is canceled.',
    query: noQuery,
    body: noBody,
    answer: { status: 200, schema: deleted, what: 'Deleted' },
    failures: ['not_found', 'storage_full'],
    handle: async ({ actor, params }) => {
      const id = params.id ?? '';
      const { no } = await endpoints.delete(actor.workspaceNo, id);
      await deliveries.removeEndpoint(no);
      return jsonResult(200, { deleted: true, id });
    },
  });
}

function rotateOne({ endpoints }: Webhooks): Route {
  return createRoute({
    method: 'POST',
    path: '/webhooks/:id/rotate-secret',
    operationId: 'rotateWebhookSecret',
    tag,
    summary: 'Rotate an endpoint’s secret',
    description:
      'Makes a new secret, shown this once. Older ones sign along for `overlapSeconds`; at most three are ' +
      'valid at a time. With 0 the older ones end now.',
    query: noQuery,
    body: secretBody,
    answer: { status: 200, schema: madeEndpoint, what: 'The endpoint with its new secret' },
    failures: ['not_found', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, params, body: { overlapSeconds }, keep }) => {
      const answer = ({ endpoint: record, secret }: CreatedEndpoint): Result =>
        jsonResult(200, { ...view(endpoints, record), secret });
      const overlapMs = overlapSeconds * millisecondsPerSecond;
      const kept = (made: CreatedEndpoint): void => keep(answer(made));
      const { workspaceNo } = actor;
      return answer(await endpoints.rotateSecret(workspaceNo, params.id ?? '', overlapMs, kept));
    },
  });
}

function testOne({ webhooks: { endpoints, deliveries }, ids, clock }: WebhooksOptions): Route {
  return createRoute({
    method: 'POST',
    path: '/webhooks/:id/test',
    operationId: 'testWebhook',
    tag,
    summary: 'Send a sample',
    description:
      'Signs and sends a sample of the kind now, once, also to a disabled endpoint, and says what came ' +
      'back. The answer is 200 whatever the receiver did.',
    query: noQuery,
    body: testBody,
    answer: { status: 200, schema: testResult, what: 'How the receiver answered' },
    failures: ['not_found', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, params, body: { event } }) => {
      const record = endpoints.get(actor.workspaceNo, params.id ?? '');
      assertSigns(endpoints, record);
      const sample = sampleEvent(event, ids.newId('evt'), clock.now());
      const body = Buffer.from(JSON.stringify(sample));
      const { id, state, attempt } = await deliveries.sendNow(record, event, sample.id, body);
      const delivered = state === 'delivered';
      return jsonResult(200, { delivered, deliveryId: id, attempt: viewAttempt(attempt) });
    },
  });
}

/** @throws Failure conflict when no secret of it can be read: nothing is sent unsigned */
function assertSigns(endpoints: Webhooks['endpoints'], { no }: EndpointRecord): void {
  if (endpoints.secretsOf(no).length > 0) return;
  const why = 'its secret cannot be read, expected a new one by rotate-secret';
  throw new Failure('conflict', `Cannot send: ${why}`);
}

function view(endpoints: Webhooks['endpoints'], record: EndpointRecord) {
  return viewEndpoint(record, endpoints.overlapEndMs(record));
}

const urlOnly = z.object({ url: z.string() });

/** The fault of an address in a body whose other fields are at fault already. */
function urlFaults(endpoints: Webhooks['endpoints'], raw: unknown): readonly Fault[] {
  const given = urlOnly.safeParse(raw);
  const fault = given.success ? endpoints.urlFault(given.data.url) : undefined;
  return fault === undefined ? [] : [fault];
}
