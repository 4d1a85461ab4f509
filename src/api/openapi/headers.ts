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
    'Limit of the tighter window: the minute, or the day if less is left',
    600,
  ),
  'X-RateLimit-Remaining': whole('Left', 'Remaining requests in that window', 599),
  'X-RateLimit-Reset': whole('Reset', 'End of that window, in Unix seconds', 1_772_366_460),
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
    'Unknown names in the query, percent-encoded, separated by commas; the first 20',
    'sort,timezone',
  ),
  Allow: text('Allow', 'With 405: the allowed methods', 'GET, HEAD'),
  'Content-Disposition': text(
    'Disposition',
    'Name of the file',
    'attachment; filename="qr-codes.csv"',
  ),
  ETag: text(
    'ETag',
    'Version of the answer, for lists above 1 KB; version of a code, for `If-Match`',
    'W/"Zk3vT1c0Y6u2sPqR8wXaBd"',
  ),
  'Idempotent-Replayed': z
    .literal('true')
    .optional()
    .meta({
      description:
        'Only POST: a repeated answer to the same Idempotency-Key; the request had no second effect',
      example: 'true',
      header: { id: 'Replayed' },
    }),
  Location: text(
    'Location',
    'Address of the created resource',
    '/v1/qr-codes/qr_01k3zq8m4hd2v7c5x9ab',
  ),
  'Retry-After': z
    .int()
    .min(1)
    .optional()
    .meta({
      description:
        'Seconds to wait. Always with 429: after them, the same window does not refuse again. With 503 if it is known',
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
