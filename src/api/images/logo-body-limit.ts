/**
 * The body limit of routes that take a design or a brand: the usual one, or that of a code with rules, not counting the
 * logo in the body.
 */
import { Failure } from '../../model/failure.ts';
import { designBodyBytesMax } from './image-schemas.ts';
import { parseJson, textAt } from '../../model/json.ts';
import { standardBodyBytesMax } from '../../platform/uws/request.ts';
import type { Route } from '../kernel/route.ts';

/** A code at all bounds of its rules, splits and targets: 28 addresses of 2 KB, 20 rules of some 6 KB. */
export const codeBodyBytesMax = 196_608;

/** @param part of the body that has the logo @param limit bytes of the body without it */
export function withLogoBodyLimit(
  route: Route,
  part: 'design' | 'brand' = 'design',
  limit = standardBodyBytesMax,
): Route {
  return {
    ...route,
    bodyBytesMax: limit + designBodyBytesMax,
    run: async (call) => {
      const bytes = await call.body();
      if (bytes.length > limit && bytes.length - logoLength(bytes, part) > limit) {
        const detail = `Cannot read the body: without its logo it is larger than ${limit} bytes`;
        throw new Failure('body_too_large', detail);
      }
      return await route.run(call);
    },
  };
}

/** Bytes of `design.logo` or `brand.logo`, which is ASCII. */
function logoLength(bytes: Uint8Array, part: string): number {
  try {
    return textAt(parseJson(bytes), part, 'logo')?.length ?? 0;
  } catch {
    return 0;
  }
}
