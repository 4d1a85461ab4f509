/**
 * Examples of bodies and answers, made from the examples of their fields, which are then removed. An example that
 * several operations have is a component of the document.
 */
import type { oas31 } from 'zod-openapi';
import { isReference, nameOf, resolve, type Schema } from './read.ts';

/** A request shows what it must have, an answer all that it may have. */
type Side = 'request' | 'answer';

/** Gives every JSON body and answer of the document its example, in place. */
export function addExamples(document: oas31.OpenAPIObject): void {
  const found = jsonMedia(document);
  const uses = Map.groupBy(found, ({ schema }) => (isReference(schema) ? nameOf(schema) : ''));
  const shared: Record<string, oas31.ExampleObject> = {};
  for (const { media, schema, side } of found) {
    const value: unknown = exampleOf(document, schema, side);
    const name = isReference(schema) ? nameOf(schema) : '';
    if (name === '' || uses.get(name)?.length === 1) {
      media.example = value;
      continue;
    }
    shared[name] = { value };
    media.examples = { sample: { $ref: `#/components/examples/${name}` } };
  }
  for (const { schema } of found) dropExamples(schema);
  for (const schema of Object.values(document.components?.schemas ?? {})) dropExamples(schema);
  const examples = { ...document.components?.examples, ...shared };
  document.components = { ...document.components, examples };
}

interface JsonMedia {
  readonly media: oas31.MediaTypeObject;
  readonly schema: Schema;
  readonly side: Side;
}

function jsonMedia({ paths = {}, webhooks = {} }: oas31.OpenAPIObject): JsonMedia[] {
  const items = [...Object.values(paths), ...Object.values(webhooks)];
  const operations: oas31.OperationObject[] = items.flatMap((item) => Object.values(item));
  return operations.flatMap(({ requestBody, responses = {} }) => {
    const hasContent = requestBody !== undefined && 'content' in requestBody;
    const answers = Object.entries(responses).filter(([status]) => status.startsWith('2'));
    return [
      ...(hasContent ? mediaOf(requestBody.content, 'request') : []),
      ...answers.flatMap(([, answer]) => mediaOf(answer.content ?? {}, 'answer')),
    ];
  });
}

function mediaOf(content: oas31.ContentObject, side: Side): JsonMedia[] {
  const media = content['application/json'];
  return media?.schema === undefined ? [] : [{ media, schema: media.schema, side }];
}

function exampleOf(document: oas31.OpenAPIObject, schema: Schema, side: Side): unknown {
  const whole = resolve(document, schema);
  const [first] = whole.anyOf ?? whole.oneOf ?? [];
  const known = [...(whole.examples ?? []), ...('const' in whole ? [whole.const] : [])];
  const [given] = [...known, ...(whole.enum ?? [])];
  if (given !== undefined) return given;
  if (first !== undefined) return exampleOf(document, first, side);
  if (whole.items !== undefined) return [exampleOf(document, whole.items, side)];
  if (whole.properties !== undefined) return exampleObject(document, whole, side);
  return standardExamples[[whole.type ?? 'string'].flat()[0] ?? 'string'];
}

function exampleObject(
  document: oas31.OpenAPIObject,
  { properties = {}, required = [] }: oas31.SchemaObject,
  side: Side,
): unknown {
  const fields = Object.entries(properties);
  const musts = fields.filter(([name]) => required.includes(name));
  const shown = side === 'answer' ? fields : musts.length > 0 ? musts : fields.slice(0, 1);
  return Object.fromEntries(shown.map(([name, field]) => [name, exampleOf(document, field, side)]));
}

const standardExamples: Readonly<Record<string, unknown>> = {
  boolean: true,
  integer: 42,
  number: 0.5,
  object: {},
  string: '…',
};

/** Of a schema and those in it. */
function dropExamples(schema: Schema): void {
  if (isReference(schema)) return;
  delete schema.examples;
  const { properties = {}, items, additionalProperties, anyOf = [], oneOf = [] } = schema;
  const inner = [...Object.values(properties), ...anyOf, ...oneOf];
  if (items !== undefined) inner.push(items);
  if (typeof additionalProperties === 'object') inner.push(additionalProperties);
  for (const one of inner) dropExamples(one);
}
