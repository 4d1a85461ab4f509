/**
 * The routes of a code during editing: as in the API, except that any field may be missing. Rules and variants have
 * keys, which stay when their order changes. On save, an empty label is made from the rule.
 */
import { freeLabel, labelLengthMax, reservedLabels } from '../../../../model/routing/labels.ts';
import {
  type RouteConditions,
  type RouteRule,
  type RouteVariant,
  type UtmKey,
  utmKeys,
} from '../../../../model/routing/routing.ts';
import { type Weekday, weekdays } from '../../../../model/day.ts';
import { withScheme } from '../../../client/format.ts';
import type { QrCode } from '../../../client/wire.ts';

export interface VariantDraft {
  readonly key: number;
  readonly label: string;
  readonly target: string;
  readonly weight: string;
}

export interface TimeDraft {
  readonly days: readonly Weekday[];
  /** `HH:MM`, or empty. */
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
}

/** ISO 8601, or empty. */
export interface DateDraft {
  readonly from: string;
  readonly to: string;
}

export interface PairDraft {
  readonly name: string;
  readonly value: string;
}

export interface ConditionsDraft extends Omit<RouteConditions, 'time' | 'date' | 'query'> {
  readonly time?: TimeDraft;
  readonly date?: DateDraft;
  readonly query?: readonly PairDraft[];
}

/** Without a split: `target`. */
export interface RuleDraft {
  readonly key: number;
  readonly label: string;
  readonly if: ConditionsDraft;
  readonly target: string;
  readonly split: readonly VariantDraft[] | undefined;
}

export interface RoutingDraft {
  readonly rules: readonly RuleDraft[];
  readonly split: readonly VariantDraft[] | undefined;
  readonly utm: Readonly<Record<UtmKey, string>>;
  readonly passQuery: boolean;
  /** ISO 8601, or empty. */
  readonly startsAt: string;
  readonly fallbackUrl: string;
}

let lastKey = 0;
export function newKey(): number {
  lastKey += 1;
  return lastKey;
}

export function draftOf(code: QrCode): RoutingDraft {
  const { rules, split, utm, passQuery, startsAt, fallbackUrl } = code;
  return {
    rules: rules.map(({ label, if: conditions, then }) => ({
      key: newKey(),
      label,
      if: conditionsDraft(conditions),
      target: 'target' in then ? then.target : '',
      split: 'split' in then ? then.split.map(variantDraft) : undefined,
    })),
    split: split?.map(variantDraft),
    utm: {
      source: utm?.source ?? '',
      medium: utm?.medium ?? '',
      campaign: utm?.campaign ?? '',
      term: utm?.term ?? '',
      content: utm?.content ?? '',
    },
    passQuery,
    startsAt: startsAt ?? '',
    fallbackUrl: fallbackUrl ?? '',
  };
}

const variantDraft = ({ label, target, weight }: RouteVariant): VariantDraft => ({
  key: newKey(),
  label,
  target,
  weight: String(weight),
});

function conditionsDraft({ time, date, query, ...rest }: RouteConditions): ConditionsDraft {
  return {
    ...rest,
    ...(time && {
      time: {
        days: time.days ?? weekdays,
        from: time.from ?? '',
        // The end of the day, which a time field cannot show.
        to: time.to === '24:00' ? '' : (time.to ?? ''),
        timezone: time.timezone,
      },
    }),
    ...(date && { date: { from: date.from ?? '', to: date.to ?? '' } }),
    ...(query && { query: Object.entries(query).map(([name, value]) => ({ name, value })) }),
  };
}

/** As in the API, without empty fields. */
export function conditionsOf({ time, date, query, ...rest }: ConditionsDraft): RouteConditions {
  return {
    ...rest,
    ...(time && {
      time: {
        ...(time.days.length < weekdays.length && { days: time.days }),
        ...(time.from !== '' && { from: time.from }),
        ...(time.to !== '' && { to: time.to }),
        timezone: time.timezone,
      },
    }),
    ...(date && {
      date: {
        ...(date.from !== '' && { from: date.from }),
        ...(date.to !== '' && { to: date.to }),
      },
    }),
    ...(query && {
      query: Object.fromEntries(
        query.map(({ name, value }) => [name, value === '' ? '*' : value] as const),
      ),
    }),
  };
}

