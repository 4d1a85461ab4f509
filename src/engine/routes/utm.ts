/**
 * Adds UTM parameters and their tokens to a target when it is stored, so that a redirect does no work. A parameter of the same
 * name is replaced, everything else keeps its bytes.
 */
import { type Utm, utmKeys } from '../../model/routing/routing.ts';
import { joinAddress, parameterName, parametersOf, splitAddress } from './query-text.ts';

export interface UtmTokens {
  readonly slug: string;
  readonly label: string;
  readonly campaign: string;
}

export const utmToken = /\{([^{}]*)\}/g;
export const utmTokens: ReadonlySet<string> = new Set(['slug', 'label', 'campaign']);

/** A value that is empty with its tokens filled in adds nothing. @param target a WHATWG href @returns a WHATWG href */
export function withUtm(target: string, utm: Utm | undefined, tokens: UtmTokens): string {
  if (utm === undefined) return target;
  const added = new Map<string, string>();
  for (const key of utmKeys) {
    const value = filled(utm[key] ?? '', tokens);
    if (value !== '') added.set(`utm_${key}`, `utm_${key}=${encoded(value)}`);
  }
  if (added.size === 0) return target;
  const address = splitAddress(target);
  const kept = parametersOf(address.query).filter((one) => !added.has(parameterName(one)));
  return joinAddress(address, [...kept, ...added.values()]);
}

const filled = (value: string, { slug, label, campaign }: UtmTokens): string => {
  const values = new Map([
    ['slug', slug],
    ['label', label],
    ['campaign', campaign],
  ]);
  return value.replace(utmToken, (whole, name: string) => values.get(name) ?? whole);
};

/** A WHATWG href also encodes an apostrophe. */
const encoded = (value: string): string => encodeURIComponent(value).replaceAll("'", '%27');
