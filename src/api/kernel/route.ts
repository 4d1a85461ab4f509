/**
 * A route: one line of the API's table, with its permission. `createRoute` closes over the types of its query and body, so
 * that handlers are typed and the table is not: reading, checking and handling are one `run`.
 */
import { z } from 'zod';
import { type Reply, type Request, withHeader } from '../../platform/uws/request.ts';
import { Failure, type FailureCode, type Fault, invalid } from '../../model/failure.ts';
import type { Actor, Role } from '../../model/workspace.ts';
import { check, validationFailure } from './faults.ts';
import type { AnswerHeader } from '../openapi/headers.ts';
import type { Tag } from '../openapi/tags.ts';
import { parseJson } from '../../model/json.ts';
import type { Session } from '../../product/workspaces/sessions.ts';

/** A route without query parameters. */
export const noQuery = z.object({});
/** A route without a body. */
const noBody = z.undefined();

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** A handler's answer. */
export interface Result {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
}

/** An answer of bytes, or one that is made while it is sent; never stored under an Idempotency-Key. */
export interface StreamedResult {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/**
 * Who may call a route: the least role of a key or a person; `person` is every signed-in person, whatever the role, and no
 * key. `public` needs no key and counts against the caller's address. `signed` needs none either: the body's signature names
 * the sender, and only a bad one counts.
 */
export type Access = KeyedAccess | 'public' | 'signed';
export type KeyedAccess = Role | 'person';

/** A request that the guard has admitted, before its query and body are read. */
export interface RawCall extends Pick<
  Request,
  'body' | 'chunks' | 'clientAddress' | 'header' | 'query'
> {
  readonly actor: Actor | undefined;
  /** Set when the actor is signed in by a cookie and no key was given. */
  readonly session: Session | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** Stores the answer under the request's Idempotency-Key, inside the transaction of its effect; absent without a key. */
  readonly keep: ((result: Result) => void) | undefined;
}

/** A request that was read and checked. */
export interface Call<Query, Body, Who = Actor> extends Pick<
  RawCall,
  'clientAddress' | 'header' | 'keep' | 'params' | 'session'
> {
  readonly actor: Who;
  /** The path's parameter, the id of the resource; empty without one. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
}

export interface RouteDescription {
  readonly method: Method;
  /** Below /v1; parameters as `:id`. */
  readonly path: string;
  readonly operationId: string;
  readonly access: Access;
  /** It makes many changes, or waits for others: a payment provider, an endpoint, threads that draw, the next leader. */
  readonly isSlow?: true;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly answer: {
    readonly status: 200 | 201 | 202;
    readonly schema: z.ZodType;
    readonly what: string;
    /** Describes a 200 in place of the 201, when the resource existed already. */
    readonly known?: string;
    /** Media types of the answer, if not only JSON; other types are text. */
    readonly mediaTypes?: readonly string[];
    /** Headers in addition to those of every answer, and to the Location of a 201. */
    readonly headers?: readonly AnswerHeader[];
  };
  /** Examples of bodies and answers that are text but not JSON, by media type. */
  readonly samples?: {
    readonly body?: Readonly<Record<string, string>>;
    readonly answer?: Readonly<Record<string, string>>;
  };
  /** Headers of the request that change what it does, for the document. */
  readonly requestHeaders?: Readonly<Record<string, z.ZodType>>;
  /**
   * An Idempotency-Key has no effect, and the answer is never stored: a repeated request has the same effect, or the
   * answer is a secret that only its receiver may have.
   */
  readonly isRepeatable?: true;
  /** The handler itself answers a repeated Idempotency-Key. */
  readonly keepsItsAnswer?: true;
  /** Media types of the body other than JSON, for the document. */
  readonly bodyMedia?: readonly string[];
  /** Overrides the API's `bodyBytesMax`. */
  readonly bodyBytesMax?: number;
  /** The operation whose rows this file has; it describes the parameters. */
  readonly fileOf?: string;
  /** Beyond those that every operation may answer. */
  readonly failures: readonly FailureCode[];
}

export interface Route extends RouteDescription {
  /** A streamed answer to a POST is for routes that are repeatable or keep it themselves. @throws Failure */
  run(call: RawCall): Promise<Result | StreamedResult>;
}

type AnyResult = Result | StreamedResult;

type Specification<Q extends z.ZodObject, B extends z.ZodType, Who> = RouteDescription & {
  /** None when absent. */
  readonly query?: Q;
  /** None when absent. */
  readonly body?: B;
  /** Replaces `body`, which the document shows, for the check; undefined = `body` checks it. */
  readonly bodyFor?: (actor: Who, id: string) => B | undefined;
  readonly handle: (call: Call<z.output<Q>, z.output<B>, Who>) => Promise<AnyResult> | AnyResult;
};

/** The actor of a public route is undefined without a key and a session. */
export function createRoute<
  Q extends z.ZodObject = typeof noQuery,
  B extends z.ZodType = typeof noBody,
>(specification: Specification<Q, B, Actor> & { readonly access: KeyedAccess }): Route;
export function createRoute<
  Q extends z.ZodObject = typeof noQuery,
  B extends z.ZodType = typeof noBody,
>(specification: Specification<Q, B, Actor | undefined> & { readonly access: 'public' }): Route;
export function createRoute(specification: Specification<z.ZodObject, z.ZodType, Actor>): Route {
  const { handle, bodyFor, ...given } = specification;
  const description = { query: noQuery, body: noBody, ...given };
  return {
    ...description,
    run: async ({ params, header, keep, session, clientAddress, ...raw }) => {
      if (raw.actor === undefined && description.access !== 'public') {
        throw new Error(`Cannot run ${description.operationId}: no actor`);
      }
      // Undefined only for the handler of a public route, which expects that.
      const actor = raw.actor!;
      assertKeyHasMeaning(description.method, header('idempotency-key'));
      const [id = ''] = Object.values(params);
      const query = readQuery(description.query, raw.query);
      const value = takesBody(description)
        ? await readBody({ ...raw, header }, description)
        : undefined;
      const body = check(bodyFor?.(actor, id) ?? description.body, value);
      if (!body.ok) throw validationFailure(body.faults, 'body');
      const call = { actor, params, id, header, keep, session, clientAddress };
      return handle({ ...call, query, body: body.value });
    },
  };
}

/** Whether an answer is stored under the request's Idempotency-Key. */
export const isIdempotent = ({ method, isRepeatable, access }: RouteDescription): boolean =>
  method === 'POST' && isRepeatable !== true && access !== 'signed';

/** Only answers to a POST are stored. @throws Failure validation_failed */
function assertKeyHasMeaning(method: Method, key: string | undefined): void {
  if (key === undefined || method === 'GET' || method === 'POST') return;
  const message = `Idempotency-Key is for POST: send a ${method} again without one`;
  throw invalid('Idempotency-Key', 'post_only', message);
}

/** Reads only the names of the schema; a repeated name is a fault. */
export function readQuery<Q extends z.ZodObject>(schema: Q, text: string): z.output<Q> {
  const given = new URLSearchParams(text);
  const values: Record<string, string> = {};
  const repeated: Fault[] = [];
  for (const name of Object.keys(schema.shape)) {
    const [value, another] = given.getAll(name);
    if (value !== undefined) values[name] = value;
    if (another !== undefined) {
      repeated.push({ path: name, code: 'repeated', message: 'Send it only once' });
    }
  }
  const checked = check(schema, values);
  if (checked.ok && repeated.length === 0) return checked.value;
  throw validationFailure([...repeated, ...(checked.ok ? [] : checked.faults)], 'query');
}

/** Of the names in X-Unknown-Parameters, together at most 1.4 KB: proxies take 4 KB and more. */
const namesMax = 20;
const nameLengthMax = 64;
const more = '...';

/**
 * X-Unknown-Parameters: the parameters of a query that the operation does not have. The API accepts them, because clients and
 * proxies add their own, and names them, because otherwise `sort` on a list that cannot sort would seem to work.
 *
 *   ?sort=name&%0d%0aSet-Cookie:x=1   ->   X-Unknown-Parameters: sort,%0D%0ASet-Cookie%3Ax
 *
 * Names are percent-encoded in UTF-8, so that a name cannot inject a header or look like two names.
 */
export function withUnknownParameters(
  reply: Reply,
  query: string,
  route: Pick<RouteDescription, 'query'>,
): Reply {
  if (query === '') return reply;
  const known = route.query?.shape ?? {};
  const unknown = new Set<string>();
  for (const name of new URLSearchParams(query).keys()) {
    if (Object.hasOwn(known, name)) continue;
    unknown.add(unknown.size < namesMax ? encoded(name) : more);
    if (unknown.size > namesMax) break;
  }
  if (unknown.size === 0) return reply;
  return withHeader(reply, 'X-Unknown-Parameters', [...unknown].join(','));
}

function encoded(name: string): string {
  if (name === '') return '""';
  let text = '';
  for (const character of name) {
    const next = encodeURIComponent(character);
    if (text.length + next.length > nameLengthMax) return text + more;
    text += next;
  }
  return text;
}

/** The path as OpenAPI has it: `/qr-codes/{id}`. */
export function pathOf({ path }: Pick<RouteDescription, 'path'>): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

const jsonTypes: ReadonlySet<string> = new Set(['application/json']);
const patchTypes: ReadonlySet<string> = new Set([
  'application/json',
  'application/merge-patch+json',
]);

/** A DELETE has a body only where its route describes one. */
export function takesBody({ method, body }: RouteDescription): boolean {
  return method !== 'GET' && (method !== 'DELETE' || body?.type !== 'undefined');
}

/** Whether the schema refuses a missing body. */
export function needsBody({ body }: RouteDescription): boolean {
  return body?.safeParse(undefined).success !== true;
}

export function mediaTypeOf(contentType: string | undefined): { name: string; isUtf8: boolean } {
  const [name = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const isUtf8 = parameters.every((text) => !/charset\s*=(?!\s*"?utf-8"?\s*$)/.test(text));
  return { name: name.trim(), isUtf8 };
}

async function readBody(
  call: Pick<RawCall, 'body' | 'header'>,
  route: RouteDescription,
): Promise<unknown> {
  if (!needsBody(route) && (await call.body()).length === 0) return undefined;
  const { method } = route;
  const { name, isUtf8 } = mediaTypeOf(call.header('content-type'));
  const isKnown = (method === 'PATCH' ? patchTypes : jsonTypes).has(name);
  if (!isKnown || !isUtf8) {
    throw new Failure(
      'unsupported_media_type',
      'Cannot read the body: expected Content-Type: application/json in UTF-8',
    );
  }
  return parseJson(await call.body());
}

export function jsonResult(
  status: 200 | 201 | 202,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Result {
  return { status, headers, body: JSON.stringify(value) };
}
