/**
 * Where a code leads, on the wire: rules, splits, UTM parameters, and the states that a code can be in. The bounds are those
 * of model/routing/routing.ts; product/codes/routing/route-faults.ts checks rules between fields.
 */
import { z } from 'zod';
import { expiresAtMsMax } from '../../product/codes/rules.ts';
import type { GivenRule } from '../../product/codes/routing/route-fields.ts';
import { urlLengthMax } from '../../product/codes/targets.ts';
import { countries } from '../../model/routing/countries.ts';
import { labelPattern } from '../../model/routing/labels.ts';
import {
  conditionsMax,
  countriesMax,
  languagesMax,
  queryNameLengthMax,
  queryPairsMax,
  queryValueLengthMax,
  routeTargetsMax,
  rulesMax,
  splitLeast,
  splitMax,
  utmLengthMax,
  weightMax,
} from '../../model/routing/routing.ts';
import { weekdays } from '../../model/day.ts';
import { Browser, Device, Os } from '../../model/scan.ts';
import { hiddenCharacters, hiddenFault, lineBreaking } from '../../model/text.ts';
import { moment, plainText, time } from '../kernel/fields.ts';
import { timeZone } from './time-zone.ts';

/** Basic language ranges of RFC 4647, as long as RFC 5646 asks for. */
const languageRange = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}$/;
const clockTime = /^(?:[01]\d|2[0-3]):[0-5]\d$/;
const endTime = /^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/;

/** A time that ISO 8601 writes with a four-digit year; a text that is not a time is another fault. */
const isStorable = (timeMs: number): boolean =>
  Number.isNaN(timeMs) || (timeMs >= 0 && timeMs <= expiresAtMsMax);
const outOfRange = {
  message: 'Expected a time from 1970 to 9999',
  params: { code: 'out_of_range' },
};
export const storableTime = moment.refine(isStorable, outOfRange);

const issue = (code: string, message: string, path: string[] = []) => ({
  code: 'custom' as const,
  message,
  params: { code },
  path,
});

/** For rules between fields: does not also report a misspelled field as missing. */
const whereSound = {
  when: ({ issues }: { readonly issues: readonly unknown[] }) => issues.length === 0,
};

const label = z.string().regex(labelPattern, 'Use 1 to 40 letters a-z, digits or hyphens').meta({
  description:
    'Its name in analytics, once in the code; not `target`, `paused`, `not_started`, `expired`, `used_up`',
  example: 'app-store',
});
const target = z.string().min(1).max(urlLengthMax).meta({
  description: 'The destination: a web address, like `target` of the code',
  example: 'https://apps.apple.com/app/id1',
});

const variant = z
  .strictObject({
    label,
    target,
    weight: z.int().min(1).max(weightMax).meta({
      description: 'Its share is this weight divided by the sum of all weights',
      example: 50,
    }),
  })
  .meta({ id: 'RouteVariant' });
const split = z
  .array(variant)
  .min(splitLeast)
  .max(splitMax)
  .meta({
    description: 'Distributes visitors by weight; each keeps its variant',
    example: [
      { label: 'short-page', target: 'https://example.com/a', weight: 50 },
      { label: 'long-page', target: 'https://example.com/b', weight: 50 },
    ],
  });

/** @param known words with the numbers that scans have in their place */
export function wordOf<Word extends string>(known: Readonly<Record<Word, number>>) {
  const isWord = (text: string): text is Word => Object.hasOwn(known, text);
  return z.enum(Object.keys(known).filter(isWord));
}

function words<Word extends string>(known: Readonly<Record<Word, number>>, description: string) {
  return z.array(wordOf(known)).min(1).meta({ description });
}

export const routeCountry = z
  .string()
  .refine((code) => countries.has(code), {
    message: 'Expected a country as ISO 3166-1 alpha-2 in upper case, such as DE, or ZZ',
    params: { code: 'not_allowed' },
  })
  .meta({ override: { pattern: '^[A-Z]{2}$' } });
const language = z.string().regex(languageRange, 'Expected a language such as de or pt-BR');

