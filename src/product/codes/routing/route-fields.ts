/**
 * The seven fields that say where a code leads: as a request has them, as they are stored, and as events and the API show
 * them. Scans and redirects also need labels, seed and campaign (stored-routing.ts).
 *
 *   given    targets as they were written, a field absent or null      -> its default
 *   kept     hrefs, times in UTC, no value twice; undefined            =  everything at its default: a plain code
 */
import { isDeepStrictEqual } from 'node:util';
import { isoTime } from '../../../model/day.ts';
import {
  type DateWindow,
  type RouteConditions,
  type RouteRule,
  type RouteVariant,
  type Routing,
  type TimeWindow,
  type Utm,
  type UtmKey,
  utmKeys,
} from '../../../model/routing/routing.ts';

export type RouteFields = Pick<
  Routing,
  'rules' | 'split' | 'utm' | 'passQuery' | 'startsAtMs' | 'paused' | 'fallbackUrl'
>;

/** One of the two, as the schema has made sure. */
interface GivenOutcome {
  readonly target?: string | undefined;
  readonly split?: readonly RouteVariant[] | undefined;
}
export interface GivenRule extends Pick<RouteRule, 'label' | 'if'> {
  readonly then: GivenOutcome;
}
/** Null takes a value away. */
export type GivenUtm = Readonly<Partial<Record<UtmKey, string | null | undefined>>>;

/** Of a new code or a replacement: absent = default. */
export interface GivenRoutes {
  readonly rules?: readonly GivenRule[] | undefined;
  readonly split?: readonly RouteVariant[] | undefined;
  readonly utm?: GivenUtm | undefined;
  readonly passQuery?: boolean | undefined;
  readonly startsAtMs?: number | undefined;
  readonly paused?: boolean | undefined;
  readonly fallbackUrl?: string | undefined;
}

/** The fields of a code without any. */
export const plainFields: RouteFields = { rules: [], passQuery: false, paused: false };

/** @param hrefOf the target as it is stored @returns undefined when every field is at its default */
export function keptRoutes(
  given: GivenRoutes,
  hrefOf: (target: string) => string,
): RouteFields | undefined {
  const { split, passQuery = false, startsAtMs, paused = false, fallbackUrl } = given;
  const utm = keptUtm(given.utm);
  const variants = (list: readonly RouteVariant[]): RouteVariant[] =>
    list.map(({ label, target, weight }) => ({ label, target: hrefOf(target), weight }));
  const kept: RouteFields = {
    rules: (given.rules ?? []).map(({ label, if: conditions, then }) => ({
      label,
      if: keptConditions(conditions),
      then:
        then.split === undefined
          ? { target: hrefOf(then.target ?? '') }
          : { split: variants(then.split) },
    })),
    ...(split === undefined ? {} : { split: variants(split) }),
    ...(utm === undefined ? {} : { utm }),
    passQuery,
    ...(startsAtMs === undefined ? {} : { startsAtMs }),
    paused,
    ...(fallbackUrl === undefined ? {} : { fallbackUrl: hrefOf(fallbackUrl) }),
  };
  return isDeepStrictEqual(kept, plainFields) ? undefined : kept;
}

/** Undefined without a value. */
export function keptUtm(given: GivenUtm | undefined): Utm | undefined {
  const set = utmKeys.flatMap((key) => {
    const value = given?.[key];
    return value === undefined || value === null ? [] : [[key, value] as const];
  });
  return set.length === 0 ? undefined : Object.fromEntries(set);
}

function keptConditions(conditions: RouteConditions): RouteConditions {
  const { device, os, browser, country, language, time, date, query } = conditions;
  return {
    ...(device === undefined ? {} : { device: distinct(device) }),
    ...(os === undefined ? {} : { os: distinct(os) }),
    ...(browser === undefined ? {} : { browser: distinct(browser) }),
    ...(country === undefined ? {} : { country: distinct(country) }),
    ...(language === undefined ? {} : { language: distinctRanges(language) }),
    ...(time === undefined ? {} : { time: keptTime(time) }),
    ...(date === undefined ? {} : { date: keptDate(date) }),
    ...(query === undefined ? {} : { query }),
  };
}

const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)];

function distinctRanges(ranges: readonly string[]): string[] {
  const folded = ranges.map((range) => range.toLowerCase());
  return ranges.filter((_, at) => folded.indexOf(folded[at] ?? '') === at);
}

const keptTime = (time: TimeWindow): TimeWindow =>
  time.days === undefined ? time : { ...time, days: distinct(time.days) };

/** The same moment as the API writes every time, in UTC. */
function keptDate({ from, to }: DateWindow): DateWindow {
  const inUtc = (text: string): string => isoTime(Date.parse(text));
  return {
    ...(from === undefined ? {} : { from: inUtc(from) }),
    ...(to === undefined ? {} : { to: inUtc(to) }),
  };
}

/** Under their names in the API; null where a value is absent. */
export function shownRoutes(fields: RouteFields = plainFields) {
  const { rules, split, utm, passQuery, startsAtMs, paused, fallbackUrl } = fields;
  return {
    rules: [...rules],
    split: split === undefined ? null : [...split],
    utm: utm ?? null,
    passQuery,
    startsAt: startsAtMs === undefined ? null : isoTime(startsAtMs),
    paused,
    fallbackUrl: fallbackUrl ?? null,
  };
}
