/**
 * OpenAPI 3.1, assembled from the same table and the same schemas that answer requests: it cannot say
 * what the service does not do.
 */
import { z } from 'zod';
import { createDocument } from 'zod-openapi';
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi';
import type { FailureCode } from '../model/failure.ts';
import { SessionCookie } from './workspaces/cookie.ts';
import { problemKinds, problemMediaType } from './problem.ts';
import { type Access, operationAccess } from './roles.ts';
import { unknownParametersHeader } from './unknown-parameters.ts';
import { needsBody, takesBody, type Route } from './route.ts';

export type OpenApi = ReturnType<typeof createDocument>;

const problem = z
  .object({
    type: z.string().meta({ description: 'Address of the code’s description' }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().meta({ description: 'Stable: branch on it', example: 'validation_failed' }),
    requestId: z.string().meta({ example: 'req_01k3zq8m4hd2v7c5x9ab' }),
    errors: z
      .array(z.object({ path: z.string(), code: z.string(), message: z.string() }))
      .optional()
      .meta({ description: 'Every fault of the request at once' }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457' });

/** What any operation may answer. */
const commonFailures: readonly FailureCode[] = [
  'bad_request',
  'unauthorized',
  'forbidden',
  'validation_failed',
  'rate_limited',
  'daily_cap_reached',
  'overloaded',
];
const bodyFailures: readonly FailureCode[] = [
  'invalid_json',
  'request_timeout',
  'body_too_large',
  'unsupported_media_type',
];

const jsonType = 'application/json';
const text = z.string();

const rateHeaders = z.object({
  'X-RateLimit-Limit': z.int().meta({ description: 'Requests of the window that binds now' }),
  'X-RateLimit-Remaining': z.int(),
  'X-RateLimit-Reset': z.int().meta({ description: 'Unix seconds when that window ends' }),
  'X-Request-Id': z.string(),
  [unknownParametersHeader]: z.string().optional().meta({
    description:
      'Names in the query that the operation does not know, percent-encoded, separated by commas; the first 20',
    example: 'sort,timezone',
  }),
});

/** @param publicUrl the API's public address, without /v1 */
export function createOpenApi(routes: readonly Route[], publicUrl: string): OpenApi {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Quietzone API',
      version: '1',
      description: 'Dynamic QR codes: create them, change where they lead, count their scans',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${publicUrl}/v1` }],
    security: [{ apiKey: [] }, { session: [] }],
    paths: paths satisfies ZodOpenApiPathsObject,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: new SessionCookie(publicUrl).name,
          description:
            'Made by signIn, for the dashboard. Requests that change something also send X-CSRF-Token.',
        },
      },
    },
  });
}

function operationOf(route: Route): ZodOpenApiOperationObject {
  const { answer, method, query } = route;
  const names = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '');
  const hasBody = takesBody(route) && route.body?.type !== 'undefined';
  const hasQuery = query !== undefined && Object.keys(query.shape).length > 0;
  const parameters = Object.fromEntries(names.map((name) => [name, z.string()]));
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: `${route.description} ${accessText(operationAccess[route.operationId])}`,
    ...securityOf(operationAccess[route.operationId]),
    requestParams: {
      ...(names.length > 0 ? { path: z.object(parameters) } : {}),
      ...(hasQuery ? { query } : {}),
      ...(method === 'POST' && route.isRepeatable !== true ? { header: idempotencyHeader } : {}),
    },
    ...(hasBody && route.body !== undefined
      ? {
          requestBody: {
            required: needsBody(route),
            content: {
              'application/json': { schema: route.body },
              ...textMedia(route.bodyMedia),
            },
          },
        }
      : {}),
    responses: {
      ...successOf(answer.status, answer.what, answer),
      ...(answer.known === undefined ? {} : successOf(200, answer.known, answer)),
      ...failuresOf([...commonFailures, ...(hasBody ? bodyFailures : []), ...route.failures]),
    },
  };
}

function successOf(status: number, description: string, answer: Route['answer']) {
  return { [`${status}`]: { description, headers: rateHeaders, content: contentOf(answer) } };
}

function contentOf({ schema, mediaTypes = [jsonType] }: Route['answer']) {
  const entries = mediaTypes.map((type) => [type, { schema: type === jsonType ? schema : text }]);
  return Object.fromEntries(entries);
}

/** Beside JSON: lines and tables, which have no schema of their own. */
function textMedia(types: readonly string[] = []): Record<string, { schema: z.ZodType }> {
  return Object.fromEntries(types.map((type) => [type, { schema: z.string() }]));
}

function securityOf(access: Access): Pick<ZodOpenApiOperationObject, 'security'> {
  if (access === 'person') return { security: [{ session: [] }] };
  return isKeyless(access) ? { security: [] } : {};
}

function isKeyless(access: Access): boolean {
  return access === 'public' || access === 'signed';
}

function accessText(access: Access): string {
  if (access === 'person') return 'For people who are signed in, not for API keys.';
  return isKeyless(access) ? 'Needs no key.' : `Least role: ${access}.`;
}

const idempotencyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .max(255)
    .optional()
    .meta({
      description:
        'The same key from the same sender, a user or an API key, gets the first answer again for 24 h, and ' +
        'makes nothing twice. Kept are 2xx, 404, 409, 410 and 422; what was refused for now, as 401, 403, 429 ' +
        'and 5xx, is tried again.',
    }),
});

/** One entry a status; its description names the codes. */
function failuresOf(codes: readonly FailureCode[]): ZodOpenApiResponsesObject {
  const byStatus = new Map<number, FailureCode[]>();
  for (const code of codes) {
    const { status } = problemKinds[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const entries = [...byStatus].map(([status, names]) => [
    `${status}`,
    {
      description: names.map((name) => `\`${name}\``).join(', '),
      headers: rateHeaders,
      content: { [problemMediaType]: { schema: problem } },
    },
  ]);
  return Object.fromEntries(entries);
}
