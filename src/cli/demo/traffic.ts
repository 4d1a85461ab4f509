/**
 * The scans of a day, in the order of time: how many is drawn for each code and hour, from how it is scanned (hours.ts), the
 * day of the week, whether its restaurant is open, and what happens to it.
 *
 * Each day draws from chance of its own, so that a day is the same whatever the time is at which the demo is made; guests
 * come again from one day to the next.
 */
import { dayMs, hourMs, weekdays } from '../../model/day.ts';
import { type Calendar, weekdayOf } from '../../model/zones/calendar.ts';
import { referers } from './content/agents.ts';
import { hourShares, weekdayFactors } from './content/hours.ts';
import type { Print } from './content/prints.ts';
import { knownCalendar, type Restaurant } from './content/restaurants.ts';
import type { DemoDays } from './demo-days.ts';
import { Chance } from './random.ts';
import { botVisitor, type DemoVisitor, Guests } from './visitors.ts';

export interface DemoScan {
  readonly timeMs: number;
  readonly print: Print;
  readonly visitor: DemoVisitor;
  readonly referer: string;
  /** A browser loaded it before anyone asked. */
  readonly isPrefetch: boolean;
}

export interface PrintedAt {
  readonly restaurant: Restaurant;
  readonly prints: readonly Print[];
}

export interface TrafficOptions {
  readonly seed: number;
  readonly days: DemoDays;
  readonly printed: readonly PrintedAt[];
  /** About so many, of all days. */
  readonly scans: number;
}

const hoursPerDay = 24;
/** The chain grows: its first day has so much of the last one's scans. */
const growthFrom = 0.72;
/** A day is up to so much above or below what its weekday has. */
const weatherShare = 0.16;
/** Of a thousand requests. */
const botShare = 32;
const prefetchShare = 7;
/** Local hours of an event. */
const eventFrom = 18;
const eventTo = 23;

interface Place {
  readonly restaurant: Restaurant;
  readonly prints: readonly Print[];
  readonly guests: Guests;
  readonly calendar: Calendar;
}

export class Traffic {
  readonly #options: TrafficOptions;
  readonly #places: readonly Place[];
  /** So that all days together have about the scans that are asked for. */
  readonly #factor: number;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#places = options.printed.map((place) => ({
      ...place,
      guests: new Guests(place.restaurant),
      calendar: knownCalendar(place.restaurant.timezone),
    }));
    const { days, scans } = options;
    let mean = 0;
    for (let day = days.first; day <= days.today; day += 1) mean += this.#meanOf(day);
    this.#factor = scans / mean;
  }

  /** Days are to be asked for one after the other. */
  ofDay(day: number): DemoScan[] {
    const { seed, days } = this.#options;
    const chance = new Chance(seed, days.today - day);
    const growth = this.#growth(day);
    const found: DemoScan[] = [];
    for (const place of this.#places) {
      const weather = 1 + weatherShare * (2 * chance.next() - 1);
      const factor = this.#factor * growth * weather * place.restaurant.weight;
      for (const print of place.prints) this.#scansOf(print, place, day, factor, chance, found);
    }
    return found.sort((one, other) => one.timeMs - other.timeMs);
  }

  #growth(day: number): number {
    const { first, count } = this.#options.days;
    return growthFrom + (1 - growthFrom) * ((day - first) / Math.max(1, count - 1));
  }

  /** Scans of a day, before they are made more or less by a factor. */
  #meanOf(day: number): number {
    let mean = 0;
    for (const { restaurant, prints, calendar } of this.#places) {
      for (let hour = 0; hour < hoursPerDay; hour += 1) {
        const fromMs = day * dayMs + hour * hourMs;
        const localHours = fromMs / hourMs + calendar.offsetAt(fromMs) / 60;
        const means = prints.map((print) => this.#meanAt(print, restaurant, localHours));
        mean += restaurant.weight * means.reduce((sum, one) => sum + one, 0);
      }
    }
    return mean * this.#growth(day);
  }

  #scansOf(
    print: Print,
    { restaurant, guests, calendar }: Place,
    day: number,
    factor: number,
    chance: Chance,
    found: DemoScan[],
  ): void {
    for (let hour = 0; hour < hoursPerDay; hour += 1) {
      const fromMs = day * dayMs + hour * hourMs;
      const localHours = fromMs / hourMs + calendar.offsetAt(fromMs) / 60;
      const mean = factor * this.#meanAt(print, restaurant, localHours);
      for (let left = chance.times(mean); left > 0; left -= 1) {
        const timeMs = fromMs + chance.below(hourMs);
        const isBot = chance.below(1_000) < botShare;
        const visitor = isBot ? botVisitor(chance) : guests.next(chance);
        const referer = isBot ? '' : referers.pick(chance);
        const isPrefetch = chance.below(1_000) < prefetchShare;
        found.push({ timeMs, print, visitor, referer, isPrefetch });
      }
    }
  }

  /** Scans of an hour. @param localHours since the epoch, by the restaurant's clock */
  #meanAt(print: Print, restaurant: Restaurant, localHours: number): number {
    const { pattern, scans, story } = print;
    const { days } = this.#options;
    const localDay = Math.floor(localHours / hoursPerDay);
    const hour = Math.floor(localHours) - localDay * hoursPerDay;
    const weekday = weekdayOf(localDay);
    const { openedDays, closed } = restaurant;
    if (openedDays !== undefined && localDay < days.day(openedDays)) return 0;
    const isInside = pattern !== 'street' && pattern !== 'evening';
    if (isInside && closed !== undefined && weekdays[weekday] === closed) return 0;
    const usual = scans * hourShares[pattern][hour]! * weekdayFactors[pattern][weekday]!;
    if (story === undefined) return usual;
    if (story.kind === 'silent') return localDay < days.day(story.sinceDays) ? usual : 0;
    const isOn = localDay === days.day(story.daysBefore) && hour >= eventFrom && hour < eventTo;
    return isOn ? usual * story.times : usual;
  }
}
