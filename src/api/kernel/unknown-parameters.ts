/**
 * X-Unknown-Parameters: the parameters of a query that the operation does not have. The API accepts them, because clients and
 * proxies add their own, and names them, because otherwise `sort` on a list that cannot sort would seem to work.
 *
 *   ?sort=name&%0d%0aSet-Cookie:x=1   ->   X-Unknown-Parameters: sort,%0D%0ASet-Cookie%3Ax
 *
 * Names are percent-encoded in UTF-8, so that a name cannot inject a header or look like two names.
 */
import { type Reply, withHeader } from '../../platform/uws/request.ts';
import type { RouteDescription } from './route.ts';

/** Together at most 1.4 KB: proxies take 4 KB and more. */
const namesMax = 20;
const nameLengthMax = 64;
const more = '...';

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
