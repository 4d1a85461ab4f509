/**
 * Rules as sentences: `If the phone is an iPhone and the country is Germany or Austria`. A missing value is `…`, so
 * that an unfinished rule can be read.
 */
import type {
  DateWindow,
  RouteConditions,
  RouteOutcome,
  RouteRule,
  TimeWindow,
} from '../../../../model/routing/routing.ts';
import { type Weekday, weekdays } from '../../../../model/day.ts';
import { type DeviceName, type OsName, unknownCountry } from '../../../../model/scan.ts';
import { countryName, formatMoment, shortAddress } from '../../../client/format.ts';
import { dayChoices, languageName, zoneName } from './route-choices.ts';

/** Further values are only counted. */
const valuesNamed = 5;
const nothing = '…';

export function sentenceOf(conditions: RouteConditions): string {
  const { browser, country, language, time, date, query } = conditions;
  const parts = [
    ...deviceParts(conditions),
    browser && `the browser is ${anyOf(browser.map(browserText))}`,
    country && `the country is ${anyOf(country.map(countryText), 'countries')}`,
    language && `the language is ${anyOf(language.map(languageName), 'languages')}`,
    time && timeText(time),
    date && dateText(date),
    query && queryText(query),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? `If ${nothing}` : `If ${parts.join(' and ')}`;
}

/** A rule in one line: `If the language is French → example.com/fr`. */
export const ruleText = (rule: RouteRule): string =>
  `${sentenceOf(rule.if)} → ${outcomeText(rule.then)}`;

/** Where a rule leads: an address, or several. */
export function outcomeText(then: RouteOutcome): string {
  if ('target' in then) return then.target === '' ? nothing : shortAddress(then.target);
  return `${then.split.length} destinations`;
}

/** `A`, `A or B`, `A, B or C`; many values are counted as `many`. */
function anyOf(values: readonly string[], many = 'others'): string {
  if (values.length === 0) return nothing;
  const isLong = values.length > valuesNamed;
  const named = isLong ? values.slice(0, valuesNamed - 1) : values.slice(0, -1);
  const last = isLong ? `${values.length - named.length} more ${many}` : (values.at(-1) ?? '');
  return named.length === 0 ? last : `${named.join(', ')} or ${last}`;
}

const deviceTexts: Readonly<Record<DeviceName, string>> = {
  mobile: 'a phone',
  tablet: 'a tablet',
  desktop: 'a computer',
  other: 'another device',
};

/** Names for a device with its system. */
const known: Readonly<Record<string, string>> = {
  'mobile iOS': 'the phone is an iPhone',
  'mobile Android': 'the phone is an Android phone',
  'tablet iOS': 'the tablet is an iPad',
  'tablet Android': 'the tablet is an Android tablet',
  'desktop Windows': 'the computer is a Windows computer',
  'desktop macOS': 'the computer is a Mac',
};

function deviceParts({ device, os }: RouteConditions): Array<string | undefined> {
  const together = device?.length === 1 && os?.length === 1 && known[`${device[0]} ${os[0]}`];
  if (typeof together === 'string') return [together];
  return [
    device && `the device is ${anyOf(device.map((name) => deviceTexts[name]))}`,
    os && systemText(os, device === undefined ? 'the device' : 'it'),
  ];
}

function systemText(os: readonly OsName[], subject: 'the device' | 'it'): string {
  if (os.length === 1 && os[0] === 'iOS') return `${subject} is an iPhone or iPad`;
  return `${subject} runs ${anyOf(os.map((name) => (name === 'other' ? 'another system' : name)))}`;
}

const browserText = (name: string): string => (name === 'other' ? 'another one' : name);
const countryText = (code: string): string =>
  code === unknownCountry ? 'unknown' : countryName(code);

/** `it is Monday to Friday, 11:00 to 14:00 (Berlin time)` */
function timeText({ days = weekdays, from = '', to = '', timezone }: TimeWindow): string {
  const hours = hoursText(from, to);
  const isDaily = days.length === weekdays.length;
  const parts = isDaily ? [] : [daysText(days)];
  if (hours !== '') parts.push(hours);
  const zone = timezone === '' ? nothing : zoneName(timezone);
  return `it is ${parts.join(', ') || (isDaily ? 'any time' : nothing)} (${zone})`;
}

function hoursText(from: string, to: string): string {
  if (from === '') return to === '' ? '' : `before ${to}`;
  if (to === '' || to === '24:00') return `${from} or later`;
  return `${from} to ${to}${from > to ? ' the next day' : ''}`;
}

/** Three or more days in a row are a span. */
function daysText(days: readonly Weekday[]): string {
  const texts: string[] = [];
  let run: string[] = [];
  const end = (): void => {
    if (run.length > 2) texts.push(`${run[0]} to ${run.at(-1)}`);
    else texts.push(...run);
    run = [];
  };
  for (const { value, label } of dayChoices) {
    if (days.includes(value)) run.push(label);
    else end();
  }
  end();
  return anyOf(texts);
}

function dateText({ from, to }: DateWindow): string {
  if (from !== undefined && to !== undefined) {
    return `the date is from ${formatMoment(from)} until ${formatMoment(to)}`;
  }
  if (from !== undefined) return `the date is ${formatMoment(from)} or later`;
  return `the date is before ${to === undefined ? nothing : formatMoment(to)}`;
}

/** The link must have all parameters. */
function queryText(query: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(query).map(([name, value]) =>
    value === '*' ? `any “${name}”` : `${name}=${value}`,
  );
  return `the link has ${pairs.length === 0 ? nothing : pairs.join(' and ')}`;
}
