/** The restaurants of the demo's chain: where they are, when they are open, who comes, what they look like. */
import type { Weekday } from '../../../model/day.ts';
import { type Calendar, calendarOf } from '../../../model/zones/calendar.ts';

export interface Restaurant {
  /** Of its slugs: `BER-T1`. Upper case, so that a symbol is small. */
  readonly prefix: string;
  readonly city: string;
  /** Of its web addresses and tags. */
  readonly path: string;
  readonly street: string;
  /** IANA. */
  readonly timezone: string;
  /** A day on which nobody sits there. */
  readonly closed: Weekday | undefined;
  /** How busy it is beside the others. */
  readonly weight: number;
  /** It opened so many days before today; absent = before the demo's first day. */
  readonly openedDays?: number;
  /** Colours of its prints: modules, and finder patterns or the far end of a gradient. */
  readonly dark: string;
  readonly accent: string;
  readonly paper: string;
  /** SVG of its sign, 64 units wide. */
  readonly logo: string;
  /** Cities of its guests, by weight; the rest are travellers. */
  readonly guests: ReadonlyArray<readonly [city: string, weight: number]>;
}

const picture = (colour: string, drawing: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="14" fill="${colour}"/>${drawing}</svg>`;
const line = (path: string): string =>
  `<path d="${path}" fill="none" stroke="#fff" stroke-width="5" stroke-linecap="round" stroke-linejoin="round"/>`;

const leaf = line('M18 46C16 26 30 16 48 16C48 36 38 48 18 46ZM18 46L36 28');
const cup = line(
  'M16 22H42V34A12 12 0 0 1 30 46H28A12 12 0 0 1 16 34ZM42 26H48A5 5 0 0 1 48 36H42',
);
const mountain = line('M12 48L26 22L36 38L42 30L52 48Z');
const fish = line('M14 32C22 20 36 20 44 32C36 44 22 44 14 32ZM44 32L54 24V40ZM24 30H24.1');
const fork = line('M22 14V26A6 6 0 0 0 34 26V14M28 14V50M44 14C38 22 38 30 44 32V50');
const flame = line(
  'M32 12C40 22 48 28 46 40A14 14 0 0 1 18 40C18 32 26 30 26 20C30 22 32 18 32 12Z',
);

export const restaurants: readonly Restaurant[] = [
  {
    prefix: 'BER',
    city: 'Berlin',
    path: 'berlin',
    street: 'Torstraße',
    timezone: 'Europe/Berlin',
    closed: 'mon',
    weight: 1.25,
    dark: '#14532d',
    accent: '#4d7c0f',
    paper: '#ffffff',
    logo: picture('#14532d', leaf),
    guests: [
      ['Berlin, DE', 62],
      ['Potsdam, DE', 8],
      ['Hamburg, DE', 4],
      ['Leipzig, DE', 4],
      ['Munich, DE', 3],
    ],
  },
  {
    prefix: 'VIE',
    city: 'Vienna',
    path: 'vienna',
    street: 'Neubaugasse',
    timezone: 'Europe/Vienna',
    closed: undefined,
    weight: 1,
    dark: '#7c2d12',
    accent: '#c2410c',
    paper: '#fffbf5',
    logo: picture('#7c2d12', cup),
    guests: [
      ['Vienna, AT', 66],
      ['Graz, AT', 6],
      ['Linz, AT', 5],
      ['Salzburg, AT', 4],
      ['Budapest, HU', 3],
    ],
  },
  {
    prefix: 'ZRH',
    city: 'Zurich',
    path: 'zurich',
    street: 'Langstrasse',
    timezone: 'Europe/Zurich',
    closed: 'sun',
    weight: 0.9,
    openedDays: 41,
    dark: '#1e3a5f',
    accent: '#2563a8',
    paper: '#ffffff',
    logo: picture('#1e3a5f', mountain),
    guests: [
      ['Zurich, CH', 64],
      ['Winterthur, CH', 9],
      ['Basel, CH', 5],
      ['Geneva, CH', 3],
      ['Lausanne, CH', 2],
    ],
  },
  {
    prefix: 'LIS',
    city: 'Lisbon',
    path: 'lisbon',
    street: 'Rua da Rosa',
    timezone: 'Europe/Lisbon',
    closed: 'tue',
    weight: 1.1,
    dark: '#0c4a6e',
    accent: '#0e7490',
    paper: '#f8fdff',
    logo: picture('#0c4a6e', fish),
    guests: [
      ['Lisbon, PT', 42],
      ['Porto, PT', 7],
      ['Braga, PT', 2],
      ['Madrid, ES', 6],
      ['Sao Paulo, BR', 6],
      ['London, GB', 5],
    ],
  },
  {
    prefix: 'LDN',
    city: 'London',
    path: 'london',
    street: 'Frith Street',
    timezone: 'Europe/London',
    closed: undefined,
    weight: 1.4,
    dark: '#4a1d3f',
    accent: '#9d174d',
    paper: '#ffffff',
    logo: picture('#4a1d3f', fork),
    guests: [
      ['London, GB', 60],
      ['Croydon, GB', 7],
      ['Manchester, GB', 4],
      ['Bristol, GB', 3],
      ['Edinburgh, GB', 2],
      ['Dublin, IE', 3],
    ],
  },
  {
    prefix: 'CHI',
    city: 'Chicago',
    path: 'chicago',
    street: 'Randolph Street',
    timezone: 'America/Chicago',
    closed: 'mon',
    weight: 1.15,
    dark: '#1f2937',
    accent: '#b45309',
    paper: '#fffdf7',
    logo: picture('#1f2937', flame),
    guests: [
      ['Chicago, US', 64],
      ['Evanston, US', 8],
      ['Naperville, US', 6],
      ['Milwaukee, US', 4],
      ['New York, US', 4],
      ['Toronto, CA', 2],
    ],
  },
];

/** Who travels, to any of them. */
export const travellers: ReadonlyArray<readonly [city: string, weight: number]> = [
  ['Paris, FR', 9],
  ['London, GB', 9],
  ['New York, US', 8],
  ['Amsterdam, NL', 7],
  ['Milan, IT', 6],
  ['Munich, DE', 5],
  ['Copenhagen, DK', 4],
  ['Stockholm, SE', 4],
  ['Barcelona, ES', 4],
  ['Madrid, ES', 4],
  ['Rome, IT', 4],
  ['Warsaw, PL', 4],
  ['Prague, CZ', 3],
  ['San Francisco, US', 3],
  ['Brussels, BE', 3],
  ['Lyon, FR', 2],
  ['Toronto, CA', 2],
  ['Osaka, JP', 2],
  ['Sydney, AU', 2],
  ['Istanbul, TR', 2],
];
/** Of a hundred guests. */
export const travellersShare = 16;

/** The days of a restaurant. @param zone IANA */
export function knownCalendar(zone: string): Calendar {
  const found = calendarOf(zone);
  if (found === undefined) throw new Error(`Cannot tell the time in ${zone}: it is no known zone`);
  return found;
}
