/**
 * QR codes on the wire: what a client may send and what it gets. The bounds are those of product/codes/rules.ts.
 * Objects are strict: an unknown field is a typing error, which is reported and not ignored.
 */
import { z } from 'zod';
import {
  externalIdLengthMax,
  importedSlugPattern,
  metadataFaults,
  nameLengthMax,
  scanLimitMax,
  searchLengthMax,
  searchWordsMax,
  slugPattern,
  tagLengthMax,
  tagsMax,
} from '../../product/codes/rules.ts';
import { searchWords } from '../../product/codes/search/search-text.ts';
import { design, gradient } from '../../product/images/design/design.ts';
import { codeCampaignsMax } from '../../model/campaign.ts';
import { codeSorts, codeStatuses, codeTypes } from '../../model/code.ts';
import { parseId } from '../../model/ids.ts';
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
import { day } from '../analytics/analytics-schemas.ts';
import { partialPageSchema } from '../kernel/resource.ts';
import {
  patchFields,
  routingFields,
  shownRouting,
  storableTime,
  unset,
  unsetFields,
} from './routing-schemas.ts';

/** The longest target of any type; the type's own rule may be stricter. */
const targetLengthMax = 8_192;

const type = z.enum(codeTypes).meta({
  description: 'Content type of the code. `url` may be dynamic; the others are static',
  example: 'url',
});
const target = z
  .string()
  .min(1)
  .max(targetLengthMax)
  .meta({
    description:
      'The destination; for other types, the content. E-mail addresses, phone numbers, SMS numbers and ' +
      'coordinates are stored and answered with `mailto:`, `tel:`, `SMSTO:` and `geo:`',
    example: 'https://example.com/menu',
  });
const name = plainText(nameLengthMax).meta({
  description: 'Display name',
  example: 'Table 12',
});
const slug = z
  .string()
  .regex(slugPattern, 'Expected 3 to 64 letters, digits, _ or -')
  .meta({ description: 'Custom short code, never reused', example: 'menu-12' });
const tags = z
  .array(plainText(tagLengthMax))
  .max(tagsMax)
  .meta({
    description: 'Search words, in the workspace’s spelling (GET /qr-codes/tags)',
    example: ['menu', 'berlin'],
  });
const scanLimit = z.int().min(1).max(scanLimitMax).meta({
  description: 'Scans after which the code leads to `fallbackUrl`, or answers 410',
  example: 10_000,
});
const metadata = z
  .record(z.string(), z.unknown())
  .superRefine((value, context) => {
    for (const { message } of metadataFaults(value)) context.addIssue({ code: 'custom', message });
  })
  .meta({ description: 'Your data, returned unchanged', example: { table: 12 } });
const campaignId = givenId('cmp', 'a campaign');
const campaignIds = z.array(campaignId).max(codeCampaignsMax).meta({
  description:
    'All its campaigns. An ended campaign keeps its codes, even if it is not in the list',
});
const externalId = plainText(externalIdLengthMax).meta({
  description: 'Your id of the code, unique in the workspace',
  example: 'table-12',
});
const expiresAt = storableTime.meta({
  description: 'From this time, the code leads to `fallbackUrl`, or answers 410',
});

const fields = {
  name,
  tags,
  expiresAt,
  scanLimit,
  metadata,
  externalId,
  campaignIds,
  ...routingFields,
};
/** The fields that PUT can change, next to `target`; absent or null = default. */
const changeable = {
  ...unsetFields(fields),
  utm: unset(fields.utm).meta({ description: 'Parameters added to every target' }),
  design: unset(design).meta({ description: 'Absent or null: the plain image' }),
};

export const createBody = z
  .strictObject({
    type: type.optional().meta({
      description:
        'Content type of the code. `url`, the default, may be dynamic; the others are static',
    }),
    target,
    dynamic: z.boolean().optional().meta({
      description: 'Default true for `url`: a printed code whose target can change',
    }),
    slug: unset(slug),
    ...changeable,
  })
  .meta({
    id: 'QrCodeCreate',
    example: { target: 'https://example.com/menu', name: 'Table 12', tags: ['menu'] },
  });

