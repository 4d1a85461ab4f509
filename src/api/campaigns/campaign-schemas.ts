/** Campaigns and conversions on the wire: what a client may send and what it gets. */
import { z } from 'zod';
import {
  campaignCodesMax,
  type CampaignRecord,
  campaignStatuses,
  type CampaignStatus,
} from '../../model/campaign.ts';
import { formatDay } from '../../model/day.ts';
import {
  comparedTotals,
  day,
  firstDay,
  lastDay,
  rangeShape,
  scanCount,
  totalsShape,
} from '../analytics/analytics-schemas.ts';
import {
  count,
  createdAt,
  givenId,
  idField,
  pageQuery,
  plainText,
  queryDay,
  time,
  updatedAt,
} from '../kernel/fields.ts';
import { shownName } from '../codes/code-schemas.ts';
import { partialPageSchema } from '../kernel/resource.ts';
import { view } from '../kernel/view.ts';

const nameLengthMax = 120;
const externalIdLengthMax = 255;
const valueMax = 1_000_000_000;

const name = plainText(nameLengthMax).meta({
  description: 'Display name',
  example: 'Spring menu',
});
const startDate = queryDay.meta({ description: 'First UTC day' });
const endDate = queryDay.meta({
  description: 'Last UTC day, included: the campaign ends at the start of the day after it',
  example: '2026-03-31',
});
const id = idField('cmp', 'Id of the campaign');
const qrCodeId = idField('qr', 'Id of the code');
const givenQrCodeId = givenId('qr', 'a QR code');
const qrCodeIds = z
  .array(givenQrCodeId)
  .max(campaignCodesMax)
  .meta({
    description: 'Live codes of the workspace, each once',
    example: ['qr_01k3zq8m4hd2v7c5x9ab'],
  });
const rate = z
  .number()
  .meta({ description: 'Conversions per scan; 0 without scans', example: 0.25 });

const conversions = count.meta({ description: 'Conversions', example: 12 });
const conversionValue = z.number().min(0).meta({
  description: 'Sum of the conversions’ `value`, without a currency',
  example: 24.9,
});

export const campaignCreateBody = z
  .strictObject({
    name,
    startDate,
    endDate: endDate.nullable().optional().meta({ description: 'Absent or null: without an end' }),
    qrCodeIds,
  })
  .meta({
    id: 'CampaignCreate',
    example: {
      name: 'Spring menu',
      startDate: '2026-03-01',
      endDate: '2026-03-31',
      qrCodeIds: ['qr_01k3zq8m4hd2v7c5x9ab'],
    },
  });

export const campaignPatchBody = z
  .strictObject({
    name: name.optional(),
    startDate: startDate.optional(),
    endDate: endDate.nullable().optional().meta({ description: 'Null removes the end' }),
    qrCodeIds: qrCodeIds.optional().meta({ description: 'Replaces the list' }),
  })
  .meta({
    id: 'CampaignPatch',
    example: { endDate: '2026-04-30' },
    description: 'JSON merge patch: absent keeps',
  });

export const campaignListQuery = z.object({
  ...pageQuery,
  status: z
    .enum(campaignStatuses)
    .optional()
    .meta({ description: 'Only campaigns with this status now' }),
});

const named = {
  name: shownName,
  target: z.string().nullable().meta({
    description: 'Its target; null for a deleted code',
    example: 'https://example.com/menu',
  }),
};

const campaignResult = z.object({
  endedAt: time.meta({ description: 'Time of the count' }),
  totalScans: count.meta({ description: 'Scans inside the schedule', example: 1_284 }),
  uniqueScanners: count.meta({ description: 'Union over its codes', example: 973 }),
  conversions,
  conversionRate: rate,
});

export const campaign = z
  .object({
    id,
    name: z.string().meta({ description: 'Display name', example: 'Spring menu' }),
    startDate: day.meta({ description: 'First UTC day' }),
    endDate: day
      .nullable()
      .meta({ description: 'Last UTC day, included; null = no end', example: '2026-03-31' }),
    qrCodeIds: z.array(z.string()).meta({
      description: 'Ids of its codes, in the given order',
      example: ['qr_01k3zq8m4hd2v7c5x9ab'],
    }),
    qrCodes: z
      .array(z.object({ id: qrCodeId, ...named }))
      .optional()
      .meta({ description: 'The same codes by name; absent in lists, to keep them small' }),
    status: z
      .enum(campaignStatuses)
      .meta({ description: 'Depends on its schedule and the clock', example: 'active' }),
    createdAt,
    updatedAt,
    result: campaignResult.nullable().meta({
      description:
        'The numbers of `campaign.ended`; null until then, at most 5 minutes after the end',
      example: null,
    }),
  })
  .meta({ id: 'Campaign' });
export const campaignPage = partialPageSchema('CampaignPage', campaign);

export const campaignRangeShape = rangeShape('Campaign', 'the start', 'the end');

export const campaignAnalytics = comparedTotals(
  {
    ...totalsShape,
    conversions,
    conversionValue,
    conversionRate: rate.nullable().meta({
      description: 'Conversions divided by scans; 0 without scans, null with a filter',
      example: 0.05,
    }),
    codes: z
      .array(
        z.object({
          qrCodeId,
          ...named,
          deleted: z.boolean().meta({ description: 'The code was deleted', example: false }),
          totalScans: scanCount,
          conversions,
          conversionValue,
        }),
      )
      .meta({
        description: 'Every code, most scans first, including deleted codes that still count',
      }),
    timeseries: z
      .array(z.object({ date: day, scans: scanCount }))
      .meta({ description: 'Scans of each day until today or the end' }),
  },
  'CampaignAnalyticsBefore',
).meta({ id: 'CampaignAnalytics' });

export const conversionBody = z
  .strictObject({
    qrCodeId: givenQrCodeId,
    value: z.number().min(0).max(valueMax).optional().meta({
      description: 'Its value, in your currency; summed',
      example: 19.9,
    }),
    externalId: plainText(externalIdLengthMax).optional().meta({
      description: 'Your id of the conversion: within 90 days it counts once',
      example: 'order-4711',
    }),
  })
  .meta({
    id: 'ConversionCreate',
    example: { qrCodeId: 'qr_01k3zq8m4hd2v7c5x9ab', value: 19.9, externalId: 'order-4711' },
  });

export const conversion = z
  .object({
    qrCodeId,
    value: z.number().nullable().meta({ description: 'Its value; null without', example: 19.9 }),
    externalId: z
      .string()
      .nullable()
      .meta({ description: 'Your id of the conversion; null without', example: 'order-4711' }),
    createdAt: time.meta({ description: 'When it was counted' }),
    deduplicated: z.boolean().meta({ description: 'True if an earlier request counted it' }),
  })
  .meta({ id: 'Conversion' });

export const codeConversions = z
  .object({
    from: firstDay,
    to: lastDay,
    conversions,
    value: conversionValue,
    data: z
      .array(z.object({ date: day, conversions, value: conversionValue }))
      .meta({ description: 'Days with conversions, oldest first' }),
  })
  .meta({ id: 'CodeConversions' });

export function viewCampaign(
  record: CampaignRecord,
  status: CampaignStatus,
  codeIds: readonly string[],
): z.input<typeof campaign> {
  const { startDay, endDay, end } = record;
  return view(campaign, {
    ...record,
    startDate: formatDay(startDay),
    endDate: endDay === undefined ? null : formatDay(endDay),
    qrCodeIds: codeIds,
    status,
    result: end && view(campaignResult, { ...end, endedAtMs: end.atMs }),
  });
}
