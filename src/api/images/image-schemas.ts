/** Schemas of images, previews and logos. */
import { z } from 'zod';
import { design, logoDataUrl, logoName } from '../../product/images/design/design.ts';
import {
  imageFormats,
  logoMediaTypes,
  millimetresMax,
  millimetresMin,
  sizeMax,
  sizeMin,
  sizeStandard,
} from '../../product/images/formats.ts';
import { codeTypes } from '../../model/code.ts';
import { count, createdAt, queryInteger } from '../kernel/fields.ts';

/** Codes in one archive. */
const archiveCodesMax = 1_000;
/** A logo of 256 KB as base64, and more: a logo somewhat too large gets a better answer than 413. */
export const designBodyBytesMax = 524_288;

const print = `Expected a whole number of millimeters from ${millimetresMin} to ${millimetresMax}`;

export const imageQuery = z.object({
  size: queryInteger(sizeMin, sizeMax, sizeStandard),
  /** In place of `size`. */
  mm: z
    .string()
    .regex(/^\d{1,4}$/, print)
    .transform(Number)
    .refine((edge) => edge >= millimetresMin && edge <= millimetresMax, {
      message: print,
      params: { code: 'out_of_range' },
    })
    .optional(),
  download: z.enum(['0', '1']).default('0'),
  v: z.string().max(64).optional(),
});

const codeId = z.string().max(64).meta({ example: 'qr_01k3zq8m4hd2v7c5x9ab' });
const size = z
  .int()
  .min(sizeMin)
  .max(sizeMax)
  .meta({ description: 'Edge in pixels; in points for PDF and EPS. Default 512', example: 1024 });

export const archiveBody = z
  .strictObject({
    ids: z
      .array(codeId)
      .min(1)
      .max(archiveCodesMax)
      .refine((ids) => new Set(ids).size === ids.length, 'Expected each id once')
      .meta({ description: 'Live codes of the workspace' }),
    format: z.enum(imageFormats).default('png').meta({ description: 'Of every image' }),
    size: size.default(sizeStandard),
  })
  .meta({
    id: 'ImageArchiveRequest',
    example: { ids: ['qr_01k3zq8m4hd2v7c5x9ab'], format: 'png', size: 1024 },
  });

export const previewBody = z
  .strictObject({
    design: design.default({}),
    id: codeId.optional().meta({ description: 'Draw this code' }),
    target: z.string().min(1).max(8_192).optional().meta({
      description: 'Draw a static code of this target. Without `id` and `target`: a short URL',
    }),
    type: z.enum(codeTypes).default('url').meta({ description: 'Of `target`' }),
    format: z.enum(['svg', 'png']).default('svg').meta({ description: 'Of the image' }),
    size: size.default(sizeStandard),
  })
  .refine(({ id, target }) => id === undefined || target === undefined, {
    path: ['target'],
    error: 'Expected `id` or `target`, not both',
  })
  .meta({
    id: 'ImagePreviewRequest',
    example: { design: { foreground: '#0f6b5c', dotStyle: 'rounded' } },
  });

export const logoBody = z
  .strictObject({
    data: z
      .string()
      .regex(logoDataUrl, { error: 'Expected data:image/png;base64,… (png, jpeg, svg+xml)' })
      .meta({
        description: 'The file as a data URL',
        example:
          'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      }),
  })
  .meta({ id: 'LogoUpload', description: 'Or the file itself as the body, with its media type' });

export const logoBodyMedia: readonly string[] = logoMediaTypes;

export const logo = z
  .object({
    id: z.string().meta({
      override: { pattern: logoName.source },
      description: 'For `design.logo`',
      example: 'logo:0123456789abcdef0123456789abcdef',
    }),
    width: count.meta({ description: 'Pixels of the stored logo', example: 512 }),
    height: count.meta({ description: 'Pixels of the stored logo', example: 512 }),
    bytes: count.meta({ description: 'Size of the stored PNG', example: 18_204 }),
    codes: count.meta({ description: 'Live codes with this logo', example: 3 }),
    createdAt,
  })
  .meta({ id: 'Logo' });

export const logoList = z
  .object({
    data: z.array(logo).meta({ description: 'All logos, newest first' }),
    total: count.meta({ description: 'Number of logos', example: 1 }),
  })
  .meta({ id: 'LogoList' });
