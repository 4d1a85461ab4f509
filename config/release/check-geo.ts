/**
 * Shows that the table of places says what the original files do: `node config/release/check-geo.ts 1000000`.
 *
 * 1. The table and the originals are walked side by side, from the first network to the last: all addresses there are.
 * 2. About so many addresses on the way are looked up, in the table as a service does it, in the originals by the package
 *    `maxmind`: the first or the last one of a network.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Reader } from 'maxmind';
import { Geo } from '../../src/scans/visitor/geo/geo.ts';
import { Mmdb } from '../../src/scans/visitor/geo/mmdb.ts';
import {
  compareAddresses,
  families,
  type Family,
  type GeoSource,
  NoNetworks,
} from '../../src/scans/visitor/geo/networks.ts';
import { parsePlace, Place } from '../../src/scans/visitor/geo/place.ts';
import { TableSource } from '../../src/scans/visitor/geo/table-source.ts';
import { openTable } from '../../src/scans/visitor/geo/table-units.ts';
import { type GeoName, originalGeoFile } from '../../src/shipped.ts';
import { geoTablePath } from './geo-files.ts';

export interface Comparison {
  /** Networks, or addresses. */
  compared: number;
  /** Of them, those with a city in the original. */
  withCity: number;
  differences: number;
}

export interface Compared {
  readonly cities: GeoSource | undefined;
  readonly countries: GeoSource | undefined;
  readonly table: GeoSource;
  readonly family: Family;
  /** Called with the first or the last address of each network, as four words. */
  readonly onAddress?: (address: Uint32Array) => void;
}

const nothing = (): Comparison => ({ compared: 0, withCity: 0, differences: 0 });

/** Compares the places of every network. */
export function compareNetworks(files: Compared): Comparison {
  const { cities, countries, table, family, onAddress = () => undefined } = files;
  const found = nothing();
  const numbers = new Map<string, number>([['ZZ ', 0]]);
  const withCity = new Set<number>();
  const placeOf = (record: unknown): Place =>
    record instanceof Place ? record : parsePlace(record);
  const numberOf = (record: unknown): number => {
    const place = placeOf(record);
    const name = `${place.country} ${place.city}`;
    const number = numbers.get(name) ?? numbers.size;
    numbers.set(name, number);
    if (place.city !== '') withCity.add(number);
    return number;
  };
  const ofCities = (record: unknown): number =>
    placeOf(record).country === 'ZZ' ? 0 : numberOf(record);
  const walks = [
    cities?.networks(family, ofCities) ?? new NoNetworks(family),
    countries?.networks(family, numberOf) ?? new NoNetworks(family),
    table.networks(family, numberOf),
  ] as const;
  const [city, country, made] = walks;
  const first = Uint32Array.of(families[family].first, 0, 0, 0);
  let isMore = walks.every((walk) => walk.next());
  while (isMore) {
    const place = city.place === 0 ? country.place : city.place;
    found.compared++;
    if (withCity.has(place)) found.withCity++;
    if (place !== made.place) found.differences++;
    onAddress(first);
    let last = city.last;
    if (compareAddresses(country.last, last) < 0) last = country.last;
    if (compareAddresses(made.last, last) < 0) last = made.last;
    onAddress(last);
    first.set(last);
    for (let word = 3; word >= 0; word--) {
      first[word] = first[word]! + 1;
      if (first[word] !== 0) break;
    }
    const ended = walks.filter((walk) => compareAddresses(walk.last, last) === 0);
    isMore = ended.every((walk) => walk.next());
  }
  return found;
}

/** @returns compares the look-ups of an address in the bundled table and in the packages' files */
function compareLookups(): {
  readonly compare: (address: Uint32Array) => void;
  readonly result: Comparison;
} {
  const result = nothing();
  const geo = new Geo(openTable({ path: geoTablePath('places') }));
  const open = (name: GeoName) => new Reader<object>(readFileSync(originalGeoFile(name)));
  const countries = open('countryFile');
  const cities = { 4: open('cityFileV4'), 6: open('cityFileV6') };
  const bytes = new Uint8Array(16);
  const compare = (address: Uint32Array): void => {
    const family = address[0] === 0 ? 4 : 6;
    const text = family === 4 ? ipv4Of(address[3]!) : ipv6Of(address);
    for (let at = 0; at < 16; at++) bytes[at] = address[at >>> 2]! >>> (24 - (at & 3) * 8);
    if (family === 4) bytes.fill(0xff, 10, 12);
    const place = geo.lookup(bytes, 0);
    // No visitor has such an address: the service asks no file.
    if (place.country === 'ZZ' && family === 4 && isSpecial(address[3]!)) return;
    let expected = parsePlace(cities[family].get(text));
    if (expected.country === 'ZZ') expected = parsePlace(countries.get(text));
    result.compared++;
    if (expected.city !== '') result.withCity++;
    const isSame =
      place.countryNumber === expected.countryNumber && place.namedCity === expected.namedCity;
    if (!isSame) result.differences++;
  };
  return { compare, result };
}

const ipv4Of = (word: number): string =>
  [24, 16, 8, 0].map((shift) => (word >>> shift) & 0xff).join('.');

const ipv6Of = (address: Uint32Array): string =>
  [...address].flatMap((word) => [word >>> 16, word & 0xffff].map((n) => n.toString(16))).join(':');

/** Private use, loopback and the like. */
const isSpecial = (word: number): boolean =>
  /^(0|10|127|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])|169\.254|172\.(1[6-9]|2\d|3[01])|192\.168|22[4-9]|2[3-5]\d)\./.test(
    ipv4Of(word),
  );

if (import.meta.filename === process.argv[1]) {
  const print = (what: string, { compared, withCity, differences }: Comparison): void => {
    if (differences > 0) process.exitCode = 1;
    process.stdout.write(
      `${what}: ${compared}, ${withCity} with a city, ${differences} differences\n`,
    );
  };
  const networks = 16_000_000;
  const wanted = Number(process.argv[2] ?? 1_000_000);
  const { compare, result } = compareLookups();
  const onAddress = (address: Uint32Array): void => {
    if (randomInt(networks * 2) < wanted) compare(address);
  };
  const original = (name: GeoName): Mmdb => Mmdb.open({ path: originalGeoFile(name) });
  const countries = original('countryFile');
  const table = TableSource.open({ path: geoTablePath('places') }, 'countries');
  const ipv4 = original('cityFileV4');
  const ipv6 = original('cityFileV6');
  print(
    'IPv4, networks',
    compareNetworks({ cities: ipv4, countries, table, family: 4, onAddress }),
  );
  print(
    'IPv6, networks',
    compareNetworks({ cities: ipv6, countries, table, family: 6, onAddress }),
  );
  print('look-ups', result);
  const alone = TableSource.open({ path: geoTablePath('countries') }, 'countries');
  for (const family of [4, 6] as const) {
    const compared = compareNetworks({ cities: undefined, countries, table: alone, family });
    print(`countries alone, IPv${family}, networks`, compared);
  }
}
