/**
 * /reports: links that show the numbers of a code or a campaign to people without an account. The rules are in
 * product/reports/; public-pages.ts answers a link. A member who may not create links lists reports without them.
 */
import { z } from 'zod';
import {
  type ReportRecord,
  reportRanges,
  reportsMax,
  reportTitleLengthMax,
} from '../../model/reports/report.ts';
import { type Actor, roleAtLeast } from '../../model/workspace.ts';
import { type Reports, reportStatuses } from '../../product/reports/reports.ts';
import { timeZone } from '../codes/time-zone.ts';
import { createdAt, givenId, idField, moment, plainText, time } from '../kernel/fields.ts';
import {
  created,
  deleteRoute,
  getRoute,
  listRoute,
  pageSchema,
  postRoute,
} from '../kernel/resource.ts';
import type { Route } from '../kernel/route.ts';
import { view } from '../kernel/view.ts';

const tag = 'Reports';

const range = z.enum(reportRanges).meta({
  description: 'Days shown first; `all`: since the code or campaign began',
  example: '30d',
});
const title = plainText(reportTitleLengthMax).meta({
  description: 'Title of the page, instead of the name of the code or campaign',
  example: 'Summer menu, all branches',
});

const reportBody = z
  .strictObject({
    qrCodeId: givenId('qr', 'a QR code').optional(),
    campaignId: givenId('cmp', 'a campaign').optional(),
    title: title.optional(),
    range: range.default('30d'),
    timezone: timeZone.optional().meta({
      description: 'Time zone of the days; default: the workspace’s, even if it changes',
      example: 'Europe/Berlin',
    }),
    expiresAt: moment.nullable().optional().meta({
      description: 'End of the link; null or absent = until revoked',
    }),
  })
  .superRefine(({ qrCodeId, campaignId }, context) => {
    if ((qrCodeId === undefined) !== (campaignId === undefined)) return;
    const message = 'Expected either qrCodeId or campaignId';
    const params = { code: qrCodeId === undefined ? 'required' : 'not_allowed' };
    context.addIssue({ code: 'custom', path: ['qrCodeId'], message, params });
  })
  .meta({ id: 'ReportCreate', example: { qrCodeId: 'qr_01k3zq8m4hd2v7c5x9ab', range: '30d' } });

const report = z
  .object({
    id: idField('rep', 'Id of the report'),
    url: z
      .string()
      .nullable()
      .meta({
        override: { format: 'uri' },
        description:
          'The link: everyone with it sees the numbers. Null for a viewer, or if the service has other signing keys',
        example: 'http://localhost:8080/r/Wm3Qx0uYt6n1kZ8vB4hR2cJ7sLpE9dGaFoKiXyTbUqM',
      }),
    qrCodeId: idField('qr', 'The code').nullable().meta({ description: 'Null for a campaign’s' }),
    campaignId: idField('cmp', 'The campaign')
      .nullable()
      .meta({ description: 'Null for a code’s' }),
    title: z.string().nullable().meta({
      description: 'Title of the page; null = the name of the code or campaign',
      example: 'Summer menu, all branches',
    }),
    range,
    timezone: z.string().nullable().meta({
      description: 'Time zone of the days; null = the workspace’s',
      example: 'Europe/Berlin',
    }),
    status: z.enum(reportStatuses).meta({
      description: '`expired`: by `expiresAt`; `gone`: the code or campaign was deleted',
      example: 'active',
    }),
    expiresAt: time.nullable().meta({ description: 'Null = until revoked' }),
    createdBy: idField('usr', 'User who shared it'),
    createdAt,
  })
  .meta({ id: 'Report' });

export interface ReportRoutesOptions {
  readonly reports: Reports;
  /** The management address. */
  readonly publicUrl: string;
}

export function reportRoutes(options: ReportRoutesOptions): Route[] {
  const { reports } = options;
  const views = (record: ReportRecord, actor: Actor) => viewReport(options, record, actor);
  const listReports = listRoute({
    path: '/reports',
    operationId: 'listReports',
    access: 'viewer',
    tag,
    summary: 'List shared reports',
    description: `Newest first, including ended reports; at most ${reportsMax}.`,
    schema: pageSchema('ReportPage', report),
    items: ({ actor }) => reports.list(actor.workspaceNo).map((record) => ({ record, actor })),
    idOf: ({ record }) => record.id,
    view: ({ record, actor }) => views(record, actor),
  });
  const getReport = getRoute({
    path: '/reports/:id',
    operationId: 'getReport',
    access: 'viewer',
    tag,
    summary: 'Get a shared report',
    description: 'With its link, for members who may share.',
    schema: report,
    what: 'The report',
    read: ({ actor, id }) => views(reports.get(actor.workspaceNo, id), actor),
  });
  const deleteReport = deleteRoute({
    path: '/reports/:id',
    operationId: 'deleteReport',
    access: 'editor',
    tag,
    summary: 'Revoke a shared report',
    description: 'Its link stops working at once.',
    remove: async ({ workspaceNo }, id) => await reports.revoke(workspaceNo, id),
  });
  return [createReport(options), listReports, getReport, deleteReport];
}

const createReport = (options: ReportRoutesOptions): Route =>
  postRoute({
    path: '/reports',
    operationId: 'createReport',
    access: 'editor',
    tag,
    summary: 'Share a report',
    description:
      'Creates a link to a page with only the numbers and charts of one code or campaign: no target, addresses ' +
      'or single scans. It works for everyone with the link, until it expires or is revoked.',
    body: reportBody,
    answer: { status: 201, schema: report, what: 'The report; Location names it' },
    failures: ['not_found', 'static_code', 'conflict'],
    make: async ({ actor, body }, kept) => {
      const { qrCodeId, campaignId, expiresAt, ...rest } = body;
      const of = qrCodeId ?? campaignId ?? '';
      return await options.reports.create(
        actor,
        { ...rest, of, expiresAtMs: expiresAt ?? undefined },
        kept,
      );
    },
    result: (made: ReportRecord, actor: Actor) =>
      created('/reports', viewReport(options, made, actor)),
  });

function viewReport(
  { reports, publicUrl }: ReportRoutesOptions,
  record: ReportRecord,
  actor: Actor,
) {
  const token = roleAtLeast(actor.role, 'editor') ? reports.tokenOf(record) : undefined;
  const isCampaign = record.of.startsWith('cmp_');
  return view(report, {
    ...record,
    url: token && `${publicUrl}/r/${token}`,
    [isCampaign ? 'campaignId' : 'qrCodeId']: record.of,
    status: reports.statusOf(record),
  });
}
