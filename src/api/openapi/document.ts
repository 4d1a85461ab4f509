/**
 * OpenAPI 3.1, assembled from the same routes and schemas that answer requests, so that it cannot describe
 * anything else. Headers, parameters, refusals and schemas that operations share are components.
 */
import { z } from 'zod';
import { createDocument, type oas31 } from 'zod-openapi';
import type {
  ZodOpenApiContentObject,
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi';
import {
  type Access,
  isIdempotent,
  needsBody,
  pathOf,
  takesBody,
  type Route,
} from '../kernel/route.ts';
import type { IdPrefix } from '../../model/ids.ts';
import { logoName } from '../../product/images/design/design.ts';
import { SessionCookie } from '../workspaces/cookie.ts';
import { addExamples } from './examples.ts';
import { emptyBody, idText, pascalCase } from '../kernel/fields.ts';
import { type AnswerHeader, headersOf } from './headers.ts';
import { isList } from '../kernel/packing.ts';
import { bodyFailures, commonFailures, ProblemResponses } from './problems.ts';
import { tags } from './tags.ts';
import { openAnswers, tidySchemas } from './tidy-schemas.ts';
import { createWebhooks, webhookSignature } from './webhooks.ts';

export type OpenApi = oas31.OpenAPIObject;

const jsonType = 'application/json';

/** @param publicUrl the API's public address, without /v1 */
export function createOpenApi(routes: readonly Route[], publicUrl: string): OpenApi {
  const parts = new OperationParts(publicUrl);
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of routes) {
    const path = pathOf(route);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: parts.operation(route) };
  }
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Quietzone API',
        version: '1',
        description: 'Dynamic QR codes: create them, change their destinations, count their scans',
        contact: { name: 'The operator of this installation', url: publicUrl },
        license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
      },
      externalDocs: { description: 'Reference and guides', url: `${publicUrl}/docs` },
      servers: [{ url: `${publicUrl}/v1` }],
      security: [{ apiKey: [] }, { session: [] }],
      tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
      paths: paths satisfies ZodOpenApiPathsObject,
      webhooks: createWebhooks(),
      components: { securitySchemes: securitySchemes(publicUrl) },
    },
    { override: openAnswers },
  );
  tidySchemas(document);
  dropRepeats(document);
  addExamples(document);
  shareParts(document);
  return document;
}

/** Which parts may become components, by the key that holds them. */
const shareable = {
  responses: 'responses',
  parameters: 'parameters',
  properties: 'schemas',
} as const;
/** Shorter ones gain nothing. */
const sharedLengthMin = 70;

/** Equal answers, parameters and fields become one component: `Limit`, or `ListCodesLimit` if several differ. */
function shareParts({ paths, components = {} }: OpenApi): void {
  const places = [...Object.entries(components.schemas ?? {}), ['', paths] as const].flatMap(
    placesIn,
  );
  const same = Map.groupBy(places, ({ kind, text }) => kind + text).values();
  const groups = [...same].filter(({ length }) => length > 1);
  const words = Map.groupBy(groups, ([first]) => `${first?.kind} ${first?.word}`);
  for (const group of groups) {
    const { kind, name: long, word, part } = group[0]!;
    const isTaken = (name: string): boolean => components[kind]?.[name] !== undefined;
    const name = words.get(`${kind} ${word}`)?.length === 1 && !isTaken(word) ? word : long;
    if (isTaken(name)) throw new Error(`Cannot share ${name}: it exists`);
    Object.assign((components[kind] ??= {}), { [name]: part });
    for (const { parts, key } of group) {
      Reflect.set(parts, key, { $ref: `#/components/${kind}/${name}` });
    }
  }
}

type Place = Readonly<
  Record<'key' | 'word' | 'name' | 'text', string> & Record<'parts' | 'part', object>
> & {
  readonly kind: (typeof shareable)[keyof typeof shareable];
};

function placesIn([name, parts]: readonly [name: string, parts: unknown]): Place[] {
  if (typeof parts !== 'object' || parts === null) return [];
  const holder = 'operationId' in parts ? pascalCase(String(parts.operationId)) : name;
  return Object.entries(parts).flatMap(([word, inner]: [string, unknown]) => {
    const kind = new Map(Object.entries(shareable)).get(word);
    if (kind === undefined) return placesIn([holder, inner]);
    return Object.entries(Object(inner)).flatMap(([key, part]: [string, unknown]) => {
      if (typeof part !== 'object' || part === null || '$ref' in part) return [];
      const word = pascalCase('name' in part ? String(part.name) : key);
      const name = holder + word;
      const text = JSON.stringify(part);
      const place = { kind, parts: Object(inner), key, part, word, name, text };
      return [...(text.length < sharedLengthMin ? [] : [place]), ...placesIn([name, part])];
    });
  });
}

