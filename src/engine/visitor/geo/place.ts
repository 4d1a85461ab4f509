/**
 * Country and city of an mmdb record, in the bundled shape (`country_code`, `city`) or GeoLite2's (`country.iso_code`,
 * `city.names.en`).
 */
import { countryCode, countryNumber, unknownCity, unknownCountry } from '../../../model/scan.ts';

/** Shared by many scans: 80 bytes with its name. */
export class Place {
  readonly countryNumber: number;
  /** As rollups and blocks name it, "Chicago, US"; empty = unknown city. */
  readonly namedCity: string;

  constructor(country: string, city: string) {
    this.countryNumber = countryNumber(country);
    this.namedCity = city === unknownCity ? unknownCity : `${city}, ${country}`;
  }

  /** Two letters, upper case; `ZZ` = unknown. */
  get country(): string {
    return countryCode(this.countryNumber);
  }

  /** Without its district, ≤ 128 characters; empty = unknown. */
  get city(): string {
    return this.namedCity.slice(0, -', ZZ'.length);
  }
}

export const nowhere = new Place(unknownCountry, unknownCity);

/** Bounds names from an operator's file. */
const cityCharactersMax = 128;

const field = (record: unknown, name: string): unknown =>
  typeof record === 'object' && record !== null ? Reflect.get(record, name) : undefined;

/** Reads a record of either shape; anything else, or a city without a country, is nowhere. */
export function parsePlace(record: unknown): Place {
  const code = field(record, 'country_code') ?? field(field(record, 'country'), 'iso_code');
  if (typeof code !== 'string' || !/^[A-Z]{2}$/.test(code)) return nowhere;
  const cityField = field(record, 'city');
  const name = typeof cityField === 'string' ? cityField : field(field(cityField, 'names'), 'en');
  return new Place(code, typeof name === 'string' ? cityOf(name) : unknownCity);
}

/** A city's name without its district, as 11 % of the bundled networks have it: `Vienna (Floridsdorf)` counts as Vienna. */
function cityOf(name: string): string {
  const [, city, remark = ''] = /^([^(]*[^( ]) ?\(([^()]*).*\)$/.exec(name) ?? [];
  if (city === undefined) return name.slice(0, cityCharactersMax);
  return (partOfName.test(remark) ? `${city} (${remark})` : city).slice(0, cityCharactersMax);
}

/** Rivers and regions that distinguish cities of one name: Frankfurt (Oder) is not Frankfurt am Main. */
const partOfName =
  /^(?:Aller|Allg[aä]u|Elbe|Lahn|Oder|Oberpfalz|Ruhr|Saale|Sieg|Spree|Taunus|Unterweser|Westfalen|W[uü]mme)$/;
