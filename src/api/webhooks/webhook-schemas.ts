/**
 * Shapes of webhooks on the wire: endpoints, deliveries with their attempts, dead letters. A secret stands
 * in the answer that makes it and nowhere else.
 */
import { z } from 'zod';
import { dayMs, isoTime, parseDay } from '../../model/day.ts';
import { eventKinds } from '../../model/event.ts';
import type { AttemptRecord, EndpointRecord } from '../../model/webhook.ts';
import type { EndpointFigures } from '../../webhooks/deliveries/deliveries.ts';
import type { Delivery } from '../../webhooks/deliveries/delivery-transaction.ts';
import { count, moment, pageQuery, plainText, time } from '../fields.ts';

const urlLengthMax = 2_048;
const descriptionLengthMax = 500;
const batchMax = 100;
const overlapSecondsStandard = 86_400;
const overlapSecondsMax = 7 * 86_400;

const kind = z.enum(eventKinds).meta({ example: 'qr.scanned' });
const endpointId = z.string().meta({ example: 'whk_01k3zq8m4hd2v7c5x9ab' });
const deliveryId = z.string().meta({ example: 'dlv_01k3zq8m4hd2v7c5x9ab' });
const eventId = z.string().meta({ example: 'evt_01k3zq8m4hd2v7c5x9ab' });

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
const description = plainText(descriptionLengthMax).meta({ example: 'Till in the north hall' });
const maxBatch = z.int().min(1).max(batchMax).meta({
  description: 'Scans of a busy code in one request at most; 1 = never a list',
});

export const endpointBody = z
  .strictObject({
    url,
    events,
    description: description.optional(),
    maxBatch: maxBatch.default(batchMax),
  })
  .meta({ id: 'WebhookCreate' });

export const endpointPatch = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    description: description.nullable().optional().meta({ description: '`null` removes it' }),
    maxBatch: maxBatch.optional(),
    enabled: z.boolean().optional().meta({
      description: '`true` sends again, from the events of this moment on; `false` stops',
    }),
  })
  .meta({ id: 'WebhookChange' });

export const secretBody = z
  .strictObject({
    overlapSeconds: z.int().min(0).max(overlapSecondsMax).default(overlapSecondsStandard).meta({
      description: 'How long the secret before stays valid: until then both sign',
    }),
  })
  .default({ overlapSeconds: overlapSecondsStandard })
  .meta({ id: 'WebhookRotate' });

export const testBody = z.strictObject({ event: kind }).meta({ id: 'WebhookTest' });

const endpointFields = {
  id: endpointId,
  url: z.string().meta({ example: 'https://example.com/hooks/qr' }),
  events: z.array(z.string()).meta({ example: ['qr.scanned'] }),
  description: z.string().nullable().meta({ example: 'Till in the north hall' }),
  maxBatch: z.int().meta({ example: batchMax }),
  status: z.enum(['enabled', 'disabled']),
  disabledReason: z.enum(['by_hand', 'gone', 'failing']).nullable().meta({
    description: '`gone`: it answered 410; `failing`: nothing but failures for five days',
    example: null,
  }),
  disabledAt: time.nullable().meta({ example: null }),
  olderSecretsEndAt: time.nullable().meta({
    description: 'Until then deliveries carry signatures of older secrets as well',
    example: null,
  }),
  createdBy: z.string().meta({ example: 'usr_01k3zq8m4hd2v7c5x9ab' }),
  createdAt: time,
  updatedAt: time,
};
export const endpoint = z.object(endpointFields).meta({ id: 'Webhook' });
export const madeEndpoint = z
  .object({
    ...endpointFields,
    secret: z.string().meta({
      description: 'What deliveries are signed with, shown this once',
      example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
    }),
  })
  .meta({ id: 'MadeWebhook' });
export const watchedEndpoint = z
  .object({
    ...endpointFields,
    health: z
      .object({
        state: z.enum(['unused', 'healthy', 'failing', 'disabled']).meta({ example: 'healthy' }),
        consecutiveFailures: count.meta({
          description: 'Attempts since the last success',
          example: 0,
        }),
        lastSuccessAt: time.nullable(),
        lastFailureAt: time.nullable().meta({ example: null }),
        waiting: count.meta({ description: 'Deliveries to be sent, now or later', example: 0 }),
      })
      .meta({ id: 'WebhookHealth' }),
  })
  .meta({ id: 'WatchedWebhook' });

const failureClasses = [
  'status',
  'timeout',
  'dns',
  'connect',
  'tls',
  'reset',
  'blocked_ip',
  'redirect',
  'protocol',
  'unknown',
] as const satisfies ReadonlyArray<AttemptRecord['failure']>;

const attempt = z
  .object({
    at: time,
    durationMs: z.number().min(0).meta({ example: 38 }),
    remoteIp: z.string().nullable().meta({ example: '198.18.7.20' }),
    status: z.int().nullable().meta({ example: 204 }),
    failure: z.enum(failureClasses).nullable().meta({
      description: 'Why it is no success; `null` when it is one',
      example: null,
    }),
    answer: z.string().nullable().meta({ description: 'The beginning of the answer, up to 4 KB' }),
  })
  .meta({ id: 'WebhookAttempt' });

