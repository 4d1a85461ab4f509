/**
 * The visitors and times of scans. A code's scans per hour follow from its patterns, its restaurant and its history;
 * guests return. Each day has its own random seed, so that it is the same at any time of making the demo.
 */
import { dayMs, hourMs, minuteMs, weekdays } from '../../model/day.ts';
import { calendarOf, weekdayOf } from '../../model/zones/calendar.ts';
import * as content from './content.ts';

interface Visitor {
  readonly country: string;
  /** As in `Accept-Language`. */
  readonly language: string;
  /** IPv4, as a number. */
  readonly address: number;
  readonly agent: string;
}

export interface DemoScan extends Visitor {
  readonly timeMs: number;
  readonly slug: string;
  readonly referer: string;
  /** A prefetch of a browser. */
  readonly isPrefetch: boolean;
}

/** The next number from 0 up to 1. */
type Chance = () => number;

/** SplitMix32 (https://doi.org/10.1145/2714064.2660195, constants of MurmurHash3): the same seed gives the same numbers. */
export function chanceOf(seed: number): Chance {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let word = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
    return ((word ^ (word >>> 16)) >>> 0) / 2 ** 32;
  };
}

export const pick = <T>(items: readonly T[], chance: Chance): T =>
  items[Math.floor(chance() * items.length)]!;

/** Draws a name by its weight. */
function weighted(weights: Readonly<Record<string, number>>): (chance: Chance) => string {
  let sum = 0;
  const items = Object.entries(weights).map(([name, weight]) => ({ name, below: (sum += weight) }));
  return (chance) => {
    const point = chance() * sum;
    return items.find(({ below }) => point < below)!.name;
  };
}

const [person, bot] = [weighted(content.people), weighted(content.bots)];
const referer = weighted(content.referers);
const traveler = weighted(
  Object.fromEntries([...content.cities].map(([name, { travelers }]) => [name, travelers])),
);

export const days = 90;
/** Makes about 220,000 scans. */
const scale = 1.2;
/** The chain grows: the first day has this fraction of the last day's scans. */
const growthFrom = 0.72;
/** A day differs from its weekday's average by up to this fraction. */
const weather = 0.16;
const shares = { bot: 0.032, prefetch: 0.007, returning: 0.42, traveler: 0.16, english: 0.09 };
/** Only this many guests of a restaurant return, the last ones. */
const guestsMax = 4_000;

/** Day by day, each in order of time. @param today UTC day @param share of the demo's standard size */
export function* trafficOf(today: number, share: number): Generator<readonly DemoScan[]> {
  const places = content.restaurants.map((restaurant) => ({
    ...restaurant,
    calendar: calendarOf(restaurant.words.timezone)!,
    visitor: visitorsOf(restaurant),
  }));
  for (let ago = days - 1; ago >= 0; ago -= 1) {
    const chance = chanceOf(ago);
    const growth = 1 - ((1 - growthFrom) * ago) / (days - 1);
    const scans: DemoScan[] = [];
    for (const { prints, usual, calendar, visitor } of places) {
      const factor = scale * share * growth * (1 + weather * (2 * chance() - 1));
      for (let hour = 0; hour < 24; hour += 1) {
        const fromMs = (today - ago) * dayMs + hour * hourMs;
        const localMs = fromMs + calendar.offsetAt(fromMs) * minuteMs;
        for (const [slug, print] of Object.entries(prints)) {
          const mean = factor * usualScans(print, usual, localMs, today);
          for (let left = Math.floor(mean + chance()); left > 0; left -= 1) {
            scans.push({
              ...visitor(chance),
              timeMs: fromMs + Math.floor(chance() * hourMs),
              slug,
              referer: referer(chance),
              isPrefetch: chance() < shares.prefetch,
            });
          }
        }
      }
    }
    yield scans.sort((one, other) => one.timeMs - other.timeMs);
  }
}

/** Scans of an hour. @param localMs by the restaurant's clock */
function usualScans(
  { scans = {}, until = -1, event }: content.Print,
  { weight, closed, opened = days }: content.Restaurant['usual'],
  localMs: number,
  today: number,
): number {
  const day = Math.floor(localMs / dayMs);
  const hour = Math.floor((localMs - day * dayMs) / hourMs);
  const weekday = weekdayOf(day);
  const ago = today - day;
  if (ago > opened || ago <= until) return 0;
  const isEvent = ago === event?.day && hour >= 18 && hour < 23;
  let sum = 0;
  for (const [pattern, count] of Object.entries(scans)) {
    const isInside = pattern !== 'street' && pattern !== 'evening';
    if (isInside && weekdays[weekday] === closed) continue;
    // The hours of a day sum to 200.
    const share = content.hours[pattern]![hour]! / 200;
    sum += count * share * content.weekdayFactors[pattern]![weekday]!;
  }
  return sum * weight * (isEvent ? event.times : 1);
}

/** Visitors of a restaurant: returning guests, travelers and bots. */
function visitorsOf({ guests }: content.Restaurant): (chance: Chance) => Visitor {
  const local = weighted(guests);
  const known: Visitor[] = [];
  return (chance) => {
    if (chance() < shares.bot) return visitorFrom(traveler(chance), bot(chance), chance);
    if (known.length > 0 && chance() < shares.returning) {
      // The square favors the latest visitors.
      return known.at(-1 - Math.floor(chance() ** 2 * Math.min(known.length, guestsMax)))!;
    }
    const city = chance() < shares.traveler ? traveler(chance) : local(chance);
    const guest = visitorFrom(city, person(chance), chance);
    known.push(guest);
    return guest;
  };
}

function visitorFrom(city: string, agent: string, chance: Chance): Visitor {
  const { country, networks, language: own } = content.cities.get(city)!;
  const address = pick(networks, chance) + 1 + Math.floor(chance() * (content.networkSize - 2));
  const language = chance() < shares.english ? 'en' : own;
  return { country, language, address, agent };
}
