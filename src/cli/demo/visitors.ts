/**
 * Who scans: a phone at an address, in a city. Guests of a restaurant come again, so a part of its scans are of those who
 * have been there; the more recent, the likelier.
 */
import { bots, people } from './content/agents.ts';
import { type City, cityOf, networkSize } from './content/places.ts';
import { type Restaurant, travellers, travellersShare } from './content/restaurants.ts';
import { type Chance, Weighted } from './random.ts';

export interface DemoVisitor {
  readonly city: City;
  /** IPv4, as a number. */
  readonly address: number;
  readonly agent: string;
  /** As `Accept-Language` has it. */
  readonly language: string;
}

/** Of a hundred scans of guests, those of one who was there before. */
const returningShare = 42;
/** Who came before these is not met again. */
const knownMax = 4_000;
/** Of a hundred phones, those that ask for English, whatever is spoken around them. */
const englishShare = 9;

export class Guests {
  readonly #cities: Weighted<City>;
  readonly #known: DemoVisitor[] = [];
  #next = 0;

  constructor({ guests }: Restaurant) {
    this.#cities = new Weighted([
      ...shares(guests, 100 - travellersShare),
      ...shares(travellers, travellersShare),
    ]);
  }

  next(chance: Chance): DemoVisitor {
    if (this.#known.length > 0 && chance.below(100) < returningShare)
      return this.#known[this.#recent(chance)]!;
    const guest = visitorFrom(this.#cities.pick(chance), people, chance);
    this.#known[this.#next % knownMax] = guest;
    this.#next += 1;
    return guest;
  }

  /** The square favours those who came last. */
  #recent(chance: Chance): number {
    const age = Math.floor(chance.next() ** 2 * this.#known.length);
    return (this.#next - 1 - age) % knownMax;
  }
}

/** Where crawlers, and apps that draw a card of a link, come from. */
const botCities = ['Dublin, IE', 'San Francisco, US', 'New York, US'].map(cityOf);

export const botVisitor = (chance: Chance): DemoVisitor =>
  visitorFrom(chance.pick(botCities), bots, chance);

function visitorFrom(city: City, agents: Weighted<string>, chance: Chance): DemoVisitor {
  const isEnglish = chance.below(100) < englishShare;
  return {
    city,
    address: chance.pick(city.networks) + 1 + chance.below(networkSize - 2),
    agent: agents.pick(chance),
    language: isEnglish ? 'en' : city.language,
  };
}

function shares(
  pairs: ReadonlyArray<readonly [city: string, weight: number]>,
  share: number,
): ReadonlyArray<readonly [City, number]> {
  const sum = pairs.reduce((total, [, weight]) => total + weight, 0);
  return pairs.map(([city, weight]) => [cityOf(city), (weight / sum) * share]);
}