/** Removes descriptions of schemas that repeat those of their parameter or header, and empty lists of parameters. */
function dropRepeats({ paths, components }: OpenApi): void {
  const operations = Object.values(paths ?? {}).flatMap((item) => Object.values(item));
  const parameters: Described[] = operations.flatMap(({ parameters: own = [] }) => own);
  for (const operation of operations) {
    if (operation.parameters?.length === 0) delete operation.parameters;
  }
  const shared = [components?.parameters, components?.headers].map((part) => part ?? {});
  for (const described of [...parameters, ...shared.flatMap((part) => Object.values(part))]) {
    if ('schema' in described) delete described.schema?.description;
  }
}

type Described = oas31.ParameterObject | oas31.HeaderObject | oas31.ReferenceObject;

function securitySchemes(publicUrl: string): Record<string, oas31.SecuritySchemeObject> {
  return {
    apiKey: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description:
        'An API key, created in the dashboard, with `createApiKey` or with `quietzone keys create`.',
    },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: new SessionCookie(publicUrl).name,
      description: 'Made by `signIn`, for the dashboard.',
    },
    csrfToken: {
      type: 'apiKey',
      in: 'header',
      name: 'X-CSRF-Token',
      description: '`csrfToken` of the session, needed for changes with a session.',
    },
    webhookSignature,
  };
}

class OperationParts {
  readonly #problems: ProblemResponses;

  constructor(publicUrl: string) {
    this.#problems = new ProblemResponses(`${publicUrl}/docs`);
  }

  operation(route: Route): ZodOpenApiOperationObject {
    const { access, answer, query, requestHeaders } = route;
    const hasBody = takesBody(route) && route.body?.type !== 'undefined';
    const hasQuery = query !== undefined && !isEmpty(query.shape);
    const path = pathParameters(route.path);
    const headers = {
      ...(isIdempotent(route) ? idempotencyHeader : {}),
      ...(isList(route.operationId) ? ifNoneMatchHeader : {}),
      ...requestHeaders,
    };
    const known = answer.known === undefined ? {} : successOf(200, answer.known, route);
    return {
      operationId: route.operationId,
      tags: [route.tag],
      summary: route.summary,
      description: `${route.description} ${accessText(access)}`,
      ...securityOf(access, route),
      requestParams: {
        ...(path === undefined ? {} : { path }),
        ...(hasQuery ? { query } : {}),
        ...(isEmpty(headers) ? {} : { header: z.object(headers) }),
      },
      ...(hasBody && route.body !== undefined && route.body !== emptyBody
        ? {
            requestBody: {
              required: needsBody(route),
              content: {
                [jsonType]: { schema: route.body },
                ...otherMedia(route.bodyMedia, route.samples?.body),
              },
            },
          }
        : {}),
      responses: {
        ...successOf(answer.status, answer.what, route),
        ...known,
        ...(isList(route.operationId) ? { 304: notModified } : {}),
        ...this.#problems.of(
          [
            ...commonFailures,
            ...(mayForbid(access, route) ? (['forbidden'] as const) : []),
            ...(hasBody ? bodyFailures : []),
            ...(hasBody || hasQuery ? (['validation_failed'] as const) : []),
          ],
          route.failures,
        ),
      },
    };
  }
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}

/** Every key and every person may read what a viewer may. */
function mayForbid(access: Access, { method }: Route): boolean {
  return !isKeyless(access) && !(access === 'viewer' && method === 'GET');
}

function successOf(status: number, description: string, route: Route): ZodOpenApiResponsesObject {
  const { answer } = route;
  const { schema, mediaTypes = [jsonType], headers = [] } = answer;
  const own: AnswerHeader[] = [
    ...(route.method === 'GET' ? (['X-Unknown-Parameters'] as const) : []),
    ...(status === 201 ? (['Location'] as const) : []),
    ...(isIdempotent(route) ? (['Idempotent-Replayed'] as const) : []),
    ...(isList(route.operationId) ? (['ETag', 'Vary'] as const) : []),
    ...headers,
  ];
  const content: ZodOpenApiContentObject = mediaTypes.includes(jsonType)
    ? { [jsonType]: { schema } }
    : {};
  const others = otherMedia(
    mediaTypes.filter((type) => type !== jsonType),
    route.samples?.answer,
  );
  const sent = { ...content, ...others };
  return { [`${status}`]: { description, headers: headersOf(own), content: sent } };
}

