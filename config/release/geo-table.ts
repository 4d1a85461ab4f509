/**
 * Makes the table of places (src/engine/visitor/geo/table-layout.ts) of three mmdb files, which the library reads.
 *
 *     cities    |  London, GB  |      nothing      | Graz, AT |
 *     countries |     US     |   GB   |    nothing     |  AT  |
 *     table     |  London, GB  |  GB  |  nothing   | Graz, AT |
 *
 * City and country are of one record, never of two: the databases disagree on the country of one address in twenty,
 * and a city of one with the country of the other is a place that does not exist (`London, US`).
 *
 * The trees of cities and countries are walked side by side, 16 bits of the address at a time: that is a node of the table.
 * Takes 6 s of a core and 430 MB for the bundled files.
 */
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { Reader } from 'mmdb-lib';
import { countryNumber } from '../../src/model/scan.ts';
import { nowhere, parsePlace, type Place } from '../../src/engine/visitor/geo/place.ts';
import {
  directoryWords,
  firstsOfIpv4,
  flagNode,
  flagUnit,
  type Header,
  headerWords,
  magic,
  placesPerUnit,
  tableVersion,
  unitHeaderWords,
  valuesMax,
} from '../../src/engine/visitor/geo/table-layout.ts';

/** Paths of mmdb files. */
export interface TableFiles {
  readonly countryFile: string;
  readonly cityFileV4: string;
  readonly cityFileV6: string;
}

/** An mmdb file: its tree, and the numbers of the places that its records name. */
class Tree {
  readonly #reader: Reader<object>;
  readonly #numberOf: (place: Place) => number;
  readonly #known = new Map<number, number>();
  readonly #walker: { left(offset: number): number; right(offset: number): number };
  readonly #nodeBytes: number;
  readonly nodes: number;
  readonly ipv4: number;
  /** Of 2000::/3. */
  readonly ipv6: number;

  constructor(path: string, numberOf: (place: Place) => number) {
    this.#reader = new Reader(readFileSync(path));
    this.#numberOf = numberOf;
    this.#walker = this.#reader['walker'];
    const { nodeCount, ipVersion, nodeByteSize } = this.#reader.metadata;
    this.#nodeBytes = nodeByteSize;
    this.nodes = nodeCount;
    this.ipv4 = this.#reader['ipv4StartNodeNumber'];
    this.ipv6 = ipVersion === 6 ? this.right(this.left(this.left(0))) : nodeCount;
  }

  get builtSeconds(): number {
    return this.#reader.metadata.buildEpoch.getTime() / 1_000;
  }

  /** The node or record for a next bit of 0. A record has itself. */
  left(node: number): number {
    return node < this.nodes ? this.#walker.left(node * this.#nodeBytes) : node;
  }

  /** The same for 1. */
  right(node: number): number {
    return node < this.nodes ? this.#walker.right(node * this.#nodeBytes) : node;
  }

  /** @param record from `nodes` on */
  place(record: number): number {
    if (record === this.nodes) return 0;
    let number = this.#known.get(record);
    if (number === undefined) {
      number = this.#numberOf(parsePlace(this.#reader['resolveDataPointer'](record)));
      this.#known.set(record, number);
    }
    return number;
  }
}

class Places {
  readonly #numbers = new Map<string, number>([[String(nowhere.countryNumber), 0]]);
  readonly all: Place[] = [nowhere];

  numberOf(place: Place): number {
    const key = place.namedCity + String(place.countryNumber);
    const number = this.#numbers.get(key) ?? this.all.length;
    if (number > valuesMax) throw new Error('Cannot number the places: too many');
    if (number === this.all.length) {
      this.all.push(place);
      this.#numbers.set(key, number);
    }
    return number;
  }
}

/** Of the bundled data: 36 MB. */
const unitsBytes = 2 ** 26;

/** The units of the table, as they come. */
class Units {
  #bytes = Buffer.alloc(unitsBytes);
  words = headerWords;

