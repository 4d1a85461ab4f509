/**
 * Dub: links as `GET /links` of its API has them, or the CSV of its dashboard (Short link, Destination URL, Clicks, …),
 * which has nothing of what is below.
 *
 *   ios, android      rules by operating system
 *   geo               { DE: url, AT: url, … }: one rule for each url, since a code takes 20
 *   testVariants      a rule with a split, until `testCompletedAt`; a test that is over has no effect there either
 *   expiredUrl        fallbackUrl
 *   disabledAt        paused
 *   utm_…             part of the urls already
 *   rewrite           the page is shown under the short link, whatever the system and country. A code leads to that page
 *   password          refused
 *   key `_root`       refused: it is the root of the domain, not a short link
 *
 * The rules are in Dub's order: iOS, Android, country, test. An archived link works as any other.
 */
import {
  countriesMax,
  type RouteVariant,
  splitLeast,
  splitMax,
} from '../../../../model/routing/routing.ts';
import { passwordFaults, plainLink, type VendorLink } from './link.ts';
import {
  boundary,
  hasObject,
  isGiven,
  isTrue,
  objects,
  text,
  time,
  type VendorRow,
  whole,
  within,
} from './row.ts';
import { RuleList } from './rule-list.ts';

/** @param nowMs decides whether a test is over */
export function dubLink(row: VendorRow, nowMs: number): VendorLink {
  const { rules, faults } = dubRules(row, nowMs);
  const slug = text(row, 'key');
  const shortUrl = text(row, 'shortlink', 'link');
  const isRoot = (slug ?? shortUrl?.split('/').at(-1)) === '_root';
  const message = 'It is the root of its domain: set redirect.rootUrl to its target';
  return {
    ...plainLink(row),
    target: text(row, 'destinationurl', 'url'),
    shortUrl,
    slug,
    clicks: whole(row, 'clicks'),
    expiresAt: boundary(row, 'expiresat'),
    fallbackUrl: text(row, 'expiredurl'),
    paused: isGiven(row, 'disabledat'),
    rules,
    faults: [
      ...passwordFaults(row),
      ...(isRoot ? [{ path: 'slug', code: 'domain_root', message }] : []),
      ...faults,
    ],
  };
}

function dubRules(row: VendorRow, nowMs: number): RuleList['found'] {
  const rules = new RuleList();
  if (!isTrue(row.get('rewrite'))) {
    addSystems(rules, row);
    addCountries(rules, row);
  }
  addTest(rules, row, nowMs);
  return rules.found;
}

function addSystems(rules: RuleList, row: VendorRow): void {
  for (const [name, os] of systems) {
    const target = text(row, name);
    if (target !== undefined) rules.add([name], { os: [os] }, { target });
  }
}

const systems = [
  ['ios', 'iOS'],
  ['android', 'Android'],
] as const;

function addCountries(rules: RuleList, row: VendorRow): void {
  if (isGiven(row, 'geo') && !hasObject(row, 'geo')) {
    rules.refuse('geo', 'wrong_type', 'Expected an object of countries, each with its url');
  }
  const geo = within(row, 'geo');
  const byTarget = new Map<string, string[]>();
  for (const name of geo.keys()) {
    const country = name.toUpperCase();
    const target = text(geo, name);
    if (target === undefined) rules.refuse(`geo.${country}`, 'required', 'Expected a url');
    else byTarget.set(target, [...(byTarget.get(target) ?? []), country]);
  }
  for (const [target, countries] of byTarget) {
    for (let start = 0; start < countries.length; start += countriesMax) {
      const country = countries.slice(start, start + countriesMax);
      rules.add(country, { country }, { target });
    }
  }
}

function addTest(rules: RuleList, row: VendorRow, nowMs: number): void {
  const to = time(row, 'testcompletedat');
  if (!isGiven(row, 'testvariants') || !isGiven(row, 'testcompletedat')) return;
  if (to === undefined) {
    rules.refuse('testCompletedAt', 'invalid_format', 'Expected a time');
    return;
  }
  if (Date.parse(to) <= nowMs) return;
  const variants = objects(row, 'testvariants') ?? [];
  const shares = variants.map((variant) => Number(text(variant, 'percentage')));
  const isSound = shares.every((share) => share > 0 && share <= 100);
  if (variants.length < splitLeast || variants.length > splitMax || !isSound) {
    const message = `Expected ${splitLeast} to ${splitMax} of {url, percentage}`;
    rules.refuse('testVariants', 'invalid_format', message);
    return;
  }
  // Weights are whole: a tenth of a percent stays exact.
  const factor = shares.every(Number.isInteger) ? 1 : 10;
  const split = variants.map((variant, index): RouteVariant => {
    const weight = Math.max(1, Math.round((shares[index] ?? 0) * factor));
    const label = rules.label([`variant-${index + 1}`]);
    return { label, target: text(variant, 'url') ?? '', weight };
  });
  rules.add(['test'], { date: { to } }, { split });
}
