/**
 * Pages of lists that are bounded and at hand whole: members, invites, keys, workspaces. Items come
 * newest first by id; a cursor is the last id of a page, so what comes or goes in between shifts nothing.
 */
import { z } from 'zod';
import { Failure } from '../model/failure.ts';
import { count, pageQuery } from './fields.ts';
import { jsonResult, type Result } from './route.ts';

export const shortListQuery = z.object(pageQuery);
type Query = z.output<typeof shortListQuery>;

const cursorPattern = /^[a-z]+_[0-9a-z]{20}$/;

/** @param id of the schema in the OpenAPI document */
export function pageSchema<S extends z.ZodType>(id: string, item: S) {
  return z
    .object({
      data: z.array(item),
      page: z.int().min(1).meta({ example: 1 }),
      total: count,
      limit: z.int().min(1).max(100).meta({ example: 20 }),
      nextCursor: z.string().optional().meta({ description: 'Absent on the last page' }),
    })
    .meta({ id });
}

/** @param items newest first @throws Failure validation_failed for a cursor of another list */
export function pageResult<T>(
  items: readonly T[],
  { page, limit, cursor }: Query,
  idOf: (item: T) => string,
  view: (item: T) => unknown,
): Result {
  const start = cursor === undefined ? (page - 1) * limit : startAfter(items, cursor, idOf);
  const data = items.slice(start, start + limit);
  const last = data.at(-1);
  const isMore = start + limit < items.length;
  return jsonResult(200, {
    data: data.map(view),
    page,
    total: items.length,
    limit,
    ...(isMore && last !== undefined ? { nextCursor: idOf(last) } : {}),
  });
}

function startAfter<T>(items: readonly T[], cursor: string, idOf: (item: T) => string): number {
  if (!cursorPattern.test(cursor)) {
    const message = 'Expected nextCursor of the page before';
    const faults = [{ path: 'cursor', code: 'invalid_cursor', message }];
    throw new Failure('validation_failed', message, { faults });
  }
  const at = items.findIndex((item) => idOf(item) < cursor);
  return at === -1 ? items.length : at;
}
