/**
 * /webhooks: endpoints, their secrets and their health, and samples on demand. Deliveries are in deliveries.ts and
 * dead-letters.ts. Only the answer that creates a secret contains it.
 */
import { z } from 'zod';
import type { Clock } from '../../model/clock.ts';
import { eventKinds } from '../../model/event.ts';
import { Failure, type Fault } from '../../model/failure.ts';
import type { IdSource } from '../../model/ids.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import type { EndpointFigures } from '../../webhooks/deliveries/deliveries.ts';
import type { CreatedEndpoint } from '../../webhooks/endpoints/endpoints.ts';
import { sampleEvent } from '../events/event-schemas.ts';
import { withDomainFaults } from '../kernel/faults.ts';
import { count, createdAt, idField, plainText, time, updatedAt } from '../kernel/fields.ts';
import {
  created,
  deleteRoute,
  getRoute,
  listRoute,
  pageSchema,
  postRoute,
} from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import { view } from '../kernel/view.ts';
import type { Webhooks } from '../services.ts';
import { attempt, deliveryId, endpointId, kind, viewAttempt } from './deliveries.ts';

const tag = 'Webhooks';
const urlLengthMax = 2_048;
const descriptionLengthMax = 500;
export const batchMax = 100;
const overlapSecondsStandard = 86_400;
const overlapSecondsMax = 7 * 86_400;
const millisecondsPerSecond = 1_000;

const url = z
  .string()
  .min(1)
  .max(urlLengthMax)
  .meta({
    description:
      '`http` or `https`, without credentials. Private and reserved addresses are refused, here and at ' +
      'every attempt',
    example: 'https://example.com/hooks/qr',
  });
const events = z
  .array(z.enum(['*', ...eventKinds]))
  .min(1)
  .max(eventKinds.length + 1)
  .refine((given) => new Set(given).size === given.length, 'Expected each kind once')
  .meta({
    description: 'Kinds of events, or `*` for all, also those to come',
    example: ['qr.scanned'],
  });
const description = plainText(descriptionLengthMax).meta({
  description: 'For people',
  example: 'Till in the north hall',
});
const maxBatch = z.int().min(1).max(batchMax).meta({
  description: 'Most scans of a busy code in one request; 1 = never a list',
});

const status = z.enum(['enabled', 'disabled']);

const endpointBody = z
  .strictObject({
    url,
    events,
    description: description.optional(),
    maxBatch: maxBatch.default(batchMax),
  })
  .meta({
    id: 'WebhookCreate',
    example: { url: 'https://example.com/hooks/qr', events: ['qr.scanned'] },
  });

const endpointPatch = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    description: description.nullable().optional().meta({ description: '`null` removes it' }),
    maxBatch: maxBatch.optional(),
    status: status.optional().meta({
      description: '`enabled` sends again, from the events of this moment on; `disabled` stops',
    }),
  })
  .meta({ id: 'WebhookChange', example: { status: 'enabled' } });

const secretBody = z
  .strictObject({
    overlapSeconds: z.int().min(0).max(overlapSecondsMax).default(overlapSecondsStandard).meta({
      description: 'How long the previous secret stays valid: until then both sign',
    }),
  })
  .default({ overlapSeconds: overlapSecondsStandard })
  .meta({ id: 'WebhookRotate', example: { overlapSeconds: 3600 } });

const testBody = z.strictObject({ event: kind }).meta({ id: 'WebhookTest' });

const endpointFields = {
  id: endpointId,
  url: z.string().meta({
    override: { format: 'uri' },
    description: 'Where events are sent',
    example: 'https://example.com/hooks/qr',
  }),
  events: z
    .array(z.string())
    .meta({ description: 'Kinds of events, or `*` for all', example: ['qr.scanned'] }),
  description: z
    .string()
    .nullable()
    .meta({ description: 'For people; null without', example: 'Till in the north hall' }),
  maxBatch: z
    .int()
    .min(1)
    .max(batchMax)
    .meta({ description: 'Scans in one request at most', example: batchMax }),
  status: status.meta({ description: 'Whether events are sent there', example: 'enabled' }),
  disabledReason: z.enum(['by_hand', 'gone', 'failing', 'secret_lost']).nullable().meta({
    description:
      '`gone`: it answered 410; `failing`: only failures for five days; `secret_lost`: rotate its secret',
    example: null,
  }),
  disabledAt: time.nullable().meta({ description: 'Null while enabled', example: null }),
  olderSecretsEndAt: time.nullable().meta({
    description: 'Until then deliveries carry signatures of older secrets as well',
    example: null,
  }),
  createdBy: idField('usr', 'User who made it'),
  createdAt,
  updatedAt,
};
const endpoint = z.object(endpointFields).meta({ id: 'Webhook' });
const madeEndpoint = z
  .object({
    ...endpointFields,
    secret: z.string().meta({
      description: 'Signs deliveries, shown this once',
      example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
    }),
  })
  .meta({ id: 'MadeWebhook' });
