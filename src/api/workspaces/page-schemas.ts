/**
 * The brand of a workspace and its texts for pages, as the wire has them. They are bounded in characters and in bytes of
 * HTML, because a page has 5 KB at most.
 */
import { z } from 'zod';
import { isFaults, validateTarget } from '../../product/codes/targets.ts';
import { logoDataUrl, logoTextMax } from '../../product/images/design/design.ts';
import { logoBytesMax } from '../../product/images/formats.ts';
import {
  brandNameLengthMax,
  endedReasons,
  pageTextLengthMax,
  pageTitleLengthMax,
  supportUrlLengthMax,
} from '../../model/routing/pages.ts';
import { escapeHtml } from '../../model/text.ts';
import { plainText } from '../kernel/fields.ts';

/** A letter of most alphabets has up to three bytes in UTF-8; `&`, `<` and quotes have five or six in HTML. */
const bytesPerCharacter = 3;
const languageLengthMax = 35;

const bytesAsHtml = (text: string): number => Buffer.byteLength(escapeHtml(text));

function pageLine(lengthMax: number) {
  const bytesMax = lengthMax * bytesPerCharacter;
  return plainText(lengthMax).refine((text) => bytesAsHtml(text) <= bytesMax, {
    error: `Expected at most ${bytesMax} bytes as HTML, in which & < > and quotes take five or six`,
    params: { code: 'too_big' },
  });
}

const brandName = pageLine(brandNameLengthMax).meta({
  description: 'Shown at the top, or the text of the logo',
  example: 'Old Town Bakery',
});
const color = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, 'Expected a color such as #0f6b5c')
  .meta({
    description:
      'Of links and drawings; pages make it lighter or darker where it would be hard to read',
    example: '#0f6b5c',
  });
const givenLogo = z
  .string()
  .max(logoTextMax, `Expected a file of at most ${logoBytesMax} bytes`)
  .refine((text) => logoDataUrl.test(text) || drawnLogo.test(text), {
    error: 'Expected data:image/png;base64,… (png, jpeg, svg+xml)',
  })
  .meta({
    description:
      'PNG, JPEG or SVG of at most 256 KB as a data URL. It is drawn small enough to be part of the page. ' +
      'The stored logo is also accepted',
    example:
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  });
const drawnLogo = /^data:image\/webp;base64,[A-Za-z0-9+/]+={0,2}$/;

/** The type of target whose rules an address follows, by its scheme. */
const supportKinds = [
  [/^https?:/i, 'url'],
  [/^mailto:/i, 'email'],
  [/^tel:/i, 'phone'],
] as const;
const otherScheme = {
  code: 'invalid_url',
  message: 'Expected an address with https:, http:, mailto: or tel:',
};

const supportUrl = z
  .string()
  .min(1)
  .max(supportUrlLengthMax)
  .transform((text, context) => {
    const kind = supportKinds.find(([scheme]) => scheme.test(text))?.[1];
    const checked = kind === undefined ? undefined : validateTarget(kind, text, []);
    if (checked === undefined || isFaults(checked)) {
      for (const { code, message } of checked ?? [otherScheme]) {
        context.addIssue({ code: 'custom', message, params: { code } });
      }
      return z.NEVER;
    }
    if (bytesAsHtml(checked.target) <= supportUrlLengthMax) return checked.target;
    const message = `Expected at most ${supportUrlLengthMax} characters, with & as five of them`;
    context.addIssue({ code: 'custom', message, params: { code: 'too_big' } });
    return z.NEVER;
  })
  .meta({
    override: { type: 'string', minLength: 1, maxLength: supportUrlLengthMax },
    description: 'Where people get help: an address with https:, http:, mailto: or tel:',
    example: 'mailto:hello@bakery.example',
  });

const language = z.string().refine(isCanonicalLanguage, {
  error: 'Expected a language as BCP 47 writes it, such as de or pt-BR',
});

