/** Reading the document: its operations, and what references name. */
import type { oas31 } from 'zod-openapi';
import { pathOf, type Route } from '../kernel/route.ts';

export type Schema = oas31.SchemaObject | oas31.ReferenceObject;

export const isReference = (part: object): part is oas31.ReferenceObject => '$ref' in part;

/** The component that a reference names. */
export const nameOf = ({ $ref }: oas31.ReferenceObject): string =>
  $ref.slice($ref.lastIndexOf('/') + 1);

/** The component that a reference names, or the part itself; empty where there is no such component. */
export function resolve<Part extends object>(
  { components = {} }: oas31.OpenAPIObject,
  part: Part | oas31.ReferenceObject,
): Part {
  if (!isReference(part)) return part;
  const [, , kind] = part.$ref.split('/');
  const named: unknown = Reflect.get(components, String(kind));
  // A reference to a parameter names a parameter.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (Reflect.get(Object(named), nameOf(part)) ?? {}) as Part;
}

export function operationOf(document: oas31.OpenAPIObject, route: Route): oas31.OperationObject {
  const keys = { GET: 'get', POST: 'post', PATCH: 'patch', PUT: 'put', DELETE: 'delete' } as const;
  return document.paths?.[pathOf(route)]?.[keys[route.method]] ?? {};
}

/** The first example of a body or an answer. */
export function exampleIn(
  document: oas31.OpenAPIObject,
  { example, examples = {} }: oas31.MediaTypeObject,
): unknown {
  const [first] = Object.values(examples);
  return example ?? (first && resolve<oas31.ExampleObject>(document, first).value);
}
