/** Names of time zones, as `Intl` knows them. */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';

const nameLengthMax = 64;
/** Refuses offsets such as `+01:00`, which `Intl` also takes: they have no summer time. */
const name = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
/** A lookup takes some 20 µs, and thousands of rows may have the same zone. About 600 exist. */
const known = new LRUCache<string, { readonly name: string | undefined }>({ max: 1_000 });
/** Names by their lower case: `Intl` takes any case and does not correct it. */
const spellings = new Map(
  ['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => [zone.toLowerCase(), zone]),
);

/** @param others words that are accepted next to names */
export const timeZoneField = (message: string, others: readonly string[] = []) =>
  z
    .string()
    .max(nameLengthMax)
    .transform((text, context) => {
      const found = others.includes(text) ? text : spelledZone(text);
      if (found !== undefined) return found;
      context.addIssue({ code: 'custom', message, params: { code: 'unknown_timezone' } });
      return z.NEVER;
    });

export const timeZone = timeZoneField('Expected a time zone such as Europe/Berlin').meta({
  override: { type: 'string', maxLength: nameLengthMax },
  description: 'IANA time zone',
  example: 'Europe/Berlin',
});

/** As it is written; undefined for an unknown one. */
function spelledZone(text: string): string | undefined {
  let found = known.get(text);
  if (found === undefined) {
    const isZone = name.test(text) && canFormat(text);
    found = { name: isZone ? (spellings.get(text.toLowerCase()) ?? text) : undefined };
    known.set(text, found);
  }
  return found.name;
}

function canFormat(zone: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
