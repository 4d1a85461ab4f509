/** Labels of the conditions of rules. The API's names are in model/routing/routing.ts. */
import { countries } from '../../../../model/routing/countries.ts';
import type { RouteConditions, UtmKey } from '../../../../model/routing/routing.ts';
import type { Weekday } from '../../../../model/day.ts';
import {
  Browser,
  type BrowserName,
  type DeviceName,
  type OsName,
  unknownCountry,
} from '../../../../model/scan.ts';
import { countryName } from '../../../client/format.ts';

export interface Choice<T extends string = string> {
  readonly value: T;
  readonly label: string;
}

export type ConditionKind = keyof RouteConditions;

interface ConditionChoice extends Choice<ConditionKind> {
  /** Heading of its fields. */
  readonly heading: string;
}

/** In the order of the sentences. */
export const conditionKinds: readonly ConditionChoice[] = [
  { value: 'device', label: 'Device', heading: 'the device is' },
  { value: 'os', label: 'System', heading: 'the system is' },
  { value: 'browser', label: 'Browser', heading: 'the browser is' },
  { value: 'country', label: 'Country', heading: 'the country is' },
  { value: 'language', label: 'Language', heading: 'the language is' },
  { value: 'time', label: 'Time of day', heading: 'the time is' },
  { value: 'date', label: 'Dates', heading: 'the date is' },
  { value: 'query', label: 'Query', heading: 'the short link has' },
];

export const deviceChoices: ReadonlyArray<Choice<DeviceName>> = [
  { value: 'mobile', label: 'Phone' },
  { value: 'tablet', label: 'Tablet' },
  { value: 'desktop', label: 'Computer' },
  { value: 'other', label: 'Other' },
];

export const osChoices: ReadonlyArray<Choice<OsName>> = [
  { value: 'iOS', label: 'iPhone, iPad (iOS)' },
  { value: 'Android', label: 'Android' },
  { value: 'Windows', label: 'Windows' },
  { value: 'macOS', label: 'Mac (macOS)' },
  { value: 'Linux', label: 'Linux' },
  { value: 'ChromeOS', label: 'ChromeOS' },
  { value: 'other', label: 'Other' },
];

const isBrowser = (text: string): text is BrowserName => Object.hasOwn(Browser, text);
export const browserChoices: ReadonlyArray<Choice<BrowserName>> = Object.keys(Browser)
  .filter(isBrowser)
  .map((value) => ({ value, label: value === 'other' ? 'Other' : value }))
  .sort((a, b) => Number(a.value === 'other') - Number(b.value === 'other'));

export const dayChoices: ReadonlyArray<Choice<Weekday>> = [
  { value: 'mon', label: 'Monday' },
  { value: 'tue', label: 'Tuesday' },
  { value: 'wed', label: 'Wednesday' },
  { value: 'thu', label: 'Thursday' },
  { value: 'fri', label: 'Friday' },
  { value: 'sat', label: 'Saturday' },
  { value: 'sun', label: 'Sunday' },
];

export const utmChoices: ReadonlyArray<Choice<UtmKey>> = [
  { value: 'source', label: 'Source' },
  { value: 'medium', label: 'Medium' },
  { value: 'campaign', label: 'Campaign' },
  { value: 'term', label: 'Term' },
  { value: 'content', label: 'Content' },
];

/** By name; the unknown country last. */
export function countryChoices(): readonly Choice[] {
  const named = [...countries]
    .filter((code) => code !== unknownCountry)
    .map((value) => ({ value, label: countryName(value) }));
  const sorted = named.sort((a, b) => a.label.localeCompare(b.label));
  return [...sorted, { value: unknownCountry, label: 'Unknown' }];
}

/** The most common languages of phones; any other can be typed. */
const commonLanguages =
  'ar bg bn ca cs da de el en es et fa fi fr gl he hi hr hu id is it ja ka ko lt lv mk ms nb nl pl pt pt-BR ro ru sk sl sq sr sv sw ta te th tr uk ur vi zh zh-Hans zh-Hant';

const languages = new Intl.DisplayNames(undefined, { type: 'language' });

/** `pt-BR` -> `Brazilian Portuguese`; the range itself if it has no name. */
export function languageName(range: string): string {
  try {
    return languages.of(range) ?? range;
  } catch {
    return range;
  }
}

export function languageChoices(): readonly Choice[] {
  return commonLanguages
    .split(' ')
    .map((value) => ({ value, label: languageName(value) }))
    .sort((a, b) => a.label.localeCompare(b.label));
}

/** A language that is not in the list, written as its range: `gsw`, `de-AT`. */
export function typedLanguage(text: string): Choice | undefined {
  const range = text.trim();
  if (!/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$/.test(range)) return undefined;
  const label = languageName(range);
  return label.toLowerCase() === range.toLowerCase() ? undefined : { value: range, label };
}

/** `Europe/Berlin` -> `Berlin time`. */
export const zoneName = (zone: string): string =>
  /^(Etc\/)?(UTC|GMT)$/.test(zone)
    ? 'UTC'
    : `${(zone.split('/').at(-1) ?? zone).replaceAll('_', ' ')} time`;
