/** Reading the schemas of the document. */
import type { oas31 } from 'zod-openapi';

export type Schema = oas31.SchemaObject | oas31.ReferenceObject;

export function isReference(schema: Schema): schema is oas31.ReferenceObject {
  return '$ref' in schema;
}

/** The component that a reference names. */
export function nameOf({ $ref }: oas31.ReferenceObject): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

/** The schema that a reference names, or the schema itself. */
export function resolve(document: oas31.OpenAPIObject, schema: Schema): oas31.SchemaObject {
  const found = isReference(schema) ? document.components?.schemas?.[nameOf(schema)] : schema;
  return found === undefined || isReference(found) ? {} : found;
}
