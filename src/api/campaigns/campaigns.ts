/** /campaigns: create, list, read, change, delete, and their numbers. The rules are in src/product/campaigns. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { z } from 'zod';
import type { CampaignTotals } from '../../product/campaigns/campaign-analytics.ts';
import type { CampaignServices } from '../../product/campaigns/open-campaigns.ts';
import { type CampaignRecord, campaignStatusAt } from '../../model/campaign.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import type { Positions } from '../kernel/positions.ts';
import {
  type AnalyticsServices,
  analyticsRoutes,
  seriesDescription,
} from '../analytics/analytics-routes.ts';
import { totalsRows } from '../analytics/analytics-schemas.ts';
import { groupRows } from '../analytics/code-rows.ts';
import { checkOrder } from '../kernel/fields.ts';
import { created, deleteRoute, getRoute, postRoute, viewsOf } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import {
  campaign,
  campaignAnalytics,
  campaignCreateBody,
  campaignListQuery,
  campaignPage,
  campaignPatchBody,
  campaignRangeShape,
  viewCampaign,
} from './campaign-schemas.ts';

const tag = 'Campaigns';
/** Codes whose names are read between two yields: about 2 ms. */
const sliceCodes = 200;

export interface CampaignsOptions extends AnalyticsServices, Omit<CampaignServices, 'conversions'> {
  readonly positions: Positions;
}

export function campaignRoutes(options: CampaignsOptions): Route[] {
  return [
    createOne(options),
    listMany(options),
    getOne(options),
    patchOne(options),
    deleteOne(options),
    ...analytics(options),
  ];
}

function createOne(options: CampaignsOptions): Route {
  return postRoute({
    path: '/campaigns',
    operationId: 'createCampaign',
    access: 'editor',
    tag,
    summary: 'Create a campaign',
    description:
      'Codes and a schedule of whole UTC days, both ends included. Emits `campaign.created` now and ' +
      '`campaign.ended` within 5 minutes of the end, once.',
    body: campaignCreateBody,
    answer: { status: 201, schema: campaign, what: 'The campaign; Location names it' },
    make: async ({ actor, body: { name, startDate, endDate, qrCodeIds } }, kept) => {
      const draft = { name, startDay: startDate, endDay: endDate ?? undefined, qrCodeIds };
      return await options.campaigns.create(actor, draft, kept);
    },
    result: (record: CampaignRecord) => created('/campaigns', viewWithCodes(options, record)),
  });
}

function listMany(options: CampaignsOptions): Route {
  return getRoute({
    path: '/campaigns',
    operationId: 'listCampaigns',
    access: 'viewer',
    tag,
    summary: 'List campaigns',
    description: 'Newest first. A page past the end is empty.',
    query: campaignListQuery,
    schema: campaignPage,
    what: 'A page of campaigns',
    read: async ({ actor, query }) => {
      const positions = options.positions.of(actor.workspaceNo, 'campaigns');
      const cursor = positions.read(query.cursor);
      const found = options.campaigns.page(actor.workspaceNo, { ...query, cursor });
      const { data: records, total } = found;
      const nextCursor = positions.write(found.nextCursor);
      const data: Array<z.input<typeof campaign>> = [];
      let { unreadable } = found;
      for (const record of records) {
        const shown = viewsOf([record], () => view(options, record));
        data.push(...shown.views);
        unreadable += shown.unreadable;
        // A campaign of 1,000 codes is about 1 ms of reading.
        await yieldToEventLoop();
      }
      const { page, limit } = query;
      return { data, page, total, limit, nextCursor, unreadable: unreadable || undefined };
    },
  });
}

function getOne(options: CampaignsOptions): Route {
  return getRoute({
    path: '/campaigns/:id',
    operationId: 'getCampaign',
    access: 'viewer',
    tag,
    summary: 'Get a campaign',
    description:
      'With its codes, its status by the clock, and its final numbers once it has ended.',
    schema: campaign,
    what: 'The campaign',
    read: ({ actor, id }) => viewWithCodes(options, options.campaigns.get(actor, id)),
  });
}