const health = z
  .object({
    state: z.enum(['unused', 'healthy', 'failing', 'disabled']).meta({
      description: '`unused`: nothing was sent yet; `failing`: the latest attempt failed',
      example: 'healthy',
    }),
    consecutiveFailures: count.meta({
      description: 'Attempts since the last success',
      example: 0,
    }),
    lastSuccessAt: time.nullable().meta({ description: 'Null before the first one' }),
    lastFailureAt: time
      .nullable()
      .meta({ description: 'Null before the first one', example: null }),
    waiting: count.meta({ description: 'Deliveries to be sent, now or later', example: 0 }),
  })
  .meta({ id: 'WebhookHealth', description: 'How its deliveries fare' });
const watchedEndpoint = z
  .object({
    ...endpointFields,
    health,
  })
  .meta({ id: 'WatchedWebhook' });

const testResult = z
  .object({
    delivered: z
      .boolean()
      .meta({ description: 'Whether the receiver answered 2xx', example: true }),
    deliveryId,
    attempt,
  })
  .meta({ id: 'WebhookTestResult' });

function viewEndpoint(endpoints: Webhooks['endpoints'], record: EndpointRecord) {
  return view(endpoint, { ...record, olderSecretsEndAtMs: endpoints.overlapEndMs(record) });
}

const viewCreated = (
  endpoints: Webhooks['endpoints'],
  { endpoint: record, secret }: CreatedEndpoint,
) => ({ ...viewEndpoint(endpoints, record), secret });

function viewHealth({ status }: EndpointRecord, figures: EndpointFigures) {
  const { consecutiveFailures, lastSuccessAtMs, lastFailureAtMs } = figures;
  const isUnused = lastSuccessAtMs === undefined && lastFailureAtMs === undefined;
  const works = isUnused ? 'unused' : consecutiveFailures > 0 ? 'failing' : 'healthy';
  return view(health, { ...figures, state: status === 'disabled' ? 'disabled' : works });
}

export interface WebhooksOptions {
  readonly webhooks: Webhooks;
  readonly ids: IdSource;
  readonly clock: Clock;
}

export function webhookRoutes(options: WebhooksOptions): Route[] {
  const { webhooks } = options;
  const [createWebhook, updateWebhook] = writeRoutes(webhooks);
  return [
    createWebhook,
    ...readRoutes(webhooks),
    updateWebhook,
    deleteRouteOf(webhooks),
    rotateRoute(webhooks),
    testRoute(options),
  ];
}

function writeRoutes({ endpoints }: Webhooks): [create: Route, update: Route] {
  const checkUrl = (raw: unknown): readonly Fault[] => urlFaults(endpoints, raw);
  const checkedBody = withDomainFaults(endpointBody, checkUrl);
  const checkedPatch = withDomainFaults(endpointPatch, checkUrl);
  const createWebhook = postRoute({
    path: '/webhooks',
    operationId: 'createWebhook',
    access: 'admin',
    tag,
    summary: 'Create an endpoint',
    description:
      'From now on the events it subscribes to are sent there, signed as `/docs/webhooks` describes. ' +
      'The secret is shown this once.',
    body: endpointBody,
    bodyFor: () => checkedBody,
    answer: { status: 201, schema: madeEndpoint, what: 'The endpoint; Location names it' },
    make: async ({ actor, body }, kept) => await endpoints.create(actor, body, kept),
    result: (made: CreatedEndpoint) => created('/webhooks', viewCreated(endpoints, made)),
  });
  const updateWebhook = createRoute({
    method: 'PATCH',
    path: '/webhooks/:id',
    operationId: 'updateWebhook',
    access: 'admin',
    tag,
    summary: 'Change an endpoint',
    description:
      'Holds for what is sent from now on, retries included. `status: "enabled"` also revives one that was ' +
      'disabled because it was gone or kept failing.',
    body: endpointPatch,
    bodyFor: () => checkedPatch,
    answer: { status: 200, schema: endpoint, what: 'The endpoint as it is now' },
    failures: ['not_found', 'storage_full'],
    handle: async ({ actor, id, body }) =>
      jsonResult(200, viewEndpoint(endpoints, await endpoints.change(actor.workspaceNo, id, body))),
  });
  return [createWebhook, updateWebhook];
}

