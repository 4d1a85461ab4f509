/**
 * Answers that have all fields of another are written as that one and more, as they are in the code:
 *
 *   MadeWebhook {…the twelve of Webhook, secret}  ->  {allOf: [Webhook], properties: {secret}}
 *
 * Only answers: a closed body refuses what the schema beside it describes.
 */
import type { oas31 } from 'zod-openapi';
import { isReference, type Schema } from './schema.ts';

/** With fewer in common two answers may be alike by chance. */
const sharedMin = 4;

interface Candidate {
  readonly name: string;
  readonly schema: oas31.SchemaObject;
  /** Its fields as text, by name; those it must have begin with `!`. */
  readonly fields: ReadonlyMap<string, string>;
}

export function shareFields(schemas: Readonly<Record<string, Schema>>): void {
  const candidates = Object.entries(schemas).flatMap(([name, schema]) => {
    if (isReference(schema)) return [];
    const { properties, additionalProperties, required = [] } = schema;
    if (properties === undefined || additionalProperties !== undefined) return [];
    const fields = Object.entries(properties).map(
      ([field, part]) =>
        [field, `${required.includes(field) ? '!' : ''}${JSON.stringify(part)}`] as const,
    );
    return [{ name, schema, fields: new Map(fields) }];
  });
  const largestFirst = candidates
    .filter(({ fields }) => fields.size >= sharedMin)
    .toSorted((one, other) => other.fields.size - one.fields.size);
  for (const { name, schema, fields } of candidates) {
    const base = largestFirst.find(
      (other) => other.fields.size < fields.size && isIn(other, fields),
    );
    if (base !== undefined && base.name !== name) writeOn(base, schema);
  }
}

function isIn({ fields }: Candidate, others: ReadonlyMap<string, string>): boolean {
  return [...fields].every(([field, text]) => others.get(field) === text);
}

function writeOn(base: Candidate, schema: oas31.SchemaObject): void {
  const { properties = {}, required = [] } = schema;
  const isOwn = (field: string): boolean => !base.fields.has(field);
  const own = Object.entries(properties).filter(([field]) => isOwn(field));
  schema.allOf = [{ $ref: `#/components/schemas/${base.name}` }];
  schema.properties = Object.fromEntries(own);
  const musts = required.filter(isOwn);
  if (musts.length > 0) schema.required = musts;
  else delete schema.required;
}