  /** @param content a whole number of words @returns the unit's offset */
  append(content: Uint8Array): number {
    const offset = this.words;
    const words = unitHeaderWords + content.length / 4;
    if (words > valuesMax) throw new Error('Cannot make the table: a unit has too many networks');
    this.words += words;
    const { length } = this.#bytes;
    if (this.words * 4 > length) this.#bytes = Buffer.concat([this.#bytes], length * 2);
    this.#bytes.writeUInt32LE(words, offset * 4);
    this.#bytes.writeUInt32LE(crc32(content), offset * 4 + 4);
    this.#bytes.set(content, (offset + unitHeaderWords) * 4);
    return offset;
  }

  /** The table so far; its header is missing. */
  get table(): Buffer {
    return this.#bytes.subarray(0, this.words * 4);
  }

  /** @returns offsets of the units of places */
  appendPlaces(places: readonly Place[]): number[] {
    const offsets: number[] = [];
    for (let first = 0; first < places.length; first += placesPerUnit) {
      const some = places.slice(first, first + placesPerUnit);
      const names = some.map(({ city }) => Buffer.from(city));
      let end = 0;
      const numbers = Uint16Array.from([
        ...some.map(({ country }) => countryNumber(country)),
        ...names.map(({ length }) => (end += length)),
      ]);
      offsets.push(this.append(padded(Buffer.concat([Buffer.from(numbers.buffer), ...names]))));
    }
    return offsets;
  }
}

const bytesOf = (words: Uint32Array<ArrayBuffer>): Buffer => Buffer.from(words.buffer);

const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);

/** The division of the addresses below two nodes, ascending. Neighbors differ. */
class Division {
  readonly #cities: Tree;
  readonly #countries: Tree;
  /** Bits of the address behind those that are divided here. */
  readonly #rest: number;
  readonly #units: Units | undefined;
  readonly starts: number[] = [];
  /** Numbers of places; else divisions of the next 16 bits or, in the directory, their units. */
  readonly values: Array<number | Division> = [];

