/**
 * Rewrites JSON schemas to the form that code generators read best:
 *
 *   {anyOf: [{type: 'string', …}, {type: 'null'}]}  ->  {type: ['string', 'null'], …}
 *   {example: x}                                    ->  {examples: [x]}, as JSON Schema has it
 *   bounds of ±2^53, which bound nothing            ->  removed
 */
import { z } from 'zod';
import type { oas31, ZodOpenApiOverrideContext } from 'zod-openapi';

/** Answers may get more fields, so only strict objects are closed. */
export function openAnswers({ jsonSchema, zodSchema, io }: ZodOpenApiOverrideContext): void {
  const isOpen = zodSchema instanceof z.ZodObject && zodSchema.def.catchall === undefined;
  if (io === 'output' && isOpen) delete jsonSchema.additionalProperties;
}

const values: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'enum', 'const']);

/** Tidies every schema of a document in place, inner ones first. */
export function tidySchemas(part: unknown): void {
  if (typeof part !== 'object' || part === null) return;
  for (const [key, inner] of Object.entries(part)) if (!values.has(key)) tidySchemas(inner);
  if (!isSchema(part)) return;
  if (part.$ref !== undefined) keepReference(part);
  foldNull(part);
  delete part.propertyNames;
  if (part.maximum === Number.MAX_SAFE_INTEGER) delete part.maximum;
  if (part.minimum === Number.MIN_SAFE_INTEGER) delete part.minimum;
  if (part.example === undefined) return;
  part.examples = [part.example];
  delete part.example;
}

/** Removes keys that the converter leaves next to a reference: they would add to the referenced schema. */
function keepReference(part: oas31.SchemaObject): void {
  for (const key of Object.keys(part)) {
    const isKept = key === '$ref' || key === 'description' || key === 'default';
    if (!isKept) Reflect.deleteProperty(part, key);
  }
}

/** An object of fields may have a field named `type`, so its value is checked. */
function isSchema(part: object): part is oas31.SchemaObject {
  if ('anyOf' in part || '$ref' in part) return true;
  return 'type' in part && (typeof part.type === 'string' || Array.isArray(part.type));
}

/** A key of the nullable schema overrides the same key of the schema inside it. */
function foldNull(schema: oas31.SchemaObject): void {
  const [inner, none, ...more] = schema.anyOf ?? [];
  if (inner === undefined || none === undefined || more.length > 0) return;
  if (!('type' in none) || none.type !== 'null' || '$ref' in inner) return;
  const { anyOf: _nullable, ...own } = schema;
  if (inner.anyOf !== undefined) {
    Object.assign(schema, inner, own, { anyOf: [...inner.anyOf, none] });
    return;
  }
  const { type, const: only, ...rest } = inner;
  if (typeof type !== 'string' || only !== undefined) return;
  delete schema.anyOf;
  const known = rest.enum === undefined ? {} : { enum: [...rest.enum, null] };
  Object.assign(schema, { ...rest, ...own, type: [type, 'null'], ...known });
}