/** The body of the PATCH: the changed fields. */
export function changeOf(before: RoutingDraft, after: RoutingDraft): Record<string, unknown> {
  const old = bodyOf(before);
  return Object.fromEntries(
    Object.entries(bodyOf(after)).filter(
      ([field, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(old, field)),
    ),
  );
}

function bodyOf({ rules, split, utm, passQuery, startsAt, fallbackUrl }: RoutingDraft) {
  const labels = labelsOf({ rules, split });
  const variants = (list: readonly VariantDraft[]): RouteVariant[] =>
    list.map(({ key, target, weight }) => ({
      label: labels.get(key) ?? '',
      target: withScheme(target),
      weight: Number(weight),
    }));
  return {
    rules: rules.map((rule): RouteRule => ({
      label: labels.get(rule.key) ?? '',
      if: conditionsOf(rule.if),
      then: rule.split ? { split: variants(rule.split) } : { target: withScheme(rule.target) },
    })),
    split: split === undefined ? null : variants(split),
    utm: utmKeys.every((key) => utm[key] === '')
      ? null
      : Object.fromEntries(utmKeys.map((key) => [key, utm[key] === '' ? null : utm[key]])),
    passQuery,
    startsAt: startsAt === '' ? null : startsAt,
    fallbackUrl: fallbackUrl.trim() === '' ? null : withScheme(fallbackUrl),
  };
}

/** The label of each rule and variant by its key: as typed, or generated and unique. */
export function labelsOf({
  rules,
  split = [],
}: Pick<RoutingDraft, 'rules' | 'split'>): ReadonlyMap<number, string> {
  const all = [...rules, ...rules.flatMap((rule) => rule.split ?? []), ...split];
  const labels = new Map(
    all.filter(({ label }) => label !== '').map(({ key, label }) => [key, label]),
  );
  const taken = new Set([...reservedLabels, ...labels.values()]);
  const add = (key: number, name: string): string => {
    const label = labels.get(key) ?? freeLabel(name, taken);
    labels.set(key, label);
    taken.add(label);
    return label;
  };
  const addVariants = (list: readonly VariantDraft[], name: string): void =>
    list.forEach(({ key }, at) => void add(key, `${name.slice(0, labelLengthMax - 3)}-${at + 1}`));
  for (const rule of rules) addVariants(rule.split ?? [], add(rule.key, nameOf(rule.if)));
  addVariants(split, 'variant');
  return labels;
}

const regions = new Intl.DisplayNames('en', { type: 'region' });
const languages = new Intl.DisplayNames('en', { type: 'language' });

/** A word for each condition, always in English: `phone-germany`. */
function nameOf(conditions: ConditionsDraft): string {
  const { device, os, browser, country, language, time, date, query } = conditions;
  const names = [
    ...(device ?? []).map((name) => (name === 'mobile' ? 'phone' : name)),
    ...(os ?? []),
    ...(browser ?? []),
    ...(country ?? []).map((code) => nameIn(regions, code)),
    ...(language ?? []).map((range) => nameIn(languages, range)),
    ...(time ? ['hours'] : []),
    ...(date ? ['dates'] : []),
    ...(query ?? []).map(({ name }) => name),
  ];
  const text = names.slice(0, 3).join('-').normalize('NFKD').toLowerCase();
  const label = text
    .replace(/\p{Mark}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, labelLengthMax)
    .replace(/^-|-$/g, '');
  return label === '' ? 'rule' : label;
}

function nameIn(names: Intl.DisplayNames, code: string): string {
  try {
    return names.of(code) ?? code;
  } catch {
    return code;
  }
}
