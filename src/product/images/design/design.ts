/**
 * The schema of a design and of its merge patch. Whether the image can be read is checked elsewhere:
 * `legibilityFaults` checks the colors, `scannable` draws the image and decodes it.
 */
import { z } from 'zod';
import {
  type Design,
  dotStyles,
  errorCorrections,
  eyeStyles,
  gradientTypes,
} from '../../../model/design.ts';
import type { Fault } from '../../../model/failure.ts';
import { logoBytesMax, type LogoMediaType, logoMediaTypes } from '../formats.ts';

/** Beyond it an image is mostly margin: 20 modules on each side of the smallest symbol's 21. */
const marginMax = 20;
/** More of the symbol under a logo than error correction H can restore. */
const logoScaleMax = 0.25;
/** Below it a logo is a speck. */
const logoScaleMin = 0.05;
/** base64 of it, with its media type in front. */
export const logoTextMax = Math.ceil(logoBytesMax / 3) * 4 + 64;

export const logoName = /^logo:[0-9a-f]{32}$/;
export const logoDataUrl = /^data:image\/(?:png|jpeg|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/;

const color = z
  .string()
  .regex(/^#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/, 'Expected a color such as #1a2b3c')
  .meta({ example: '#1a2b3c' });

export const gradient = z
  .strictObject({
    from: color.meta({ description: 'Color at the start' }),
    to: color.meta({ description: 'Color at the end', example: '#0f6b5c' }),
    type: z
      .enum(gradientTypes)
      .optional()
      .meta({ description: 'Default linear: from the upper left to the lower right corner' }),
  })
  .meta({ description: 'In place of `foreground`' });

export const design = z
  .strictObject({
    foreground: color.meta({ description: 'Color of the modules. Default black' }),
    background: z
      .union([color, z.literal('transparent')], {
        error: 'Expected a color such as #1a2b3c, or transparent',
      })
      .meta({
        description: 'Default white. `transparent` is for white paper, and checked on it',
        example: '#ffffff',
      }),
    errorCorrection: z.enum(errorCorrections).meta({
      description: 'Share that may be lost: 7, 15, 25 or 30 %. Default M, with a logo H',
    }),
    margin: z.int().min(0).max(marginMax).meta({
      description: 'Quiet zone in modules. Default 4, which the standard asks for',
      example: 4,
    }),
    dotStyle: z.enum(dotStyles).meta({ description: 'Shape of the modules. Default square' }),
    eyeStyle: z.enum(eyeStyles).meta({ description: 'Shape of the three corners. Default square' }),
    eyeColor: color.meta({ description: 'Color of the three corners. Default: as the modules' }),
    logo: z
      .string()
      .max(logoTextMax, `Expected a file of at most ${logoBytesMax} bytes`)
      .refine((text) => logoName.test(text) || logoDataUrl.test(text), {
        error: 'Expected logo:… of a stored logo, or data:image/png;base64,… (png, jpeg, svg+xml)',
      })
      .meta({
        description:
          'A stored logo by its id, or a data URL (PNG, JPEG, SVG, at most 256 KB), which is stored',
        example: 'logo:0123456789abcdef0123456789abcdef',
      }),
    logoScale: z.number().min(logoScaleMin).max(logoScaleMax).meta({
      description: 'Edge of the logo as a share of the symbol’s. Default 0.22',
      example: 0.22,
    }),
    gradient,
  })
  .partial()
  .meta({
    id: 'Design',
    description: 'What the image looks like. It is read back before it is kept',
  });

/** @returns the design without absent fields, or its faults */
export function parseDesign(
  value: object,
): { readonly design: Design } | { readonly faults: readonly Fault[] } {
  const result = design.safeParse(value);
  if (result.success) return { design: result.data };
  const faults = result.error.issues.map(({ path, message }) => ({
    path: ['design', ...path.map(String)].join('.'),
    code: 'invalid',
    message,
  }));
  return { faults };
}

/** @param data as `logoDataUrl` has it */
export function readDataUrl(data: string): {
  readonly bytes: Uint8Array;
  readonly mediaType: LogoMediaType;
} {
  const comma = data.indexOf(',');
  const mediaType = logoMediaTypes.find((type) => data.startsWith(`data:${type};`));
  if (mediaType === undefined) throw new Error('Cannot read a logo: its schema let it through');
  return { bytes: Buffer.from(data.slice(comma + 1), 'base64'), mediaType };
}
