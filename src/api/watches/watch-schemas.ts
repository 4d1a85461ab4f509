/** Watches and incidents on the wire: what a client may send and what it gets. */
import { z } from 'zod';
import {
  incidentEnds,
  incidentKinds,
  type IncidentRecord,
  mailToMax,
  silentHoursMax,
  spikeFactorMax,
  spikeFactorMin,
  targetFaults,
  watchStates,
  watchStateOf,
  type WatchFindings,
  type WatchRecord,
} from '../../model/watches/watch.ts';
import {
  count,
  createdAt,
  givenId,
  idField,
  pageQuery,
  time,
  updatedAt,
} from '../kernel/fields.ts';
import { cursorPageSchema, partialPageSchema } from '../kernel/resource.ts';
import { view } from '../kernel/view.ts';

const silentHours = z.int().min(1).max(silentHoursMax).meta({
  description:
    'Reports this many hours without scans, if the same hours of the week have 8 or more on average',
  example: 24,
});
const spikeFactor = z.number().min(spikeFactorMin).max(spikeFactorMax).meta({
  description:
    'Reports an hour of 20 or more scans with this many times the average of its hour of the week',
  example: 5,
});
const target = z.boolean().meta({
  description: 'Requests every destination once a day; reports one that fails twice',
  example: true,
});
const mail = z.boolean().meta({
  description: 'Also notifies you by mail, if a mail server is set up',
  example: true,
});
const mailTo = z
  .array(givenId('usr', 'a member'))
  .max(mailToMax)
  .meta({
    description: 'Members who get mail; `mail` adds or removes yourself',
    example: ['usr_01k3zq8m4hd2v7c5x9ab'],
  });

export const watchBody = z
  .strictObject({
    qrCodeId: givenId('qr', 'a QR code').optional(),
    campaignId: givenId('cmp', 'a campaign').optional(),
    silentHours: silentHours.optional(),
    spikeFactor: spikeFactor.optional(),
    target: target.optional(),
    mail: mail.optional(),
    mailTo: mailTo.optional(),
  })
  .refine(({ qrCodeId, campaignId }) => qrCodeId === undefined || campaignId === undefined, {
    path: ['campaignId'],
    message: 'Expected a code or a campaign, or neither for the workspace',
  })
  .meta({
    id: 'WatchCreate',
    example: { qrCodeId: 'qr_01k3zq8m4hd2v7c5x9ab', silentHours: 24, target: true },
  });

export const watchPatch = z
  .strictObject({
    silentHours: silentHours.nullable().optional().meta({ description: 'Null removes the rule' }),
    spikeFactor: spikeFactor.nullable().optional().meta({ description: 'Null removes the rule' }),
    target: target.optional(),
    mail: mail.optional(),
    mailTo: mailTo.optional().meta({ description: 'Replaces the list' }),
  })
  .meta({
    id: 'WatchPatch',
    example: { silentHours: 48 },
    description: 'JSON merge patch: absent keeps',
  });

const filters = {
  qrCodeId: givenId('qr', 'a QR code')
    .optional()
    .meta({ description: 'Only of this code', param: { id: 'WatchedCode' } }),
  campaignId: givenId('cmp', 'a campaign')
    .optional()
    .meta({ description: 'Only of this campaign', param: { id: 'WatchedCampaign' } }),
};
export const watchListQuery = z.object({ ...pageQuery, ...filters });

const { limit, cursor } = pageQuery;
export const incidentListQuery = z.object({
  limit,
  cursor,
  ...filters,
  watchId: givenId('wch', 'a watch').optional().meta({ description: 'Only of this watch' }),
  open: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .default(false)
    .meta({
      override: { type: 'boolean', enum: undefined, default: false },
      description: 'Only incidents that have not ended',
    }),
});

const fault = z
  .enum(targetFaults)
  .meta({ description: 'The failure; `status`: an error status', example: 'status' });
const status = z
  .int()
  .nullable()
  .meta({ description: 'Its status; null = no answer', example: 404 });
const subject = {
  qrCodeId: idField('qr', 'Id of the code').nullable().meta({ description: 'Null = another' }),
  campaignId: idField('cmp', 'Id of the campaign')
    .nullable()
    .meta({ description: 'Null = another' }),
};
const watchId = idField('wch', 'Id of the watch');
const orNull = (description: string) => time.nullable().meta({ description, example: null });
const address = z.string().meta({
  override: { format: 'uri' },
  description: 'The requested address',
  example: 'https://example.com/menu',
});
const scansOrNull = (description: string) =>
  z.number().min(0).nullable().meta({ description, example: 41.5 });