function readRoutes({ endpoints, deliveries }: Webhooks): Route[] {
  const watched = (record: EndpointRecord) => ({
    ...viewEndpoint(endpoints, record),
    health: viewHealth(record, deliveries.figures(record.no)),
  });
  const listWebhooks = listRoute({
    path: '/webhooks',
    operationId: 'listWebhooks',
    access: 'admin',
    tag,
    summary: 'List endpoints',
    description:
      'Newest first, disabled ones too, with how their deliveries fare. Never their secrets.',
    schema: pageSchema('WebhookPage', watchedEndpoint),
    items: ({ actor }) => endpoints.list(actor.workspaceNo),
    idOf: ({ id }) => id,
    view: watched,
  });
  const getWebhook = getRoute({
    path: '/webhooks/:id',
    operationId: 'getWebhook',
    access: 'admin',
    tag,
    summary: 'Get an endpoint',
    description: 'With how its deliveries fare.',
    schema: watchedEndpoint,
    what: 'The endpoint',
    read: ({ actor, id }) => watched(endpoints.get(actor.workspaceNo, id)),
  });
  return [listWebhooks, getWebhook];
}

function deleteRouteOf({ endpoints, deliveries }: Webhooks): Route {
  return deleteRoute({
    path: '/webhooks/:id',
    operationId: 'deleteWebhook',
    access: 'admin',
    tag,
    summary: 'Delete an endpoint',
    description:
      'Nothing more is sent. Deliveries that wait for a retry are canceled, those not tried yet are gone; dead letters ' +
      'stay until they expire.',
    remove: async ({ workspaceNo }, id) => {
      const { no } = await endpoints.delete(workspaceNo, id);
      await deliveries.drainEndpoint(no);
    },
  });
}

function rotateRoute({ endpoints }: Webhooks): Route {
  return postRoute({
    path: '/webhooks/:id/rotate-secret',
    operationId: 'rotateWebhookSecret',
    access: 'admin',
    tag,
    summary: 'Rotate an endpoint’s secret',
    description:
      'Makes a new secret, shown this once. Older ones sign along for `overlapSeconds`; at most three are ' +
      'valid at a time. With 0 the older ones end now.',
    body: secretBody,
    answer: { status: 200, schema: madeEndpoint, what: 'The endpoint with its new secret' },
    failures: ['not_found', 'conflict'],
    make: async ({ actor, id, body: { overlapSeconds } }, kept) => {
      const overlapMs = overlapSeconds * millisecondsPerSecond;
      return await endpoints.rotateSecret(actor.workspaceNo, id, overlapMs, kept);
    },
    result: (made: CreatedEndpoint) => jsonResult(200, viewCreated(endpoints, made)),
  });
}

function testRoute({ webhooks: { endpoints, deliveries }, ids, clock }: WebhooksOptions): Route {
  return createRoute({
    method: 'POST',
    path: '/webhooks/:id/test',
    operationId: 'testWebhook',
    access: 'admin',
    isSlow: true,
    tag,
    summary: 'Send a sample',
    description:
      'Signs a sample of the kind, sends it once, also to a disabled endpoint, and reports the response. ' +
      'The answer is 200 whatever the receiver did.',
    body: testBody,
    answer: { status: 200, schema: testResult, what: 'How the receiver answered' },
    failures: ['not_found', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, id, body: { event } }) => {
      const record = endpoints.get(actor.workspaceNo, id);
      assertSigns(endpoints, record);
      const sample = sampleEvent(event, ids.newId('evt'), clock.now());
      const body = JSON.stringify(sample);
      const sent = await deliveries.sendNow(record, event, sample.id, body);
      return jsonResult(200, {
        delivered: sent.state === 'delivered',
        deliveryId: sent.id,
        attempt: viewAttempt(sent.attempt),
      });
    },
  });
}

/** @throws Failure conflict if none of its secrets can be decrypted: a test is never sent unsigned */
function assertSigns(endpoints: Webhooks['endpoints'], { no }: EndpointRecord): void {
  if (endpoints.secretsOf(no).length > 0) return;
  const why = 'its secret cannot be read, expected a new one by rotate-secret';
  throw new Failure('conflict', `Cannot send: ${why}`);
}

const urlOnly = z.object({ url: z.string() });

/** The fault of the address in a body whose other fields have faults already. */
function urlFaults(endpoints: Webhooks['endpoints'], raw: unknown): readonly Fault[] {
  const given = urlOnly.safeParse(raw);
  const fault = given.success ? endpoints.urlFault(given.data.url) : undefined;
  return fault === undefined ? [] : [fault];
}
