/** Reading the document as the reference page does: operations, and what they refer to. */
import type { oas31 } from 'zod-openapi';
import { pathOf, type Route } from '../route.ts';
import { nameOf } from './schema.ts';

/** The operation of a route. */
export function operationOf(document: oas31.OpenAPIObject, route: Route): oas31.OperationObject {
  const keys = { GET: 'get', POST: 'post', PATCH: 'patch', PUT: 'put', DELETE: 'delete' } as const;
  return document.paths?.[pathOf(route)]?.[keys[route.method]] ?? {};
}

/** The parameter itself, or the component that it refers to. */
export function parameterOf(
  { components }: oas31.OpenAPIObject,
  parameter: oas31.ParameterObject | oas31.ReferenceObject,
): oas31.ParameterObject | undefined {
  if (!('$ref' in parameter)) return parameter;
  const found = components?.parameters?.[nameOf(parameter)];
  return found !== undefined && 'name' in found ? found : undefined;
}

/** An answer itself, or the component that it refers to. */
export function responseOf(
  { components }: oas31.OpenAPIObject,
  { responses }: oas31.OperationObject,
  status: number,
): Partial<oas31.ResponseObject> {
  const response: oas31.ResponseObject | oas31.ReferenceObject = responses?.[status] ?? {};
  const found = '$ref' in response ? components?.responses?.[nameOf(response)] : response;
  return found === undefined || '$ref' in found ? {} : found;
}

/** The first example of a body or an answer. */
export function exampleIn(
  { components }: oas31.OpenAPIObject,
  { example, examples = {} }: oas31.MediaTypeObject,
): unknown {
  if (example !== undefined) return example;
  const [first] = Object.values(examples);
  if (first === undefined || !('$ref' in first)) return first?.value;
  const found = components?.examples?.[nameOf({ $ref: String(first.$ref) })];
  return found !== undefined && 'value' in found ? found.value : undefined;
}
