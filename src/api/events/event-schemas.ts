/** The events on the wire: what webhooks, `GET /events` and the stream carry. */
import { z } from 'zod';
import { isoTime } from '../../model/day.ts';
import { billingIntervals, paidPlans } from '../../model/billing.ts';
import { codeTypes } from '../../model/code.ts';
import {
  type EventData,
  type EventEnvelope,
  type EventKind,
  eventKinds,
} from '../../model/event.ts';
import { targetFaults } from '../../model/watches/watch.ts';
import { roles } from '../../model/workspace.ts';
import { day } from '../analytics/analytics-schemas.ts';
import { route, scanFields } from '../analytics/raw-scans.ts';
import { dynamic, shortUrl, shownTarget } from '../codes/code-schemas.ts';
import { count, idField, pascalCase, time } from '../kernel/fields.ts';

const qrCodeId = idField('qr', 'Id of the code');
const campaignId = idField('cmp', 'Id of the campaign');
const workspaceId = idField('ws', 'Id of the workspace');
const role = z.enum(roles).meta({ description: 'Their role', example: 'editor' });
const plan = z.enum(paidPlans).meta({ description: 'The plan', example: 'pro' });
const interval = z.enum(billingIntervals).meta({ description: 'Billing interval' });
const changed = z.record(z.string(), z.unknown());
const terms = z.object({ plan, interval: interval.optional() });

const watched = {
  watchId: idField('wch', 'Id of the watch'),
  incidentId: idField('inc', 'Id of the incident: the same when it ends'),
  qrCodeId: qrCodeId.nullable().meta({ description: 'Id of the watched code, else null' }),
  campaignId: campaignId.nullable().meta({
    description: 'Id of the watched campaign, else null',
    example: null,
  }),
  name: z.string().meta({
    description: 'Name of the watched code, campaign or workspace',
    example: 'Menu, table 4',
  }),
};
const expectedScans = z.number().min(0).meta({
  description: 'Average scans of the same hours in earlier weeks',
  example: 41.5,
});
const failing = {
  ...watched,
  target: z
    .string()
    .meta({ description: 'The requested address', example: 'https://example.com/menu' }),
  since: time.meta({ description: 'When it first failed', example: '2026-03-01T11:00:00.000Z' }),
};

const data = {
  'qr.created': z.object({
    id: qrCodeId,
    type: z.enum(codeTypes).meta({ description: 'Content type of the code' }),
    target: shownTarget.meta({ example: 'https://example.com/menu' }),
    dynamic: dynamic.meta({ example: true }),
    shortUrl: shortUrl.meta({ example: 'https://qr.example.com/K7RM2X9D' }),
    createdBy: idField('usr', 'User who made it'),
  }),
  'qr.updated': z.object({
    id: qrCodeId,
    before: changed.meta({
      description: 'The changed fields before the change',
      example: { target: 'https://example.com/menu' },
    }),
    after: changed.meta({
      description: 'The same fields after the change',
      example: { target: 'https://example.com/winter-menu' },
    }),
    updatedBy: idField('usr', 'User who changed it'),
  }),
  'qr.deleted': z.object({ id: qrCodeId, deletedBy: idField('usr', 'User who deleted it') }),
  'qr.scanned': z.object({
    qrId: qrCodeId,
    ...scanFields,
    route: route.optional().meta({
      description:
        'Label of the rule or variant that decided; `target` = no rule; absent if the code never had rules',
    }),
  }),
  'qr.silent': z.object({
    ...watched,
    since: time.meta({
      description: 'The end of the last hour with a scan',
      example: '2026-02-28T12:00:00.000Z',
    }),
    hours: count.meta({
      description: 'Hours without a scan while the service was running',
      example: 24,
    }),
    expectedScans,
    scans: z.literal(0).meta({ description: 'Scans' }),
  }),
  'qr.spiked': z.object({
    ...watched,
    since: time.meta({
      description: 'The beginning of the hour',
      example: '2026-03-01T11:00:00.000Z',
    }),
    expectedScans: expectedScans.meta({ example: 12.3 }),
    scans: count.meta({ description: 'Scans of the hour', example: 184 }),
  }),
  'qr.target_failed': z.object({
    ...failing,
    status: count
      .nullable()
      .meta({ description: 'Status of the answer; null = no answer', example: 404 }),
    fault: z.enum(targetFaults).meta({ description: 'The failure; `status`: an error status' }),
  }),
  'qr.target_recovered': z.object({
    ...failing,
    status: count.nullable().meta({ description: 'Status of the answer', example: 200 }),
  }),
  'campaign.created': z.object({
    id: campaignId,
    name: z.string().meta({ description: 'Display name', example: 'Spring menu' }),
    startDate: day.meta({ description: 'First UTC day' }),
    endDate: day
      .nullable()
      .meta({ description: 'Last UTC day, included; null = no end', example: '2026-03-31' }),
    qrCodeIds: z
      .array(z.string())
      .meta({ description: 'Ids of its codes', example: ['qr_01k3zq8m4hd2v7c5x9ab'] }),
  }),
  'campaign.ended': z.object({
    id: campaignId,
    totalScans: count.meta({ description: 'Scans inside the schedule', example: 1284 }),
    uniqueScanners: count.meta({ description: 'Union over its codes', example: 973 }),
    conversionRate: z
      .number()
      .min(0)
      .meta({ description: 'Conversions per scan; 0 without scans', example: 0.125 }),
  }),
  'subscription.created': z.object({
    workspaceId,
    plan,
    interval,
    amount: z.number().min(0).meta({ description: 'In major units', example: 29 }),
    currency: z.string().meta({
      override: { pattern: '^[A-Z]{3}$' },
      description: 'ISO 4217, upper case',
      example: 'EUR',
    }),
  }),
  'subscription.updated': z.object({
    workspaceId,
    before: terms.meta({ description: 'As it was', example: { plan: 'pro' } }),
    after: terms.meta({ description: 'As it is', example: { plan: 'business' } }),
  }),
  'subscription.canceled': z.object({
    workspaceId,
    effectiveAt: time.meta({
      description: 'When the plan becomes Free',
      example: '2026-03-31T00:00:00.000Z',
    }),
    reason: z.string().meta({
      description: 'Reason; `unspecified` = not given',
      example: 'The season is over',
    }),
  }),
  'member.invited': z.object({
    workspaceId,
    email: z.string().meta({
      override: { format: 'idn-email' },
      description:
        'Address of the invite; `hidden@hidden.invalid` in the list and the stream for roles below admin',
      example: 'jane@example.com',
    }),
    role,
    invitedBy: idField('usr', 'User who invited them'),
  }),
  'member.joined': z.object({ workspaceId, userId: idField('usr', 'User who joined'), role }),
} as const satisfies Readonly<Record<EventKind, z.ZodType>>;

