/**
 * What resources have in common: get one, list them page by page, delete one, make one.
 *
 * The lists here are bounded and in memory: members, invites, keys, workspaces, endpoints. Items come newest first by id. A
 * cursor is the last id of a page, so added and removed items shift no page.
 */
import { z } from 'zod';
import { invalidCursor } from '../../model/cursor.ts';
import { readOr } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import { count, pageQuery } from './fields.ts';
import {
  type Call,
  createRoute,
  jsonResult,
  type KeyedAccess,
  type RawCall,
  type noQuery,
  type Result,
  type Route,
  type RouteDescription,
} from './route.ts';

type Described = Pick<
  RouteDescription,
  'path' | 'operationId' | 'tag' | 'summary' | 'description' | 'isRepeatable' | 'requestHeaders'
> & { readonly access: KeyedAccess };
type Read<Q extends z.ZodObject> = Call<z.output<Q>, undefined>;

/** A path with an id may answer 404. @param read returns the answer's value */
export function getRoute<Q extends z.ZodObject = typeof noQuery>({
  schema,
  what,
  read,
  ...described
}: Described & {
  readonly query?: Q;
  readonly schema: z.ZodType;
  readonly what: string;
  readonly read: (call: Read<Q>) => unknown;
}): Route {
  return createRoute<Q>({
    method: 'GET',
    ...described,
    answer: { status: 200, schema, what },
    failures: described.path.includes(':') ? ['not_found'] : [],
    handle: async (call) => jsonResult(200, await read(call)),
  });
}

const shortListQuery = z.object(pageQuery);
type Query = z.output<typeof shortListQuery>;

const cursorPattern = /^[a-z]+_[0-9a-z]{20}$/;

const pageFields = {
  page: z.int().min(1).meta({ description: 'This page', example: 1 }),
  total: count.meta({ id: 'Total', description: 'Number of items on all pages', example: 1 }),
  limit: z.int().min(1).max(100).meta({ description: 'Maximum items per page', example: 20 }),
  nextCursor: z.string().optional().meta({
    id: 'NextCursor',
    description: '`cursor` of the next page; absent on the last page',
    example: 'eyJhIjoxfQ',
  }),
};

/** A page of a list that has only `cursor`. @param id of the schema in the OpenAPI document */
export function cursorPageSchema<S extends z.ZodType>(id: string, item: S) {
  const { limit, nextCursor } = pageFields;
  const data = z.array(item).meta({ description: 'Newest first' });
  return z.object({ data, limit, nextCursor }).meta({ id });
}

/** @param id of the schema in the OpenAPI document */
export function pageSchema<S extends z.ZodType>(id: string, item: S) {
  return z
    .object({
      data: z.array(item).meta({ description: 'On this page, newest first by default' }),
      ...pageFields,
    })
    .meta({ id });
}

/** A page from which items may be missing. */
export function partialPageSchema<S extends z.ZodType>(id: string, item: S) {
  const unreadable = z
    .int()
    .min(1)
    .optional()
    .meta({
      description:
        'Number of items omitted because of damaged records; absent = none. `total` counts the items in the index. ' +
        'A search counts all unreadable records',
      example: 1,
    });
  return z.object({ ...pageSchema(id, item).shape, unreadable }).meta({ id });
}

/** The views of the readable items, and how many items are damaged. */
export function viewsOf<T, V>(
  items: readonly T[],
  view: (item: T) => V,
): { readonly views: V[]; readonly unreadable: number } {
  const views = items.flatMap((item) => readOr(() => [view(item)], []));
  return { views, unreadable: items.length - views.length };
}

/** @param items all of them, newest first */
export function listRoute<T>({
  schema,
  items,
  idOf,
  view,
  ...described
}: Described & {
  readonly schema: z.ZodType;
  readonly items: (call: Read<typeof shortListQuery>) => readonly T[];
  readonly idOf: (item: T) => string;
  readonly view: (item: T) => unknown;
}): Route {
  return getRoute({
    ...described,
    query: shortListQuery,
    schema,
    what: 'A page',
    read: (call) => pageOf(items(call), call.query, idOf, view),
  });
}

/** @throws Failure validation_failed for a cursor of another list */
function pageOf<T>(
  items: readonly T[],
  { page, limit, cursor }: Query,
  idOf: (item: T) => string,
  view: (item: T) => unknown,
) {
  const start = cursor === undefined ? (page - 1) * limit : startAfter(items, cursor, idOf);
  const data = items.slice(start, start + limit);
  const last = data.at(-1);
  const isMore = start + limit < items.length;
  return {
    data: data.map(view),
    page,
    total: items.length,
    limit,
    ...(isMore && last !== undefined ? { nextCursor: idOf(last) } : {}),
  };
}

function startAfter<T>(items: readonly T[], cursor: string, idOf: (item: T) => string): number {
  if (!cursorPattern.test(cursor)) throw invalidCursor();
  const at = items.findIndex((item) => idOf(item) < cursor);
  return at === -1 ? items.length : at;
}

const deleted = z
  .object({
    deleted: z.literal(true).meta({ description: 'Always true' }),
    id: z.string().meta({ description: 'Its id', example: 'whk_01k3zq8m4hd2v7c5x9ab' }),
  })
  .meta({ id: 'Deleted' });

/** @param remove @throws Failure not_found, also the second time */
export function deleteRoute({
  remove,
  failures = ['not_found', 'storage_full'],
  ...described
}: Described & {
  readonly remove: (actor: Actor, id: string, header: RawCall['header']) => Promise<unknown>;
  readonly failures?: RouteDescription['failures'];
}): Route {
  return createRoute({
    method: 'DELETE',
    ...described,
    answer: { status: 200, schema: deleted, what: 'Deleted' },
    failures,
    handle: async ({ actor, id, header }) => {
      await remove(actor, id, header);
      return jsonResult(200, { deleted: true, id });
    },
  });
}

/** 201 with the address of the new resource. @param path of its list, below /v1 */
export function created(
  path: string,
  value: { readonly id: string; readonly [field: string]: unknown },
): Result {
  return jsonResult(201, value, { Location: `/v1${path}/${value.id}` });
}

/**
 * A POST whose result is made once: under an Idempotency-Key inside the transaction of its effect, where `make` calls
 * `kept`, else after it.
 */
export function postRoute<Made, B extends z.ZodType>({
  failures = ['conflict'],
  make,
  result,
  ...described
}: Described &
  Pick<RouteDescription, 'answer' | 'isSlow'> & {
    readonly body: B;
    readonly bodyFor?: () => B;
    /** Beyond those of every such route. */
    readonly failures?: RouteDescription['failures'];
    readonly make: (call: Call<unknown, z.output<B>>, kept: (made: Made) => void) => Promise<Made>;
    readonly result: (made: Made, actor: Actor) => Result;
  }): Route {
  return createRoute<typeof noQuery, B>({
    method: 'POST',
    ...described,
    failures: [...failures, 'idempotency_conflict', 'storage_full'],
    handle: async (call) => {
      const { actor, keep } = call;
      let stored: Result | undefined;
      const made = await make(call, (value) => {
        if (keep === undefined) return;
        stored = result(value, actor);
        keep(stored);
      });
      return stored ?? result(made, actor);
    },
  });
}
