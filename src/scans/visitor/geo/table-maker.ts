/**
 * Makes the file of places (table-layout.ts) of up to three mmdb files: of countries, of cities for IPv4 and for IPv6.
 *
 *     cities    |  London, GB  |      nothing      | Graz, AT |
 *     countries |     US     |   GB   |    nothing     |  AT  |
 *     table     |  London, GB  |  GB  |  nothing   | Graz, AT |
 *
 * City and country are of one record, never of two: the databases disagree on the country of one address in twenty,
 * and a city of one beside the country of the other is a place that does not exist (`London, US`).
 *
 * Takes 8 s of a core and 100 to 140 MB for the bundled files.
 */
import { crc32 } from 'node:zlib';
import type { GeoName } from '../../../shipped.ts';
import { bytesOf, NetworkWriter, type UnitSink } from './network-writer.ts';
import {
  compareAddresses,
  type Family,
  type GeoSource,
  type Networks,
  NoNetworks,
} from './networks.ts';
import { PlaceWriter } from './place-writer.ts';
import {
  directoryWords,
  encodeHeader,
  firstsOfIpv4,
  type Header,
  headerWords,
  tableBytesMax,
  unitHeaderWords,
} from './table-layout.ts';

/** Where a table goes, from its first byte to its last. */
export interface TableOutput {
  append(bytes: Uint8Array): void;
  /** Writes over the first bytes. */
  restart(bytes: Uint8Array): void;
}

class Units implements UnitSink {
  readonly #output: TableOutput;
  words = headerWords;

  constructor(output: TableOutput) {
    this.#output = output;
    output.append(new Uint8Array(headerWords * 4));
  }

  appendUnit(words: Uint32Array): number {
    const offset = this.words;
    words[0] = words.length;
    words[1] = crc32(bytesOf(words.subarray(unitHeaderWords)));
    this.words += words.length;
    if (this.words * 4 > tableBytesMax) throw new Error('it has too many networks');
    this.#output.append(bytesOf(words));
    return offset;
  }
}

/**
 * @param sources the files, opened; absent where a setting is empty
 * @throws SourceError; Error of the output, or when there are more networks than a table takes
 */
export function makeTable(
  sources: Readonly<Partial<Record<GeoName, GeoSource>>>,
  output: TableOutput,
): void {
  const { countryFile, cityFileV4, cityFileV6 } = sources;
  const units = new Units(output);
  const places = new PlaceWriter(units);
  const ofCities = (record: unknown): number => places.ofCities(record);
  const ofCountries = (record: unknown): number => places.ofCountries(record);
  const merge = (cities: GeoSource | undefined, family: Family): [NetworkWriter, flags: number] => {
    const writer = new NetworkWriter(units);
    const known = cities?.networks(family, ofCities) ?? new NoNetworks(family);
    const rest = countryFile?.networks(family, ofCountries) ?? new NoNetworks(family);
    mergeNetworks(known, rest, family, writer);
    return [writer, cities === undefined ? rest.aliases : known.aliases];
  };
  const [ipv4] = merge(cityFileV4, 4);
  const [ipv6, flags] = merge(cityFileV6?.holdsIpv6 === true ? cityFileV6 : cityFileV4, 6);
  places.end();
  const sizes = {
    places: places.count,
    flags,
    directory: units.words,
    ipv6Entries: ipv6.firsts.length,
    placeUnits: places.units.length,
  };
  writeDirectory({ ...sizes, words: units.words + directoryWords(sizes) }, output, [
    denseEntries(ipv4),
    ipv6.firsts.all,
    ipv6.entries.all,
    places.units.all,
  ]);
}

/** Writes the networks of which `cities` know the place, and in between those of `countries`. */
function mergeNetworks(
  cities: Networks,
  countries: Networks,
  family: Family,
  writer: NetworkWriter,
): void {
  let [first, high, middle, low] = family === 4 ? [0, 0, 0, 0] : [0x2000_0000, 0, 0, 0];
  let isMore = cities.next() && countries.next();
  while (isMore) {
    const place = cities.place === 0 ? countries.place : cities.place;
    writer.add(first, high, middle, low, place);
    const order = compareAddresses(cities.last, countries.last);
    const { last } = order <= 0 ? cities : countries;
    if (family === 4) {
      const next = last[3]! + 1;
      first = Math.floor(next / firstsOfIpv4);
      high = (next << 16) >>> 0;
    } else {
      low = (last[3]! + 1) >>> 0;
      middle = (last[2]! + (low === 0 ? 1 : 0)) >>> 0;
      high = (last[1]! + (low === 0 && middle === 0 ? 1 : 0)) >>> 0;
      first = last[0]! + (low === 0 && middle === 0 && high === 0 ? 1 : 0);
    }
    const [isCity, isCountry] = [order <= 0, order >= 0];
    isMore = (!isCity || cities.next()) && (!isCountry || countries.next());
  }
  writer.end(first);
}

function denseEntries({ firsts, entries }: NetworkWriter): Uint32Array {
  const dense = new Uint32Array(firstsOfIpv4);
  for (let index = 0; index < firsts.length; index++) {
    dense.fill(entries.at(index), firsts.at(index), firsts.all[index + 1] ?? firstsOfIpv4);
  }
  return dense;
}

function writeDirectory(header: Header, output: TableOutput, parts: readonly Uint32Array[]): void {
  const first = bytesOf(encodeHeader(header));
  let crc = crc32(first);
  for (const part of parts) {
    crc = crc32(bytesOf(part), crc);
    output.append(bytesOf(part));
  }
  output.append(bytesOf(Uint32Array.of(crc)));
  output.restart(first);
}
