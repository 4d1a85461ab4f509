/**
 * JSON schemas of the OpenAPI document as tables and examples for the reference page.
 * Reads the few keywords that our zod schemas produce; what it does not know it leaves out.
 */
import { z } from 'zod';
import type { OpenApi } from '../openapi/document.ts';
import { inline } from './markdown.ts';
import { escapeHtml } from './page.ts';

/** The keywords that are shown. */
const schemaShape = z.object({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  format: z.string().optional(),
  description: z.string().optional(),
  examples: z.array(z.unknown()).optional(),
  default: z.unknown().optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  maxItems: z.number().optional(),
  get items() {
    return schemaShape.optional();
  },
  get anyOf() {
    return z.array(schemaShape).optional();
  },
  get properties() {
    return z.record(z.string(), schemaShape).optional();
  },
  required: z.array(z.string()).optional(),
});

export type Schema = z.infer<typeof schemaShape>;

export function parseSchema(value: unknown): Schema | undefined {
  return value === undefined ? undefined : schemaShape.parse(value);
}

export interface FieldRow {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: Schema;
  readonly description: string | undefined;
}

/** The schema that a reference names, or the schema itself. */
export function resolve(document: OpenApi, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  if (name === undefined) return schema;
  return parseSchema(document.components?.schemas?.[name]) ?? schema;
}

export function fieldRows(document: OpenApi, rows: readonly FieldRow[]): string {
  const lines = rows.map(({ name, isRequired, schema, description }) => {
    const whole = resolve(document, schema);
    const text = description ?? whole.description ?? schema.description ?? '';
    const must = isRequired ? '<span class="must">required</span>' : '';
    return `<tr><td><code>${escapeHtml(name)}</code>${must}</td><td>${escapeHtml(typeText(document, whole))}</td><td>${inline(text)}</td></tr>`;
  });
  return `<div class="wide"><table><tbody>${lines.join('')}</tbody></table></div>`;
}

function typeText(document: OpenApi, schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) {
    return `${schema.enum.map(String).join(' | ')}${defaultText(schema)}`;
  }
  if (schema.anyOf !== undefined) {
    return schema.anyOf.map((one) => typeText(document, resolve(document, one))).join(' or ');
  }
  if (schema.items !== undefined) {
    return `list of ${typeText(document, resolve(document, schema.items))}${bounds('', schema.maxItems, '')}`;
  }
  if (schema.properties !== undefined) {
    return `object: ${Object.keys(schema.properties).join(', ')}`;
  }
  const name = schema.format ?? [schema.type ?? 'any'].flat().join(' or ');
  const amount = bounds(schema.minimum ?? '', schema.maximum, '');
  return `${name}${amount}${bounds('', schema.maxLength, ' characters')}${defaultText(schema)}`;
}

function bounds(least: number | '', most: number | undefined, unit: string): string {
  const isOpen = most === undefined || most === Number.MAX_SAFE_INTEGER;
  if (isOpen) return least === '' || least <= 0 ? '' : `, from ${least}`;
  return least === '' ? `, at most ${most}${unit}` : `, ${least} to ${most}${unit}`;
}

function defaultText(schema: Schema): string {
  return schema.default === undefined ? '' : `, default ${JSON.stringify(schema.default)}`;
}

/** An example value of a schema, from the examples of its fields. */
export function exampleOf(document: OpenApi, schema: Schema): unknown {
  const whole = resolve(document, schema);
  const [given] = whole.examples ?? schema.examples ?? [];
  if (given !== undefined) return given;
  if (whole.const !== undefined) return whole.const;
  if (whole.enum !== undefined) return whole.enum[0];
  if (whole.anyOf !== undefined) return exampleOf(document, whole.anyOf[0] ?? {});
  if (whole.items !== undefined) return [exampleOf(document, whole.items)];
  if (whole.properties !== undefined) {
    const fields = Object.entries(whole.properties);
    return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(document, field)]));
  }
  return standardExamples[[whole.type ?? 'string'].flat()[0] ?? 'string'];
}

const standardExamples: Readonly<Record<string, unknown>> = {
  boolean: true,
  integer: 42,
  number: 0.5,
  object: {},
  string: '…',
};
