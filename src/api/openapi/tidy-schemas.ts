/**
 * JSON schemas as generators read them best:
 *
 *   {anyOf: [{type: 'string', …}, {type: 'null'}]}  ->  {type: ['string', 'null'], …}
 *   {example: x}                                    ->  {examples: [x]}, as JSON Schema has it
 *   bounds of ±2^53, which bound nothing            ->  left out
 */
import { z } from 'zod';
import type { oas31, ZodOpenApiOverrideContext } from 'zod-openapi';

/** Answers may get more fields: only strict objects, which a client sends and may get back, are closed. */
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

/** Removes what the converter leaves beside a reference: it would add to the schema that is referred to. */
function keepReference(part: oas31.SchemaObject): void {
  for (const key of Object.keys(part)) {
    const isKept = key === '$ref' || key === 'description' || key === 'default';
    if (!isKept) Reflect.deleteProperty(part, key);
  }
}

/** Not every object with a `type` is a schema: an object of fields may have a field of that name. */
function isSchema(part: object): part is oas31.SchemaObject {
  if ('anyOf' in part || '$ref' in part) return true;
  return 'type' in part && (typeof part.type === 'string' || Array.isArray(part.type));
}

/** Where both say something, the nullable schema wins over the one inside it. */
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