/**
 * The envelope of a kind with the examples of its fields, whose ids name nothing.
 * @param nowMs of QR code events: when it happened
 */
export function sampleEvent(kind: EventKind, id: string, nowMs: number): EventEnvelope {
  const at = isoTime(nowMs);
  const sample: EventData = Object(exampleOf(data[kind]));
  const createdAt = kind.startsWith('qr.') ? { createdAt: at } : {};
  const scannedAt = kind === 'qr.scanned' ? { scannedAt: at } : {};
  return { id, event: kind, ...createdAt, data: { ...sample, ...scannedAt } };
}

/** The sample that the guides and the document show. */
export function sampleEnvelope(kind: EventKind): EventEnvelope {
  return sampleEvent(kind, 'evt_01k3zq8m4hd2v7c5x9ab', Date.UTC(2026, 2, 1, 12));
}

/** The example of a schema; without one, those of its fields, its only value or its first. */
function exampleOf(schema: z.core.$ZodType): unknown {
  const { example } = z.globalRegistry.get(schema) ?? {};
  if (example !== undefined) return example;
  if (schema instanceof z.ZodObject) {
    return Object.fromEntries(
      Object.entries(schema.shape).map(([name, field]) => [name, exampleOf(field)]),
    );
  }
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    return exampleOf(schema.unwrap());
  }
  if (schema instanceof z.ZodEnum) return schema.options[0];
  return schema instanceof z.ZodLiteral ? schema.value : undefined;
}

/** Only envelopes of QR codes have `createdAt`. */
function envelope(kind: EventKind) {
  const isOfCode = kind.startsWith('qr.');
  return z
    .object({
      id: idField('evt', 'Id of the event: the same on every attempt and replay'),
      event: z.literal(kind).meta({ description: 'Kind of the event' }),
      ...(isOfCode ? { createdAt: time.meta({ description: 'Time of the event' }) } : {}),
      data: data[kind].meta({ description: 'Data of the event' }),
    })
    .meta({ id: `${pascalCase(kind)}Event`, example: sampleEnvelope(kind) });
}

/** What has happened, in words. */
export const eventCauses: Readonly<Record<EventKind, string>> = {
  'qr.created': 'a code was created',
  'qr.updated': 'the destination, details or design of a code changed',
  'qr.deleted': 'a code was deleted for good',
  'qr.scanned': 'somebody scanned a dynamic code',
  'qr.silent': 'a watched code, campaign or workspace had no scans for longer than chance explains',
  'qr.spiked': 'a watched code, campaign or workspace had an hour far above its average',
  'qr.target_failed': 'the target of a watched code failed twice, an hour apart or more',
  'qr.target_recovered': 'a target that had failed answers again',
  'campaign.created': 'a campaign was created',
  'campaign.ended': 'the end date of a campaign has passed, with its results',
  'subscription.created': 'a paid plan began',
  'subscription.updated': 'the plan or interval of a subscription changed',
  'subscription.canceled': 'a subscription was canceled: it ends with the period',
  'member.invited': 'somebody was invited',
  'member.joined': 'somebody accepted an invite',
};

const scanned = envelope('qr.scanned');
export const eventSchemas = new Map(
  eventKinds.map((kind) => [kind, kind === 'qr.scanned' ? scanned : envelope(kind)]),
);
const others = [...eventSchemas.values()].filter((schema) => schema !== scanned);

/** Any event; `event` names its kind. */
export const event = z
  .discriminatedUnion('event', [scanned, ...others])
  .meta({ id: 'Event', description: 'An event in the envelope of webhooks' });
