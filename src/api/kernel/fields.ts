/**
 * Fields that several resources share, each with its checks, its messages and its description for OpenAPI. Query values
 * arrive as text; `override` describes them as numbers.
 */
import { z } from 'zod';
import { parseDay } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import { type IdPrefix, idPattern, parseId } from '../../model/ids.ts';
import { lineFault } from '../../model/text.ts';

/** Text from a person: visible, without control or hidden characters, so that it breaks no list, log or CSV. */
export function plainText(lengthMax: number) {
  return z
    .string()
    .min(1)
    .max(lengthMax)
    .superRefine((text, context) => {
      const fault = text === '' ? undefined : lineFault(text);
      if (fault === undefined) return;
      const { code, message } = fault;
      context.addIssue({ code: 'custom', message, params: { code } });
    })
    .meta({ override: { pattern: noControls } });
}

/** The part of the check that a pattern can express, with and without the `u` flag. */
const noControls = '^[^\\u0000-\\u001f\\u007f-\\u009f]*$';

/** A whole number in a query. */
export function queryInteger(minimum: number, maximum: number, standard: number) {
  return z
    .string()
    .regex(/^\d{1,9}$/, 'Expected a whole number')
    .transform(Number)
    .pipe(z.number().min(minimum).max(maximum))
    .default(standard)
    .meta({
      override: { type: 'integer', minimum, maximum, default: standard, pattern: undefined },
    });
}

/** A UTC day in a query, as its number since 1970-01-01. */
export const queryDay = z
  .string()
  .transform((text, context) => {
    const day = parseDay(text);
    if (day !== undefined) return day;
    context.addIssue({ code: 'custom', message: 'Expected a date as YYYY-MM-DD that exists' });
    return z.NEVER;
  })
  .meta({ override: { type: 'string', format: 'date' }, example: '2026-03-01' });

/** A moment in a body, as milliseconds since the epoch. */
export const moment = z.iso
  .datetime({ offset: true, message: 'Expected a time as 2026-03-01T12:00:00Z' })
  .transform((text) => Date.parse(text))
  .meta({
    override: { type: 'string', format: 'date-time', pattern: undefined },
    example: '2027-01-31T23:00:00.000Z',
  });

/** A moment in an answer. */
export const time = z
  .string()
  .brand<'time'>()
  .meta({
    override: { type: 'string', format: 'date-time' },
    description: 'ISO 8601, UTC, milliseconds',
    example: '2026-03-01T12:00:00.000Z',
  });

export const createdAt = time.meta({ id: 'CreatedAt', description: 'Time of creation' });
export const updatedAt = time.meta({ description: 'Time of the last change' });

export const count = z.int().min(0);

/** `slug_taken` -> `SlugTaken`, `qr.created` -> `QrCreated`. */
export const pascalCase = (name: string): string =>
  name.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());

export function idText(prefix: IdPrefix, description: string) {
  const example = `${prefix}_01k3zq8m4hd2v7c5x9ab`;
  return z.string().meta({ override: { pattern: idPattern(prefix) }, description, example });
}

const idComponents = new Map<IdPrefix, z.ZodString>();

/** An id in an answer; each kind of id is a component of the document. */
export function idField(prefix: IdPrefix, description: string) {
  const shared =
    idComponents.get(prefix) ?? idText(prefix, description).meta({ id: `${pascalCase(prefix)}Id` });
  idComponents.set(prefix, shared);
  return shared.description === description ? shared : shared.meta({ description });
}

/** An id that a client gives. @param what `a campaign` */
export function givenId(prefix: IdPrefix, what: string) {
  return z
    .string()
    .refine((text) => parseId(prefix, text) !== undefined, `Expected ${what} id (${prefix}_…)`)
    .meta({
      override: { pattern: idPattern(prefix) },
      description: `Id of ${what}`,
      example: `${prefix}_01k3zq8m4hd2v7c5x9ab`,
    });
}

/** `nextCursor` of a page, in the query of the next one. */
export const cursorField = z.string().min(1).max(512).optional();

export const pageQuery = {
  page: queryInteger(1, 999_999_999, 1).meta({
    description: 'Page, from 1',
    param: { id: 'Page' },
  }),
  limit: queryInteger(1, 100, 20).meta({ description: 'Items per page', param: { id: 'Limit' } }),
  cursor: cursorField.meta({
    description: '`nextCursor` of the previous page: reads long lists at constant cost',
    param: { id: 'Cursor' },
  }),
};

/** A POST without parameters in its body: no body, or `{}`. */
export const emptyBody = z.strictObject({}).optional();

/** @throws Failure validation_failed when the range runs backwards */
export function checkOrder(from: number | undefined, to: number | undefined): void {
  if (from === undefined || to === undefined || from <= to) return;
  throw new Failure('validation_failed', 'The range ends before it begins', {
    faults: [{ path: 'from', code: 'after_to', message: 'Expected `from` not after `to`' }],
  });
}
