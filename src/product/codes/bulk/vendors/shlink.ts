/**
 * Shlink: links as `GET /short-urls` of its API has them, the CSV of its web client, or the columns of
 * `short-url:list`. Only the first says when a link begins and ends, and whether it has redirect rules; the rules
 * themselves come from one more call for each link, and are expected within the link (guide: bulk.md).
 *
 *   meta              validSince -> startsAt, validUntil -> expiresAt, maxVisits -> scanLimit
 *   forwardQuery      passQuery, if the export has it
 *   redirectRules     below; a link is refused if it says that it has rules, and the export lacks them
 *   deviceLongUrls    the same of versions before 4
 */
import type { DateWindow, RouteConditions } from '../../../../model/routing/routing.ts';
import type { BrowserName, OsName } from '../../../../model/scan.ts';
import { shownText } from '../../../../model/text.ts';
import { plainLink, type VendorLink } from './link.ts';
import {
  boundary,
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

/** Of a value in a message. */
const shownLengthMax = 60;

const desktops: readonly OsName[] = ['Windows', 'macOS', 'Linux', 'ChromeOS'];
const systems = new Map<string, readonly OsName[]>([
  ['android', ['Android']],
  ['ios', ['iOS']],
  ['mobile', ['iOS', 'Android']],
  ['windows', ['Windows']],
  ['macos', ['macOS']],
  ['linux', ['Linux']],
  ['chromeos', ['ChromeOS']],
  ['desktop', desktops],
]);

const browsers = new Map<string, BrowserName>([
  ['chrome', 'Chrome'],
  ['firefox', 'Firefox'],
  ['edge', 'Edge'],
  ['safari', 'Safari'],
  ['opera', 'Opera'],
]);

/** One condition: its kind and its value, or why a code cannot have it. */
type Condition =
  | { readonly words: readonly string[]; readonly says: RouteConditions }
  | { readonly code: string; readonly message: string };

export function shlinkLink(row: VendorRow): VendorLink {
  const meta = within(row, 'meta');
  return {
    ...plainLink(row),
    target: text(row, 'longurl'),
    shortUrl: text(row, 'shorturl'),
    slug: text(row, 'shortcode'),
    createdAt: time(row, 'createdat', 'datecreated'),
    clicks: whole(row, 'visits', 'visitscount') ?? whole(within(row, 'visitssummary'), 'total'),
    startsAt: boundary(meta, 'validsince'),
    expiresAt: boundary(meta, 'validuntil'),
    visitsMax: whole(meta, 'maxvisits'),
    passQuery: isTrue(row.get('forwardquery')),
    ...shlinkRules(row),
  };
}

/**
 * Turns Shlink's redirect rules into those of a code. In both, the first rule whose conditions all hold wins. A condition
 * of Shlink has one value, and several of one kind must all hold; a condition of a code has a list of values, one of
 * which must hold:
 *
 *   device                    os: Shlink goes by the platform, tablets are `mobile`, so `device` would be another thing
 *   browser                   browser
 *   language                  language; Shlink takes any that the visitor accepts with q >= 0.9, a code the best
 *   geolocation-country-code  country
 *   query-param, any-value-…, valueless-query-param       query: the value, `*`, nothing
 *   before-date, after-date   date
 *   ip-address, geolocation-city-name, all others          refused
 *
 * A rule that never holds at Shlink (no conditions, two countries at once) is left out.
 */
function shlinkRules(row: VendorRow): RuleList['found'] {
  const rules = new RuleList();
  const name = 'redirectRules';
  const written = writtenRules(row);
  if (written === undefined && isGiven(row, 'redirectrules')) {
    rules.refuse(name, 'wrong_type', 'Expected a list of {priority, longUrl, conditions}');
  }
  const isWithout = written === undefined || written.length === 0;
  if (isWithout && isTrue(row.get('hasredirectrules'))) {
    const message = 'The link has redirect rules, but this file does not include them';
    rules.refuse(name, 'rules_missing', `${message}; see the guide to imports`);
  }
  const ordered = [...(written ?? []).entries()].toSorted(
    ([, one], [, other]) => priorityOf(one) - priorityOf(other),
  );
  for (const [index, rule] of ordered) addRule(rules, `${name}.${index}`, rule);
  addDevices(rules, within(row, 'devicelongurls'));
  return rules.found;
}

/** A list, or the whole answer of the call that lists them. */
const writtenRules = (row: VendorRow): readonly VendorRow[] | undefined =>
  objects(row, 'redirectrules') ?? objects(within(row, 'redirectrules'), 'redirectrules');

/** Lower goes first; rules without one keep their order. */
const priorityOf = (rule: VendorRow): number => Number(text(rule, 'priority') ?? 0);

function addDevices(rules: RuleList, targets: VendorRow): void {
  for (const name of ['android', 'ios', 'desktop']) {
    const target = text(targets, name);
    const os = systems.get(name) ?? [];
    if (target !== undefined) rules.add([name], { os }, { target });
  }
}

function addRule(rules: RuleList, path: string, rule: VendorRow): void {
  const target = text(rule, 'longurl');
  if (target === undefined) rules.refuse(`${path}.longUrl`, 'required', 'Expected a url');
  const written = objects(rule, 'conditions');
  if (written === undefined) {
    rules.refuse(`${path}.conditions`, 'wrong_type', 'Expected a list of conditions');
    return;
  }
  const words: string[] = [];
  const said: RouteConditions[] = [];
  for (const [index, one] of written.entries()) {
    const condition = conditionOf(one);
    if ('code' in condition) {
      rules.refuse(`${path}.conditions.${index}`, condition.code, condition.message);
      continue;
    }
    words.push(...condition.words);
    said.push(condition.says);
  }
  const languages = new Set(
    said.flatMap(({ language = [] }) => language).map((one) => one.toLowerCase()),
  );
  if (languages.size > 1) {
    const named = shown([...languages].join(', '));
    const message = `A rule asks for several languages at once (${named}), a QR code for the best one`;
    rules.refuse(`${path}.conditions`, 'rule_unsupported', message);
    return;
  }
  const conditions = allOf(said);
  if (target === undefined || said.length === 0 || conditions === undefined) return;
  rules.add([...new Set(words)], conditions, { target });
}

function conditionOf(condition: VendorRow): Condition {
  const type = text(condition, 'type') ?? '';
  const value = text(condition, 'matchvalue');
  const key = text(condition, 'matchkey');
  if (type === 'any-value-query-param' || type === 'valueless-query-param') {
    if (key === undefined) return incomplete;
    return { words: [key], says: { query: { [key]: type.startsWith('any') ? '*' : '' } } };
  }
  const read = readers.get(type);
  if (read === undefined) return unsupported(type === '' ? 'nothing that is said' : type, value);
  return value === undefined ? incomplete : read(value, key, condition);
}

type Reader = (value: string, key: string | undefined, condition: VendorRow) => Condition;

const readers = new Map<string, Reader>([
  [
    'device',
    (value) => {
      const os = systems.get(value.toLowerCase());
      return os === undefined ? unsupported('the device', value) : { words: [value], says: { os } };
    },
  ],
  [
    'browser',
    (value) => {
      const browser = browsers.get(value.toLowerCase());
      if (browser === undefined) return unsupported('the browser', value);
      return { words: [value], says: { browser: [browser] } };
    },
  ],
  ['language', (value) => ({ words: [value], says: { language: [value.replaceAll('_', '-')] } })],
  [
    'geolocation-country-code',
    (value) => ({ words: [value], says: { country: [value.toUpperCase()] } }),
  ],
  [
    'query-param',
    (value, key) => {
      if (key === undefined) return incomplete;
      // Here it matches any value.
      if (value === '*') return unsupported(`the parameter ${shown(key)} with the value`, value);
      return { words: [key, value], says: { query: { [key]: value } } };
    },
  ],
  ['before-date', (_value, _key, condition) => dateOf(condition, 'to', 'before')],
  ['after-date', (_value, _key, condition) => dateOf(condition, 'from', 'after')],
  ['ip-address', (value) => unsupported('IP address', value)],
  ['geolocation-city-name', (value) => unsupported('city', value)],
]);

function dateOf(condition: VendorRow, end: keyof DateWindow, word: string): Condition {
  const at = time(condition, 'matchvalue');
  if (at === undefined) return { code: 'invalid_format', message: 'Expected a time' };
  return { words: [word, at.slice(0, 10)], says: { date: { [end]: at } } };
}

const incomplete: Condition = {
  code: 'invalid_format',
  message: 'Expected a condition as {type, matchKey, matchValue}',
};

function unsupported(what: string, value: string | undefined): Condition {
  const named = value === undefined ? what : `${what} (${shown(value)})`;
  return { code: 'rule_unsupported', message: `A QR code has no rules by ${named}` };
}

const shown = (value: string): string => shownText(value, shownLengthMax);

/** All of them as one; undefined when they never hold together. At most one language is among them. */
function allOf(said: readonly RouteConditions[]): RouteConditions | undefined {
  let all: RouteConditions | undefined = {};
  for (const next of said) all = all === undefined ? undefined : bothOf(all, next);
  const { from, to } = all?.date ?? {};
  return from !== undefined && to !== undefined && from >= to ? undefined : all;
}

function bothOf(one: RouteConditions, next: RouteConditions): RouteConditions | undefined {
  const os = common(one.os, next.os);
  const browser = common(one.browser, next.browser);
  const country = common(one.country, next.country);
  if ([os, browser, country].some((values) => values?.length === 0)) return undefined;
  const query = new Map(Object.entries(one.query ?? {}));
  for (const [name, value] of Object.entries(next.query ?? {})) {
    const before = query.get(name) ?? value;
    if (before !== value && before !== '*' && value !== '*') return undefined;
    query.set(name, before === '*' ? value : before);
  }
  const from = [one.date?.from, next.date?.from].filter(isText).toSorted().at(-1);
  const to = [one.date?.to, next.date?.to].filter(isText).toSorted()[0];
  const date = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  const language = one.language ?? next.language;
  return {
    ...(os === undefined ? {} : { os }),
    ...(browser === undefined ? {} : { browser }),
    ...(country === undefined ? {} : { country }),
    ...(language === undefined ? {} : { language }),
    ...(query.size === 0 ? {} : { query: Object.fromEntries(query) }),
    ...(Object.keys(date).length === 0 ? {} : { date }),
  };
}

/** What both have; the other where one says nothing. */
function common<T>(
  one: readonly T[] | undefined,
  other: readonly T[] | undefined,
): readonly T[] | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.filter((value) => other.includes(value));
}

const isText = (value: string | undefined): value is string => value !== undefined;
