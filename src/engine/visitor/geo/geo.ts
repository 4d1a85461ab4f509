/**
 * Country and city of a scan record's 16 address bytes, IPv4 as ::ffff:a.b.c.d.
 *
 *     the file of cities for the address's family ─ unknown there ─▶ the file of countries ─ unknown there ─▶ nowhere
 *
 * City and country come from one record. A look-up never fails: unrouted addresses and broken files are nowhere. Keeps no
 * addresses. The bundled table takes 0.1 to 0.2 µs once its unit is in memory (table-units.ts), an operator's file some µs.
 */
import { Reader } from 'mmdb-lib';
import { isMappedIpv4 } from '../visitor-id.ts';
import { GeoTable } from './geo-table.ts';
import { nowhere, parsePlace, Place } from './place.ts';
import type { OpenTable } from './table-units.ts';

export type GeoName = 'countryFile' | 'cityFileV4' | 'cityFileV6';

/** By setting: the bundled table, or the bytes of an mmdb file; can be posted to threads; absent = none. */
export type GeoData = Readonly<Partial<Record<GeoName, OpenTable | SharedArrayBuffer>>>;

type Source = (address: Uint8Array, at: number) => Place;

export class Geo {
  readonly #table: GeoTable | undefined;
  readonly #ipv4: readonly Source[];
  readonly #ipv6: readonly Source[];
  readonly #countries = new Map<number, Place>();

  constructor({ countryFile, cityFileV4, cityFileV6 }: GeoData) {
    const table = [countryFile, cityFileV4, cityFileV6].find((source) => isTable(source));
    this.#table = table && new GeoTable(table);
    this.#ipv4 = this.#sources(4, cityFileV4, countryFile);
    this.#ipv6 = this.#sources(6, cityFileV6, countryFile);
  }

  lookup(address: Uint8Array, at: number): Place {
    const isIpv4 = isMappedIpv4(address, at);
    const isUnrouted = isIpv4 ? isUnroutedIpv4(address, at + 12) : isUnroutedIpv6(address, at);
    if (isUnrouted) return nowhere;
    const sources = isIpv4 ? this.#ipv4 : this.#ipv6;
    let place = nowhere;
    for (const source of sources) {
      place = source(address, at);
      if (place.countryNumber !== nowhere.countryNumber) break;
    }
    return place;
  }

  #sources(family: 4 | 6, cities: GeoData[GeoName], countries: GeoData[GeoName]): Source[] {
    const sources: Source[] = [];
    const table = this.#table;
    const inTable: Source = (address, at) =>
      family === 4 ? table!.ofIpv4(address, at + 12) : table!.ofIpv6(address, at);
    if (cities !== undefined) sources.push(isTable(cities) ? inTable : ofFile(cities, family));
    // The table includes countries.
    if (countries === undefined || (isTable(countries) && isTable(cities))) return sources;
    const isBundled = isTable(countries);
    const ofCountry: Source = (address, at) => this.#countryOf(inTable(address, at));
    return [...sources, isBundled ? ofCountry : ofFile(countries, family)];
  }

  /** The place without its city. */
  #countryOf({ country, countryNumber }: Place): Place {
    let place = this.#countries.get(countryNumber);
    if (place === undefined) this.#countries.set(countryNumber, (place = new Place(country, '')));
    return place;
  }
}

export const isTable = (source: GeoData[GeoName]): source is OpenTable =>
  source !== undefined && !(source instanceof SharedArrayBuffer);

/** @param bytes of an mmdb file */
function ofFile(bytes: SharedArrayBuffer, family: 4 | 6): Source {
  const reader = new Reader<object>(Buffer.from(bytes));
  // The library would read only the first bits of the address, as IPv4.
  if (family === 6 && reader.metadata.ipVersion !== 6) return () => nowhere;
  const textOf = family === 4 ? ipv4Text : ipv6Text;
  return (address, at) => {
    try {
      return parsePlace(reader.get(textOf(address, at)));
    } catch {
      return nowhere;
    }
  };
}

const ipv4Text = (address: Uint8Array, at: number): string =>
  address.subarray(at + 12, at + 16).join('.');

const ipv6Text = (address: Uint8Array, at: number): string =>
  Buffer.from(address.subarray(at, at + 16))
    .toString('hex')
    .replaceAll(/.{4}(?!$)/g, '$&:');

/** This network, private use, shared (100.64/10), loopback, link-local, and 224/3, which no visitor has. */
function isUnroutedIpv4(address: Uint8Array, at: number): boolean {
  const first = address[at]!;
  const second = address[at + 1]!;
  if (first === 10 || first === 127 || first === 0 || first >= 224) return true;
  if (first === 172) return (second & 0xf0) === 16;
  if (first === 192) return second === 168;
  if (first === 169) return second === 254;
  return first === 100 && (second & 0xc0) === 64;
}

/** All but global unicast, 2000::/3: loopback, unique local, link-local, multicast. */
const isUnroutedIpv6 = (address: Uint8Array, at: number): boolean => (address[at]! & 0xe0) !== 0x20;
