/** Names of time zones, as `Intl` knows them. */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';

const nameLengthMax = 64;
/** Offsets such as `+01:00`, which `Intl` takes too, are no zones: they know no summer. */
const name = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
/** Asking takes some 20 µs, and thousands of rows have the same zone; there are about 600. */
const known = new LRUCache<string, boolean>({ max: 1_000 });

export const timeZone = z
  .string()
  .max(nameLengthMax)
  .refine(isTimeZone, {
    message: 'Expected a time zone such as Europe/Berlin',
    params: { code: 'unknown_timezone' },
  })
  .meta({ description: 'IANA time zone', example: 'Europe/Berlin' });

export function isTimeZone(text: string): boolean {
  const found = known.get(text) ?? (name.test(text) && canFormat(text));
  known.set(text, found);
  return found;
}

function canFormat(zone: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
