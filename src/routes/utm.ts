/**
 * UTM parameters, added to a target when it is stored: `utm_source` and its like take the place of a parameter of the same
 * name, everything else keeps its bytes. Tokens are filled in here, so that a redirect has nothing to do.
 */
import { type Utm, utmKeys } from '../model/routing/routing.ts';
import { joinAddress, parameterName, parametersOf, splitAddress } from './query-text.ts';

/** What the tokens of `utm` values stand for. */
export interface UtmTokens {
  readonly slug: string;
  readonly label: string;
  /** Empty without a campaign. */
  readonly campaign: string;
}

export const utmToken = /\{([^{}]*)\}/g;
export const utmTokens: ReadonlySet<string> = new Set(['slug', 'label', 'campaign']);

/** @param target a WHATWG href @returns one too; a value that is empty once it is filled adds nothing */
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

/** As a WHATWG href has it, which also encodes an apostrophe. */
const encoded = (value: string): string => encodeURIComponent(value).replaceAll("'", '%27');