export const incident = z
  .object({
    id: idField('inc', 'Id of the incident'),
    watchId,
    ...subject,
    name: z.string().meta({
      description: 'Name of the watched code, campaign or workspace',
      example: 'Menu, table 4',
    }),
    kind: z.enum(incidentKinds).meta({ description: 'Kind of the incident', example: 'silent' }),
    since: time.meta({
      description:
        'The end of the last hour with a scan, the hour of the spike, or the first failure',
    }),
    openedAt: time.meta({ description: 'Time of the report' }),
    endedAt: orNull('End of the incident; null = open'),
    endedBy: z.enum(incidentEnds).nullable().meta({
      description:
        '`not_expected`: paused or ended; `changed`: the watch or the destination changed',
      example: null,
    }),
    expectedScans: scansOrNull('Average scans; null for a target'),
    scans: scansOrNull('Actual scans; null for a target'),
    hours: count
      .nullable()
      .meta({ description: 'Length of a silence when it was reported', example: 24 }),
    target: address.nullable().meta({ description: 'The failed target, else null' }),
    fault: fault.nullable(),
    status,
  })
  .meta({ id: 'Incident' });
export const incidentPage = cursorPageSchema('IncidentPage', incident);

const lastFaultSchema = z.object({ target: address, fault, status, at: time });

export const watch = z
  .object({
    id: watchId,
    ...subject,
    name: z.string().nullable().meta({
      description:
        'Name of the watched code, campaign or workspace; null = deleted, the watch follows',
      example: 'Menu, table 4',
    }),
    silentHours: silentHours.nullable(),
    spikeFactor: spikeFactor.nullable(),
    target,
    mailTo: z
      .array(z.string())
      .meta({ description: 'Members who get mail', example: ['usr_01k3zq8m4hd2v7c5x9ab'] }),
    state: z.enum(watchStates).meta({
      description: 'The worst open incident; `pending`: scans or targets not checked yet',
      example: 'ok',
    }),
    since: orNull('Start of this state; null while ok or pending'),
    idle: z.enum(['learning', 'inactive']).nullable().meta({
      description:
        'Reason for not expecting scans: `learning` for the first two weeks, `inactive` while it does not redirect',
      example: null,
    }),
    checkedAt: orNull('Time of the last check of its scans'),
    targetCheckedAt: orNull('Time of the last request to its targets'),
    lastFault: lastFaultSchema
      .nullable()
      .meta({ description: 'The last failed request', example: null }),
    incidents: z.array(incident).meta({ description: 'Its open incidents', example: [] }),
    createdBy: idField('usr', 'User who made it'),
    createdAt,
    updatedAt,
  })
  .meta({ id: 'Watch' });
export const watchPage = partialPageSchema('WatchPage', watch);

const subjectIds = ({ subject: of }: Pick<WatchRecord, 'subject'>) => ({
  qrCodeId: of.kind === 'code' ? of.id : null,
  campaignId: of.kind === 'campaign' ? of.id : null,
});

export function viewIncident(record: IncidentRecord): z.input<typeof incident> {
  const { expected: expectedScans, seen: scans, url } = record;
  return view(incident, { ...record, ...subjectIds(record), expectedScans, scans, target: url });
}

/** @param open its incidents that have not ended */
export function viewWatch(
  record: WatchRecord,
  findings: WatchFindings,
  name: string | undefined,
  open: readonly IncidentRecord[],
): z.input<typeof watch> & { readonly id: string } {
  const { lastFault, idle, scansCheckedAtMs, targetCheckedAtMs } = findings;
  const state = watchStateOf(record, findings);
  const sinceMs = open.filter(({ kind }) => kind === state).map((one) => one.sinceMs);
  return view(watch, {
    ...record,
    ...subjectIds(record),
    name,
    state,
    sinceMs: sinceMs.length === 0 ? undefined : Math.min(...sinceMs),
    idle: idle?.reason,
    checkedAtMs: scansCheckedAtMs,
    targetCheckedAtMs,
    lastFault: lastFault && view(lastFaultSchema, { ...lastFault, target: lastFault.url }),
    incidents: open.map(viewIncident),
  });
}