function isCanonicalLanguage(text: string): boolean {
  if (text.length > languageLengthMax || !/^[a-z]{2,3}(?:-[A-Za-z\d]{2,8})*$/.test(text))
    return false;
  try {
    return Intl.getCanonicalLocales(text)[0] === text;
  } catch {
    return false;
  }
}

const pageText = z
  .strictObject({
    title: pageLine(pageTitleLengthMax).meta({
      description: 'The heading',
      example: 'Our summer offer is over',
    }),
    text: pageLine(pageTextLengthMax).meta({
      description: 'One paragraph',
      example: 'It ended in August. Come by all the same: there is always something fresh.',
    }),
  })
  .meta({ id: 'PageText', description: 'What a page says, in one language' });

/** What a change says of it: null removes. */
const brandPatch = z
  .strictObject({
    name: brandName.nullable().optional(),
    logo: givenLogo.nullable().optional(),
    colour: color.nullable().optional(),
    supportUrl: supportUrl.nullable().optional(),
  })
  .meta({ id: 'BrandPatch', description: 'Merged into the brand: absent keeps, null removes' });

const textsPatch = z
  .record(language, pageText.nullable())
  .nullable()
  .optional()
  .meta({
    description: 'By language: absent keeps, null removes',
    example: { en: { title: 'Our offer is over', text: 'Come by all the same.' } },
  });

const byReason = <S extends z.ZodType>(texts: S) =>
  z.strictObject({
    deleted: texts,
    paused: texts,
    not_started: texts,
    expired: texts,
    used_up: texts,
  });

const pagesPatch = byReason(textsPatch).meta({
  id: 'PageTextsPatch',
  description: 'By reason, merged into the texts there are: absent keeps, null removes',
});

/** Of a change. */
export const pageFields = {
  brand: brandPatch
    .nullable()
    .optional()
    .meta({
      description: 'Who speaks on the pages; null removes all of it',
      example: { name: 'Old Town Bakery', colour: '#0f6b5c' },
    }),
  pages: pagesPatch
    .nullable()
    .optional()
    .meta({
      description: 'What pages say; null removes all of it',
      example: { expired: { en: { title: 'Our offer is over', text: 'Come by all the same.' } } },
    }),
};

export type BrandPatch = z.output<typeof brandPatch>;
export type PageTextsPatch = z.output<typeof pagesPatch>;

/** In answers. */
export const shownPages = {
  brand: z
    .object({
      name: z.string().optional().meta({ description: 'Its name', example: 'Old Town Bakery' }),
      logo: z.string().optional().meta({
        description: 'As pages carry it, WebP',
        example: 'data:image/webp;base64,UklGRhoAAABXRUJQ',
      }),
      colour: z.string().optional().meta({ description: 'As it was given', example: '#0f6b5c' }),
      supportUrl: z.string().optional().meta({
        description: 'Where people ask',
        example: 'mailto:hello@bakery.example',
      }),
    })
    .meta({ id: 'Brand', description: 'On the pages of codes that lead nowhere now' }),
  pages: byReason(
    z
      .record(z.string(), pageText)
      .optional()
      .meta({
        description: 'By language',
        example: { en: { title: 'Our offer is over', text: 'Come by all the same.' } },
      }),
  ).meta({
    id: 'PageTexts',
    description: 'What pages say, by reason; the rest has standard texts',
  }),
};

export const previewBody = z
  .strictObject({
    reason: z.enum(endedReasons).meta({ description: 'Which page', example: 'expired' }),
    language: z
      .string()
      .max(languageLengthMax)
      .meta({ description: 'What its reader reads: BCP 47', example: 'de-AT' }),
    ...pageFields,
  })
  .meta({ id: 'PagePreviewRequest' });

export const previewAnswer = z
  .object({
    language: z.string().meta({ description: 'Of the page', example: 'de' }),
    html: z.string().meta({
      description: 'The page as a scan would get it',
      example: '<!doctype html><html lang="de">…',
    }),
  })
  .meta({ id: 'PagePreview' });