function patchOne(options: CampaignsOptions): Route {
  return createRoute({
    method: 'PATCH',
    path: '/campaigns/:id',
    operationId: 'updateCampaign',
    access: 'editor',
    tag,
    summary: 'Update a campaign',
    description:
      'JSON merge patch. `endDate` moves the end, `null` removes it. After the end, schedule and codes cannot ' +
      'change (409), only the name.',
    body: campaignPatchBody,
    answer: { status: 200, schema: campaign, what: 'The campaign after the change' },
    failures: ['not_found', 'conflict', 'storage_full'],
    handle: async ({ actor, id, body: { name, startDate, endDate, qrCodeIds } }) => {
      const change = { name, startDay: startDate, endDay: endDate, qrCodeIds };
      const record = await options.campaigns.change(actor, id, change);
      return jsonResult(200, viewWithCodes(options, record));
    },
  });
}

function deleteOne({ campaigns }: CampaignsOptions): Route {
  return deleteRoute({
    path: '/campaigns/:id',
    operationId: 'deleteCampaign',
    access: 'editor',
    tag,
    summary: 'Delete a campaign',
    description: 'Permanent. Its codes stay. If its end is due, `campaign.ended` is emitted first.',
    remove: async (actor, id) => await campaigns.delete(actor, id),
  });
}

function analytics(options: CampaignsOptions): Route[] {
  const path = '/campaigns/:id/analytics';
  return analyticsRoutes(options, {
    tag,
    failures: ['not_found'],
    rangeShape: campaignRangeShape,
    scopeOf: ({ actor, id, query: { from, to }, calendar }) => {
      const record = options.campaigns.get(actor, id);
      checkOrder(from, to);
      const span = { fromDay: from, toDay: to };
      const subject = options.analytics.subjectOf(record);
      const range = options.analytics.range(record, span, calendar);
      const shown = options.analytics.seriesRange(record, span, calendar);
      return { subject, range, shown, record };
    },
    totals: {
      path,
      operationId: 'getCampaignAnalytics',
      summary: 'Campaign analytics',
      description:
        'Scans of all codes inside the schedule, which has UTC days: sums, and the union of the scanners. ' +
        '`conversionRate` is conversions divided by scans; conversions count by UTC day.',
      schema: campaignAnalytics,
      fileName: 'campaign',
      find: async ({ record, ...scope }) =>
        await withNames(options, record.workspaceNo, await options.analytics.totals(record, scope)),
      rows: (found) => [
        ...totalsRows(found),
        ['conversions', '', found.conversions],
        ['conversionValue', '', found.conversionValue],
        ['conversionRate', '', found.conversionRate ?? 0],
        ...found.codes.map(({ qrCodeId, totalScans }) => ['code', qrCodeId, totalScans] as const),
        ...found.timeseries.map(({ date, scans }) => ['day', date, scans] as const),
      ],
    },
    series: {
      path: `${path}/timeseries`,
      operationId: 'getCampaignTimeseries',
      summary: 'Campaign scans over time',
      description: `${seriesDescription} Only days of the schedule, until today.`,
    },
    breakdown: {
      path: `${path}/breakdown`,
      operationId: 'getCampaignBreakdown',
      summary: 'Campaign scans by dimension',
      groups: (scope, by, workspaceNo) => groupRows(options, scope, by, workspaceNo),
    },
  });
}

function view({ campaigns, clock }: CampaignsOptions, record: CampaignRecord) {
  const status = campaignStatusAt(record, clock.now());
  return viewCampaign(record, status, campaigns.qrCodeIdsOf(record));
}

/** At 1,000 codes about 8 ms of reading: in one go, because it is kept inside the transaction that makes it. */
function viewWithCodes(options: CampaignsOptions, record: CampaignRecord) {
  const shown = view(options, record);
  const qrCodes = shown.qrCodeIds.map((id) => ({
    id,
    ...nameOf(options, record.workspaceNo, id),
  }));
  return { ...shown, qrCodes };
}

async function withNames(
  options: CampaignsOptions,
  workspaceNo: WorkspaceNo,
  totals: CampaignTotals,
) {
  const codes: Array<CampaignTotals['codes'][number] & ReturnType<typeof nameOf>> = [];
  for (const code of totals.codes) {
    codes.push({ ...code, ...nameOf(options, workspaceNo, code.qrCodeId) });
    if (codes.length % sliceCodes === 0) await yieldToEventLoop();
  }
  return { ...totals, codes };
}

/** How people know the code. */
function nameOf({ codes }: CampaignsOptions, workspaceNo: WorkspaceNo, id: string) {
  const code = codes.find(workspaceNo, id);
  return { name: code?.name ?? null, target: code?.target ?? null };
}