  /** @param units of the directory */
  constructor(trees: readonly [Tree, Tree], rest: number, units?: Units) {
    [this.#cities, this.#countries] = trees;
    this.#rest = rest;
    this.#units = units;
  }

  /** @param bits to divide @param start the number at which they begin */
  divide(city: number, country: number, bits: number, start: number): this {
    const place = this.#place(city, country);
    if (place === undefined && bits > 0) {
      const [cities, countries] = [this.#cities, this.#countries];
      this.divide(cities.left(city), countries.left(country), bits - 1, start);
      const middle = start + 2 ** (bits - 1);
      return this.divide(cities.right(city), countries.right(country), bits - 1, middle);
    }
    const value = place ?? this.#below(city, country);
    if (value !== this.values.at(-1)) {
      this.starts.push(start);
      this.values.push(value);
    }
    return this;
  }

  /** Undefined where the trees divide further. */
  #place(city: number, country: number): number | undefined {
    if (city < this.#cities.nodes) return undefined;
    const place = this.#cities.place(city);
    if (place !== 0) return place;
    return country < this.#countries.nodes ? undefined : this.#countries.place(country);
  }

  #below(city: number, country: number): number | Division {
    const countries = this.#countries;
    // A node behind the last bit knows nothing.
    if (this.#rest === 0) return countries.place(Math.max(country, countries.nodes));
    const below = new Division([this.#cities, countries], this.#rest - 16);
    const { values } = below.divide(city, country, 16, 0);
    if (values.length === 1) return values[0]!;
    return this.#units === undefined ? below : flagUnit + this.#units.append(encodeNode(below));
  }
}

/** @param offset of the node from its unit, in words */
function encodeNode({ starts, values }: Division, offset = unitHeaderWords): Buffer {
  const indexes = new Map<number | Division, number>();
  for (const value of values) if (!indexes.has(value)) indexes.set(value, indexes.size);
  const indexBytes = indexes.size > 256 ? 2 : 1;
  const indexAt = 4 + (starts.length - 1) * 2;
  const valuesAt = indexAt + values.length * indexBytes;
  const node = Buffer.alloc((valuesAt + indexes.size * 3 + 3) & ~3);
  node.writeUInt16LE(starts.length - 1, 0);
  node.writeUInt16LE(indexes.size - 1, 2);
  for (let at = 1; at < starts.length; at++) node.writeUInt16LE(starts[at]!, 2 + at * 2);
  for (const [at, value] of values.entries()) {
    node.writeUIntLE(indexes.get(value)!, indexAt + at * indexBytes, indexBytes);
  }
  const parts: Buffer[] = [node];
  let end = offset + node.length / 4;
  for (const [value, index] of indexes) {
    let number = value;
    if (typeof number !== 'number') {
      const below = encodeNode(number, end);
      parts.push(below);
      number = flagNode + end;
      end += below.length / 4;
    }
    node.writeUIntLE(number, valuesAt + index * 3, 3);
  }
  return parts.length === 1 ? node : Buffer.concat(parts);
}

const divideIpv4 = (cities: Tree, countries: Tree, units: Units): Division =>
  new Division([cities, countries], 16, units).divide(cities.ipv4, countries.ipv4, 16, 0);

/** Of 2000::/3, by the first 32 bits. */
const divideIpv6 = (cities: Tree, countries: Tree, units: Units): Division =>
  new Division([cities, countries], 96, units).divide(cities.ipv6, countries.ipv6, 29, 2 ** 29);

/**
 * @param key of what makes it, 32 bits
 * @throws Error when a file cannot be read, or has too many networks
 */
export function makeTable(files: TableFiles, key: number): Buffer {
  const places = new Places();
  const units = new Units();
  const countries = new Tree(files.countryFile, (place) => places.numberOf(place));
  // Without its country a city is nowhere: the countries are asked.
  const numberOf = (place: Place): number =>
    place.country === nowhere.country ? 0 : places.numberOf(place);
  let { builtSeconds } = countries;
  const openCities = (path: string): Tree => {
    const cities = new Tree(path, numberOf);
    builtSeconds = Math.min(builtSeconds, cities.builtSeconds);
    return cities;
  };
  // The first file of cities is freed while the second is read.
  const ipv4 = denseEntries(divideIpv4(openCities(files.cityFileV4), countries, units));
  const ipv6 = divideIpv6(openCities(files.cityFileV6), countries, units);
  const placeUnits = units.appendPlaces(places.all);
  const sizes = { ipv6Entries: ipv6.starts.length, placeUnits: placeUnits.length };
  const header = encodeHeader({
    words: units.words + directoryWords(sizes),
    places: places.all.length,
    directory: units.words,
    ...sizes,
    builtSeconds,
    key,
  });
  const numbers = [ipv4, ipv6.starts, ipv6.values.map(Number), placeUnits];
  const directory = numbers.map((each) => bytesOf(Uint32Array.from(each)));
  const crc = directory.reduce((sum, part) => crc32(part, sum), crc32(header));
  units.table.set(header);
  return Buffer.concat([units.table, ...directory, bytesOf(Uint32Array.of(crc))]);
}

function encodeHeader(header: Header): Buffer {
  const words = new Uint32Array(headerWords);
  const { places, directory, ipv6Entries, placeUnits, builtSeconds, key } = header;
  words.set([...magic, tableVersion, header.words, places, directory, ipv6Entries, placeUnits]);
  words.set([builtSeconds, key], 8);
  return bytesOf(words);
}

/** An entry for each of the first 16 bits. */
function denseEntries({ starts, values }: Division): Uint32Array {
  const dense = new Uint32Array(firstsOfIpv4);
  for (const [at, start] of starts.entries()) {
    dense.fill(Number(values[at]), start, starts[at + 1] ?? firstsOfIpv4);
  }
  return dense;
}