/** Media types other than JSON: lines and tables are text without a schema, pictures and archives are bytes. */
function otherMedia(
  types: readonly string[] = [],
  samples: Readonly<Record<string, string>> = {},
): ZodOpenApiContentObject {
  const media = types.map((type) => {
    const sample = samples[type] === undefined ? {} : { example: samples[type] };
    return [type, isText(type) ? { schema: { type: 'string' }, ...sample } : {}];
  });
  return Object.fromEntries(media);
}

function isText(type: string): boolean {
  return type.startsWith('text/') || type.endsWith('json');
}

function securityOf(access: Access, { method }: Route): Pick<oas31.OperationObject, 'security'> {
  if (isKeyless(access)) return { security: [] };
  const session = method === 'GET' ? { session: [] } : { session: [], csrfToken: [] };
  if (access === 'person') return { security: [session] };
  return method === 'GET' ? {} : { security: [{ apiKey: [] }, session] };
}

function isKeyless(access: Access): boolean {
  return access === 'public' || access === 'signed';
}

function accessText(access: Access): string {
  if (access === 'person') return 'For signed-in users, not for API keys.';
  return isKeyless(access) ? 'Needs no key.' : `Least role: ${access}.`;
}

const delivery = idOf('DeliveryId', 'dlv', 'delivery');

/** Parameters of paths, by the beginning of the path, the longest first: each names one resource, and is a component. */
const parametersByStart: ReadonlyArray<readonly [start: string, parameter: z.ZodString]> = [
  ['/webhooks/deliveries/', delivery],
  ['/webhooks/dead-letters/', delivery],
  ['/webhooks/', idOf('WebhookId', 'whk', 'endpoint')],
  ['/qr-codes/', idOf('QrCodeId', 'qr', 'QR code')],
  ['/campaigns/', idOf('CampaignId', 'cmp', 'campaign')],
  ['/reports/', idOf('ReportId', 'rep', 'report')],
  ['/watches/', idOf('WatchId', 'wch', 'watch')],
  ['/team/invites/', idOf('InviteId', 'inv', 'invite')],
  ['/team/members/', idOf('UserId', 'usr', 'user')],
  ['/api-keys/', idOf('ApiKeyId', 'key', 'API key')],
  ['/workspaces/', idOf('WorkspaceId', 'ws', 'workspace')],
  ['/billing/checkout/', idOf('CheckoutId', 'chk', 'checkout')],
  [
    '/logos/',
    z.string().meta({
      override: { pattern: logoName.source },
      description: 'Id of the logo',
      example: 'logo:0123456789abcdef0123456789abcdef',
      param: { id: 'LogoId' },
    }),
  ],
];

/** @param id of the component */
function idOf(id: string, prefix: IdPrefix, what: string): z.ZodString {
  return idText(prefix, `Id of the ${what}`).meta({ param: { id } });
}

/** Undefined for a path without parameters. @throws Error for a path that is not in the table */
function pathParameters(path: string): z.ZodObject | undefined {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  if (names.length === 0) return undefined;
  const parameter = parametersByStart.find(([start]) => path.startsWith(start))?.[1];
  if (parameter === undefined) {
    throw new Error(`Cannot describe ${path}: expected its parameter in document.ts`);
  }
  return z.object(Object.fromEntries(names.map((name) => [name, parameter])));
}

const notModified = {
  id: 'NotModified',
  description: 'The list is unchanged since the `ETag` in If-None-Match',
  headers: headersOf(['ETag', 'Vary', 'X-Unknown-Parameters']),
};

const ifNoneMatchHeader = {
  'If-None-Match': z
    .string()
    .optional()
    .meta({
      description: 'The `ETag` of an earlier answer: without a change, the answer is 304',
      example: 'W/"Zk3vT1c0Y6u2sPqR8wXaBd"',
      param: { id: 'IfNoneMatch' },
    }),
};

const idempotencyHeader = {
  'Idempotency-Key': z
    .string()
    .regex(/^[!-~]{1,255}$/)
    .optional()
    .meta({
      description:
        'For 24 h, a repeated request with the same key from the same user or API key gets the first answer and ' +
        'has no second effect. This covers 2xx, 404, 409, 410 and 422; after other answers, such as 401, 403, ' +
        '429 and 5xx, the request runs again',
      example: 'f3b1c7e2-order-4711',
      param: { id: 'Key' },
    }),
};