const timeWindow = z
  .strictObject({
    days: z.exactOptional(
      z
        .array(z.enum(weekdays))
        .min(1)
        .meta({ description: 'Days on which the window begins; absent = every day' }),
    ),
    from: z.exactOptional(
      z.string().regex(clockTime, 'Expected a time of day as 09:00').meta({
        description: 'Included; absent = 00:00',
        example: '09:00',
      }),
    ),
    to: z.exactOptional(
      z.string().regex(endTime, 'Expected a time of day as 17:30, or 24:00').meta({
        description: 'Excluded; absent = 24:00. Before `from`: the window spans midnight',
        example: '17:30',
      }),
    ),
    timezone: timeZone,
  })
  .superRefine(({ days, from, to }, context) => {
    if (days === undefined && from === undefined && to === undefined) {
      context.addIssue(
        issue('required', 'Expected `days`, `from` or `to` in addition to the time zone'),
      );
    } else if ((from ?? '00:00') === (to ?? '24:00')) {
      context.addIssue(issue('empty_window', 'Expected a time that is not `from`', ['to']));
    }
  }, whereSound)
  .meta({ description: 'Hours of the week, by the clock of a time zone' });

const instant = z.iso
  .datetime({ offset: true, message: 'Expected a time as 2026-03-01T12:00:00Z' })
  .refine((text) => isStorable(Date.parse(text)), outOfRange)
  .meta({ override: { type: 'string', format: 'date-time', pattern: undefined } });
const dateWindow = z
  .strictObject({
    from: z.exactOptional(
      instant.meta({ description: 'Included', example: '2026-12-01T00:00:00.000Z' }),
    ),
    to: z.exactOptional(
      instant.meta({ description: 'Excluded', example: '2027-01-01T00:00:00.000Z' }),
    ),
  })
  .superRefine(({ from, to }, context) => {
    if (from === undefined && to === undefined) {
      context.addIssue(issue('required', 'Expected `from` or `to`'));
    } else if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to)) {
      context.addIssue(issue('empty_window', 'Expected a time after `from`', ['to']));
    }
  }, whereSound)
  .meta({ description: 'A span of time' });

/** Names and values may have any letters, but none that hide. */
const queryText = (lengthMin: number, lengthMax: number) =>
  z
    .string()
    .min(lengthMin)
    .max(lengthMax)
    .refine(
      (text) => text.isWellFormed() && !hiddenCharacters.test(text) && !lineBreaking.test(text),
      {
        message: hiddenFault,
        params: { code: 'invalid_characters' },
      },
    );
const query = z
  .record(queryText(1, queryNameLengthMax), queryText(0, queryValueLengthMax))
  .superRefine((pairs, context) => {
    const count = Object.keys(pairs).length;
    if (count === 0) context.addIssue(issue('required', 'Expected a parameter'));
    if (count > queryPairsMax) {
      context.addIssue(issue('too_many', `At most ${queryPairsMax} parameters`));
    }
  }, whereSound)
  .meta({
    description: 'Parameters of the opened short link, by name; `*` = any value',
    example: { table: '*' },
  });

const conditions = z
  .strictObject({
    device: z.exactOptional(words(Device, 'Kinds of device, any of them')),
    os: z.exactOptional(words(Os, 'Operating systems, any of them')),
    browser: z.exactOptional(words(Browser, 'Browsers, any of them')),
    country: z.exactOptional(
      z
        .array(routeCountry)
        .min(1)
        .max(countriesMax)
        .meta({
          description: 'Countries as ISO 3166-1 alpha-2, any of them; `ZZ` = unknown',
          example: ['DE', 'AT'],
        }),
    ),
    language: z.exactOptional(
      z
        .array(language)
        .min(1)
        .max(languagesMax)
        .meta({
          description:
            'Languages, any of them, compared with the browser’s preferred one (RFC 4647 lookup). `de` also ' +
            'matches `de-AT`',
          example: ['de', 'pt-BR'],
        }),
    ),
    time: z.exactOptional(timeWindow),
    date: z.exactOptional(dateWindow),
    query: z.exactOptional(query),
  })
  .superRefine((given, context) => {
    const count = Object.keys(given).length;
    if (count === 0) context.addIssue(issue('required', 'Expected a condition'));
    if (count > conditionsMax) {
      context.addIssue(issue('too_many', `At most ${conditionsMax} conditions`));
    }
  }, whereSound)
  .meta({
    id: 'RouteConditions',
    description: `1 to ${conditionsMax} conditions, all of which must hold`,
  });

const outcome = z
  .strictObject({ target: z.exactOptional(target), split: z.exactOptional(split) })
  .superRefine((given, context) => {
    if (given.target === undefined && given.split === undefined) {
      context.addIssue(issue('required', 'Expected `target` or `split`'));
    } else if (given.target !== undefined && given.split !== undefined) {
      context.addIssue(issue('goes_alone', 'Expected `target` or `split`, not both'));
    }
  }, whereSound)
  .meta({ description: 'Either `target` or `split`' });