/** A row of an import: with a slug that another tool gave, and without a design. */
export const importBody = createBody.extend({
  slug: unset(
    z
      .string()
      .regex(
        importedSlugPattern,
        'Expected 1 to 64 letters, digits, _ or -, in segments separated by /',
      ),
  ),
  design: z
    .unknown()
    .optional()
    .refine((value) => value === undefined || value === null, {
      message: 'Designs are checked by the running service: use POST /v1/qr-codes/bulk',
      params: { code: 'not_importable' },
    })
    .transform(() => undefined),
});

const partialGradient = { ...gradient.shape, type: gradient.shape.type.nullable() };
/** `design` checks the result of the merge. */
const designPatch = z
  .strictObject({
    ...patchFields(design.shape),
    gradient: z
      .strictObject(partialGradient)
      .partial()
      .nullable()
      .optional()
      .meta({ description: 'Replaces `foreground`; null removes it' }),
  })
  .meta({ id: 'DesignPatch', description: 'Merged into the design: absent keeps, null resets' });

export const patchBody = z
  .strictObject({
    target: target.optional(),
    ...patchFields(fields),
    utm: fields.utm
      .nullable()
      .optional()
      .meta({ description: 'Merged into its parameters; null removes all' }),
    design: designPatch.nullable().optional().meta({
      description: 'Merged into the design; null makes the image plain',
    }),
  })
  .meta({
    id: 'QrCodePatch',
    example: { target: 'https://example.com/winter-menu' },
    description: 'JSON merge patch: absent keeps, null removes',
  });

const idsMax = 100;
const idList = z
  .string()
  .transform((text) => [...new Set(text.split(','))])
  .refine(
    (ids) => ids.length <= idsMax && ids.every((text) => parseId('qr', text) !== undefined),
    `Expected up to ${idsMax} QR code ids (qr_…) with commas between them`,
  )
  .meta({ override: { type: 'string' }, example: 'qr_01k3zq8m4hd2v7c5x9ab' });

export const listQuery = z.object({
  ...pageQuery,
  ids: idList.optional().meta({
    description: `The live codes of these ids: up to ${idsMax}, separated by commas, without other filters`,
  }),
  type: z.enum(codeTypes).optional().meta({ description: 'Codes of this type' }),
  campaign: campaignId.optional().meta({ description: 'Codes of this campaign' }),
  externalId: externalId.optional().meta({
    description: 'The live code with this id; without other filters',
  }),
  sort: z.enum(codeSorts).optional().meta({
    description: '`-createdAt`, the default: newest first; `createdAt`: oldest first',
  }),
  from: queryDay.optional().meta({ description: 'Created on this UTC day or later' }),
  to: queryDay.optional().meta({ description: 'Created on this UTC day or before' }),
  search: z
    .string()
    .min(1)
    .max(searchLengthMax)
    .refine((text) => searchWords(text).length <= searchWordsMax, {
      message: `Expected at most ${searchWordsMax} words`,
      params: { code: 'too_many' },
    })
    .optional()
    .meta({
      description:
        'Words or parts of words in name, target, short code or external id, in any order; case and ' +
        `accents are ignored. At most ${searchWordsMax}`,
      example: 'menu berlin',
    }),
  tag: z
    .string()
    .min(1)
    .max(tagLengthMax)
    .optional()
    .meta({ description: 'Codes with this tag; case and accents are ignored' }),
  dynamic: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .meta({
      override: { type: 'boolean', enum: undefined },
      description: 'Only dynamic codes, or only static ones',
    }),
  status: z.enum(codeStatuses).optional().meta({
    description:
      'Only codes with this status now. Each has one status: expired codes are not `used_up`',
  }),
});