export const testResult = z
  .object({ delivered: z.boolean(), deliveryId, attempt })
  .meta({ id: 'WebhookTestResult' });

const deliveryStates = ['pending', 'delivered', 'dead', 'canceled'] as const;

const deliveryFields = {
  id: deliveryId,
  endpointId: endpointId.nullable().meta({ description: '`null` when the endpoint is deleted' }),
  event: kind,
  eventIds: z.array(eventId).meta({ description: 'More than one where scans are sent as a list' }),
  state: z.enum(deliveryStates).meta({ example: 'delivered' }),
  attemptCount: count.meta({ example: 1 }),
  lastAttempt: attempt.nullable(),
  nextAttemptAt: time.nullable().meta({ example: null }),
  createdAt: time,
};
export const delivery = z.object(deliveryFields).meta({ id: 'Delivery' });
export const wholeDelivery = z
  .object({
    ...deliveryFields,
    attempts: z.array(attempt).meta({ description: 'Oldest first' }),
    body: z.string().meta({
      description: 'The exact text that is sent and signed',
      example: '{"id":"evt_01k3zq8m4hd2v7c5x9ab","event":"qr.deleted","data":{}}',
    }),
  })
  .meta({ id: 'WholeDelivery' });
export const deadLetter = z
  .object({
    ...deliveryFields,
    deadAt: time,
    deadReason: z.enum(['exhausted', 'gone', 'endpoint_disabled']).meta({
      description: '`exhausted`: every attempt failed; `gone`: the receiver answered 410',
    }),
    expiresAt: time.meta({ description: 'When it is removed for good' }),
  })
  .meta({ id: 'DeadLetter' });

export const acceptedDelivery = z
  .object({ id: deliveryId, state: z.enum(deliveryStates).meta({ example: 'pending' }) })
  .meta({ id: 'AcceptedDelivery' });
export const replayed = z.object({ replayed: count }).meta({ id: 'Replayed' });

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

export const deliveriesQuery = z.object({
  state: z.enum(deliveryStates).optional(),
  ...pageQuery,
});
export const deadLettersQuery = z.object({
  endpointId: endpointId.optional(),
  from: start.optional(),
  to: end.optional(),
  ...pageQuery,
});
export const replayBody = z
  .strictObject({ from: start, to: end, endpointId: endpointId.optional() })
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

const timeOrNull = (timeMs: number | undefined): string | null =>
  timeMs === undefined ? null : isoTime(timeMs);

/** @param overlapEndMs when the last of its older secrets ends */
export function viewEndpoint(record: EndpointRecord, overlapEndMs: number | undefined) {
  return {
    id: record.id,
    url: record.url,
    events: record.events,
    description: record.description ?? null,
    maxBatch: record.maxBatch,
    status: record.status,
    disabledReason: record.disabledReason ?? null,
    disabledAt: timeOrNull(record.disabledAtMs),
    olderSecretsEndAt: timeOrNull(overlapEndMs),
    createdBy: record.createdBy,
    createdAt: isoTime(record.createdAtMs),
    updatedAt: isoTime(record.updatedAtMs),
  };
}

export function viewAttempt(record: AttemptRecord) {
  return {
    at: isoTime(record.atMs),
    durationMs: record.durationMs,
    remoteIp: record.remoteIp ?? null,
    status: record.status ?? null,
    failure: record.failure ?? null,
    answer: record.answer ?? null,
  };
}

export function viewHealth({ status }: EndpointRecord, figures: EndpointFigures) {
  const { consecutiveFailures, lastSuccessAtMs, lastFailureAtMs, waiting } = figures;
  const isUnused = lastSuccessAtMs === undefined && lastFailureAtMs === undefined;
  const works = isUnused ? 'unused' : consecutiveFailures > 0 ? 'failing' : 'healthy';
  return {
    state: status === 'disabled' ? 'disabled' : works,
    consecutiveFailures,
    lastSuccessAt: timeOrNull(lastSuccessAtMs),
    lastFailureAt: timeOrNull(lastFailureAtMs),
    waiting,
  };
}

/** A delivery with what the wheel knows of it. */
export interface ShownDelivery {
  readonly delivery: Delivery;
  /** `undefined` when its endpoint is deleted. */
  readonly endpointId: string | undefined;
  readonly nextAttemptAtMs: number | undefined;
}

export function viewDelivery({ delivery, endpointId: to, nextAttemptAtMs }: ShownDelivery) {
  const last = delivery.attempts.at(-1);
  return {
    id: delivery.id,
    endpointId: to ?? null,
    event: delivery.kind,
    eventIds: delivery.eventIds,
    state: delivery.state,
    attemptCount: delivery.attemptsMade,
    lastAttempt: last === undefined ? null : viewAttempt(last),
    nextAttemptAt: timeOrNull(nextAttemptAtMs),
    createdAt: isoTime(delivery.createdAtMs),
  };
}

export function viewWholeDelivery(shown: ShownDelivery) {
  const { attempts, body } = shown.delivery;
  return {
    ...viewDelivery(shown),
    attempts: attempts.map((record) => viewAttempt(record)),
    body: Buffer.from(body).toString('utf8'),
  };
}