const rule: z.ZodType<GivenRule, GivenRule> = z
  .strictObject({
    label: label.meta({
      description: 'Its name in analytics, once in the code. With a split, the variants’ count',
    }),
    if: conditions,
    then: outcome,
  })
  .meta({
    id: 'RouteRule',
    example: {
      label: 'app-store',
      if: { os: ['iOS'] },
      then: { target: 'https://apps.apple.com/app/id1' },
    },
  });

const utmValue = (description: string, example: string) =>
  plainText(utmLengthMax).nullish().meta({ description, example });
const utm = z
  .strictObject({
    source: utmValue('Of `utm_source`', 'qr'),
    medium: utmValue('Of `utm_medium`', 'print'),
    campaign: utmValue('Of `utm_campaign`', '{campaign}'),
    term: utmValue('Of `utm_term`', 'menu'),
    content: utmValue('Of `utm_content`', '{label}'),
  })
  .meta({
    id: 'Utm',
    description:
      'Added to every target when it is stored; replaces a parameter of the same name. `{slug}`, `{label}` and ' +
      '`{campaign}` become the short code, the route label, and the name of the campaign',
    example: { source: 'qr', medium: 'print', campaign: '{campaign}' },
  });

/** As they are set; a value that is not set is absent or null. */
export const routingFields = {
  rules: z
    .array(rule)
    .max(rulesMax)
    .meta({
      description:
        'The first rule whose conditions all match decides the destination; otherwise `split` or `target`. ' +
        `Rules and splits have at most ${routeTargetsMax} targets together. Bots and previews get \`target\``,
      example: [],
    }),
  split: split.meta({ description: 'Replaces `target` if no rule matches' }),
  utm,
  passQuery: z.boolean().meta({
    description: 'Adds the short link’s query to its target, except names in the target',
    example: false,
  }),
  startsAt: storableTime.meta({
    description: 'Until then, the short link leads to `fallbackUrl`, or answers 404',
  }),
  paused: z.boolean().meta({
    description: 'The short link leads to `fallbackUrl`, or answers 410',
    example: false,
  }),
  fallbackUrl: target.meta({
    description:
      'The destination of a paused, early, expired or used-up code, instead of an error page',
    example: 'https://example.com/closed',
  }),
};

/** Of an answer. */
export const shownRouting = {
  rules: routingFields.rules,
  split: routingFields.split.nullable().meta({
    description: 'Replaces `target` if no rule matches; null without',
    example: null,
  }),
  utm: utm.nullable().meta({ description: 'Added to every target; null without', example: null }),
  passQuery: routingFields.passQuery,
  startsAt: time.nullable().meta({ description: 'Start; null = started', example: null }),
  paused: routingFields.paused,
  fallbackUrl: routingFields.fallbackUrl.nullable().meta({
    description: 'Replaces the error page; null without',
    example: null,
  }),
  warnings: z
    .array(
      z.object({
        path: z.string().meta({ description: 'The field', example: 'rules.3' }),
        code: z.string().meta({
          description:
            '`unreachable`: a rule that never wins, because of an earlier rule; ' +
            '`past`: an `expiresAt` before the creation',
          example: 'unreachable',
        }),
        message: z.string().meta({ description: 'For people' }),
      }),
    )
    .max(rulesMax + 1)
    .optional()
    .meta({
      description: 'In answers to a change: stored parts that may be mistakes',
      example: [],
    }),
};

/** A field that may be absent or null: answers write an unset field as null. */
export function unset<Field extends z.ZodType>(field: Field) {
  return field.nullish().transform((value) => value ?? undefined);
}

type Fields = Readonly<Record<string, z.ZodType>>;

/** The fields as `unset`. */
export function unsetFields<F extends Fields>(
  fields: F,
): { [Name in keyof F]: ReturnType<typeof unset<F[Name]>> };
export function unsetFields(fields: Fields): Fields {
  return mapFields(fields, unset);
}

/** The fields of a merge patch: absent keeps, null removes. */
export function patchFields<F extends Fields>(
  fields: F,
): { [Name in keyof F]: z.ZodOptional<z.ZodNullable<F[Name]>> };
export function patchFields(fields: Fields): Fields {
  return mapFields(fields, (field) => field.nullable().optional());
}

function mapFields(fields: Fields, change: (field: z.ZodType) => z.ZodType): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, change(field)]));
}
