/**
 * Routes of a body in which the schema has found faults, as far as they can be read: the rules of codes/routing are asked
 * for theirs too, so that all come at once. What is not of its kind is left out here, and the schema's fault alone.
 */
import { z } from 'zod';
import type { ReadRoutes } from '../../codes/routing/route-faults.ts';
import { utmKeys } from '../../model/routing/routing.ts';
import { storableTime } from './routing-schemas.ts';

const text = z.string().optional().catch(undefined);
const flag = z.boolean().optional().catch(undefined);
/** The schema has made numbers of those without a fault. */
const time = z.union([z.number(), storableTime]).optional().catch(undefined);
const leading = z.object({ label: text, target: text }).catch({});
const split = z.array(leading).optional().catch(undefined);
const rule = z
  .object({ label: text, then: z.object({ target: text, split }).catch({}) })
  .catch({ then: {} });

const readable = z.object({
  rules: z.array(rule).optional().catch(undefined),
  split,
  utm: z.partialRecord(z.enum(utmKeys), text).optional().catch(undefined),
  passQuery: flag,
  startsAt: time,
  paused: flag,
  fallbackUrl: text,
  expiresAt: time,
});

export interface ReadBody {
  readonly routes: ReadRoutes;
  readonly expiresAtMs: number | undefined;
}

export function readRouting(body: unknown): ReadBody {
  const { startsAt, expiresAt, ...routes } = readable.catch({}).parse(body);
  return { routes: { ...routes, startsAtMs: startsAt }, expiresAtMs: expiresAt };
}