const status = z.enum(codeStatuses).meta({
  description:
    '`active`: it redirects, or is static. `paused` by you, `not_started` before `startsAt`, `expired` since ' +
    '`expiresAt`, `used_up` from its `scanLimit`-th scan; the first that applies. Its short link then ' +
    'leads to `fallbackUrl`, or answers 410 (404 before it begins)',
  example: 'active',
});

const id = idField('qr', 'Id of the code');
export const shownTarget = target.meta({
  description: 'Its destination; for static types, the content',
});
export const dynamic = z.boolean().meta({
  description: 'Whether the target can change after printing',
});
export const shownName = z
  .string()
  .nullable()
  .meta({ description: 'Display name; null without', example: 'Table 12' });
const scans = count.meta({
  description: 'Lifetime scans without bots and prefetches',
  example: 42,
});
const shownTags = z.array(z.string()).meta({ description: 'Search words', example: ['menu'] });
export const shortUrl = z
  .string()
  .optional()
  .meta({
    override: { format: 'uri' },
    description: 'The printed address; dynamic codes only',
    example: 'http://localhost:8081/K7RM2X9D',
  });
const imageUrl = z.string().meta({
  override: { format: 'uri' },
  description: 'The picture to print; also as .svg, .pdf, .eps, .webp',
  example: 'http://localhost:8080/i/qr_01k3zq8m4hd2v7c5x9ab.png',
});

const shownSlug = z
  .string()
  .nullable()
  .meta({ description: 'The short code; null for static codes', example: 'K7RM2X9D' });
const shownCampaignIds = z
  .array(z.string())
  .meta({ description: 'Its campaigns, oldest first', example: [] });
const shownExpiresAt = time.nullable().meta({
  description: 'From this time, it leads to `fallbackUrl`, or answers 410; null = never',
  example: null,
});

/** Of a code and of an item of a list. */
const shownFields = {
  id,
  type,
  target: shownTarget,
  status,
  scans,
  createdAt,
  name: shownName,
  dynamic,
  shortUrl,
  imageUrl,
  slug: shownSlug,
  tags: shownTags,
  campaignIds: shownCampaignIds,
  expiresAt: shownExpiresAt,
};

export const qrCode = z
  .object({
    ...shownFields,
    campaigns: z
      .array(
        z.object({
          id: idField('cmp', 'Id of the campaign'),
          name: z.string().meta({ description: 'Its name', example: 'Summer' }),
          startDate: day.meta({ description: 'First UTC day' }),
          endDate: day.nullable().meta({ description: 'Last UTC day; null = none', example: null }),
        }),
      )
      .max(codeCampaignsMax)
      .meta({ description: 'The same with their names and days, oldest first' }),
    scanLimit: count.nullable().meta({
      description: 'Scans after which it leads to `fallbackUrl`, or answers 410; null = no limit',
      example: null,
    }),
    metadata: z
      .record(z.string(), z.unknown())
      .meta({ description: 'Your data', example: { table: 12 } }),
    design: design.nullable().meta({ description: 'Null = the plain image' }),
    ...shownRouting,
    externalId: z
      .string()
      .nullable()
      .meta({ description: 'Your id of the code; null without', example: 'table-12' }),
    createdBy: idField('usr', 'User who made it'),
    updatedAt,
  })
  .meta({ id: 'QrCode' });

export const putBody = z
  .strictObject({
    ...qrCode.partial().shape,
    target,
    ...changeable,
  })
  .meta({
    id: 'QrCodePut',
    example: { target: 'https://example.com/winter-menu', name: 'Table 12' },
    description:
      'Full replacement: absent or null resets. Accepts the answer of GET: unchanged fields that cannot change are ignored',
  });

export const qrCodeItem = z.object(shownFields).meta({ id: 'QrCodeItem' });

export const qrCodePage = partialPageSchema('QrCodePage', qrCodeItem);
