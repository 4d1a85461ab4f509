/**
 * JSON schemas as generators read them best:
 *
 *   {anyOf: [{type: 'string', …}, {type: 'null'}]}  ->  {type: ['string', 'null'], …}
 *   {example: x}                                    ->  {examples: [x]}, as JSON Schema has it
 *   bounds of ±2^53, which bound nothing            ->  left out
 */
import type { ZodOpenApiOverrideContext } from 'zod-openapi';

type Schema = ZodOpenApiOverrideContext['jsonSchema'];

/** Runs for each schema after those inside it. */
export function tidySchema({ jsonSchema: schema }: ZodOpenApiOverrideContext): void {
  foldNull(schema);
  delete schema.propertyNames;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.example === undefined) return;
  schema.examples = [schema.example];
  delete schema.example;
}

/** What the nullable schema says of itself goes before what the schema in it says. */
function foldNull(schema: Schema): void {
  const [inner, none, ...more] = schema.anyOf ?? [];
  if (inner === undefined || none?.type !== 'null' || more.length > 0) return;
  if (inner.$ref !== undefined || inner.const !== undefined) return;
  const { anyOf: _nullable, ...own } = schema;
  const { type } = inner;
  if (inner.anyOf !== undefined) {
    Object.assign(schema, inner, own, { anyOf: [...inner.anyOf, none] });
    return;
  }
  if (typeof type !== 'string') return;
  delete schema.anyOf;
  // An example of the inner schema stays unless there is one of its own.
  const values = inner.enum === undefined ? {} : { enum: [...inner.enum, null] };
  Object.assign(schema, { ...inner, ...own, type: [type, 'null'], ...values });
}
