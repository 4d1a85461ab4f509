/** Headers of answers, each a component of the document that answers refer to. */
import { z } from 'zod';
import { idPattern } from '../../model/ids.ts';

const text = (id: string, description: string, example: string) =>
  z.string().optional().meta({ description, example, header: { id } });

const whole = (id: string, description: string, example: number) =>
  z.int().min(0).meta({ description, example, header: { id } });

const every = {
  'X-RateLimit-Limit': whole(
    'Limit',
    'Requests of the window that binds now: the minute, or the day when less is left',
    600,
  ),
  'X-RateLimit-Remaining': whole('Left', 'Requests that are left in that window', 599),
  'X-RateLimit-Reset': whole('Reset', 'Unix seconds when that window ends', 1_772_366_460),
  'X-Request-Id': z.string().meta({
    override: { pattern: idPattern('req') },
    description: 'Names this request in the service’s log',
    example: 'req_01k3zq8m4hd2v7c5x9ab',
    header: { id: 'Id' },
  }),
};

const some = {
  'X-Unknown-Parameters': text(
    'Unknown',
    'Names in the query that the operation does not know, percent-encoded, separated by commas; the first 20',
    'sort,timezone',
  ),
  Allow: text('Allow', 'With 405: the methods that the address has', 'GET, HEAD'),
  'Content-Disposition': text(
    'Disposition',
    'The name of a file to save',
    'attachment; filename="qr-codes.csv"',
  ),
  ETag: text(
    'ETag',
    'Of a list above 1 KB: names what was sent. Of a code: names what can be changed of it, for `If-Match`',
    'W/"Zk3vT1c0Y6u2sPqR8wXaBd"',
  ),
  'Idempotent-Replayed': z
    .literal('true')
    .optional()
    .meta({
      description:
        'POST alone: this answer was given before, to the same Idempotency-Key; nothing was done again',
      example: 'true',
      header: { id: 'Replayed' },
    }),
  Location: text('Location', 'Address of what was created', '/v1/qr-codes/qr_01k3zq8m4hd2v7c5x9ab'),
  'Retry-After': z
    .int()
    .min(1)
    .optional()
    .meta({
      description:
        'Seconds. Always with 429: who waits that long is not refused again for the same window. With ' +
        '503 where it is known',
      example: 17,
      header: { id: 'RetryAfter' },
    }),
  'Set-Cookie': text(
    'SetCookie',
    'The session, for browsers',
    'quietzone=…; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax',
  ),
  Vary: text('Vary', 'The answer depends on this header of the request', 'Accept-Encoding'),
  'WWW-Authenticate': text(
    'Authenticate',
    'With 401: how to authenticate',
    'Bearer realm="quietzone"',
  ),
};

export type AnswerHeader = keyof typeof some;

/** The headers of every answer, and those that are named. */
export function headersOf(names: readonly AnswerHeader[]): z.ZodObject {
  return z.object({ ...every, ...Object.fromEntries(names.map((name) => [name, some[name]])) });
}
