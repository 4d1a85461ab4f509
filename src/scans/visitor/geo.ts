/**
 * Country and city of an address, from mmdb files (the MaxMind DB format, version 2.0).
 *
 * The control thread reads the files once into shared memory (53 MB with the bundled ones, which config/release/geo/
 * has reduced to what is read here), or where that is scarce opens them; every shard reads the same bytes or descriptors,
 * so a file that an update replaces stays what it was until the next start. A look-up walks the 16 address bytes as a
 * scan record carries them:
 *
 *     address ─ cache ─ hit ────────────────────────────────────────────────────────┐
 *        └ miss ─ tree of cities ─ record ─ cache or decode ─ country and city ─────┼─ Place
 *                     └ no country in it ─ tree of countries ─ record ─ country ────┘
 *
 * City and country are of one record, never of two: the databases disagree on the country of one address in twenty,
 * and a city of one beside the country of the other is a place that does not exist (`London, US`).
 *
 * A look-up never fails: what no database knows, what is not routed, and whatever a broken file yields
 * is the country `ZZ` and no city.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { unknownCountry } from '../../model/scan.ts';
import { type FilePart, shipped } from '../../shipped.ts';
import { BytesInMemory, BytesInPages, type OpenPart } from './geo-bytes.ts';
import { GeoTree } from './geo-tree.ts';
import { nowhere, parsePlace, type Place } from './place.ts';
import { isMappedIpv4 } from './visitor-id.ts';

/** Paths of mmdb files: `bundled` = the databases shipped with Quietzone, empty = none. */
export interface GeoFiles {
  readonly countryFile: string;
  readonly cityFileV4: string;
  readonly cityFileV6: string;
}

/** A database's bytes, or where they are in an open file, for every thread of this process. */
type GeoSource = SharedArrayBuffer | OpenPart;

/** The files, to be posted to threads as they are; what is undefined stays unknown. */
export interface GeoData {
  readonly country: GeoSource | undefined;
  readonly cityV4: GeoSource | undefined;
  readonly cityV6: GeoSource | undefined;
  /** One sentence for each file that was wanted and cannot be used. */
  readonly warnings: readonly string[];
}

/** Addresses whose place is remembered: a power of two; 8,192 take about 0.3 MB. */
const placesKept = 8_192;

/**
 * Opens the files. Never throws: a file that cannot be used becomes a warning.
 * @param kept `memory` reads them whole; `file` takes 2 MB a file and thread, and some µs for an address not seen recently
 */
export function openGeoFiles(files: GeoFiles, kept: 'memory' | 'file' = 'memory'): GeoData {
  const warnings: string[] = [];
  const open = (name: keyof GeoFiles): GeoSource | undefined => {
    const path = files[name];
    if (path === '') return undefined;
    try {
      const isBundled = path === 'bundled';
      const file = isBundled ? shipped.geoFile(name) : { path, offset: 0, size: undefined };
      return kept === 'memory' ? readShared(file) : openChecked(file);
    } catch (error) {
      const reason = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
      warnings.push(`Cannot use geo.${name} ${path}: ${reason}; places it would name are unknown`);
      return undefined;
    }
  };
  return {
    country: open('countryFile'),
    cityV4: open('cityFileV4'),
    cityV6: open('cityFileV6'),
    warnings,
  };
}

/** When no thread looks anything up any more. */
export function closeGeoFiles({ country, cityV4, cityV6 }: GeoData): void {
  for (const source of [country, cityV4, cityV6]) {
    if (source !== undefined && 'descriptor' in source) closeSync(source.descriptor);
  }
}

function openChecked({ path, offset, size }: FilePart): OpenPart {
  const descriptor = openSync(path, 'r');
  try {
    const part = { descriptor, offset, size };
    GeoTree.open(new BytesInPages(part), parsePlace);
    return part;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function readShared({ path, offset, size: part }: FilePart): SharedArrayBuffer {
  const file = openSync(path, 'r');
  try {
    const size = part ?? fstatSync(file).size - offset;
    const bytes = new Uint8Array(new SharedArrayBuffer(size));
    for (let at = 0; at < size;) {
      const count = readSync(file, bytes, at, Math.min(size - at, 1 << 26), offset + at);
      if (count === 0) throw new Error(`the file ended after ${at} of ${size} bytes`);
      at += count;
    }
    GeoTree.open(new BytesInMemory(bytes), parsePlace);
    return bytes.buffer;
  } finally {
    closeSync(file);
  }
}

function openTree(source: GeoSource | undefined): GeoTree<Place> | undefined {
  if (source === undefined) return undefined;
  if (!('descriptor' in source)) {
    return GeoTree.open(new BytesInMemory(new Uint8Array(source)), parsePlace);
  }
  try {
    return GeoTree.open(new BytesInPages(source), parsePlace);
  } catch {
    // Written over since it was opened: a thread that starts again has other work than places.
    return undefined;
  }
}

/** Opens look-ups over open files; one for each thread. */
export function openGeo(data: GeoData): Geo {
  return new Geo(openTree(data.country), openTree(data.cityV4), openTree(data.cityV6));
}

/** The 32-bit words of 16 address bytes, as a cache's key. */
const word = (bytes: Uint8Array, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);

export class Geo {
  readonly #country: GeoTree<Place> | undefined;
  readonly #cityV4: GeoTree<Place> | undefined;
  readonly #cityV6: GeoTree<Place> | undefined;
  /** Direct-mapped: four words of the address at 4 × slot, its place at slot. */
  readonly #keys = new Int32Array(placesKept * 4);
  readonly #places: Place[] = Array.from({ length: placesKept }, () => nowhere);

  constructor(
    country: GeoTree<Place> | undefined,
    cityV4: GeoTree<Place> | undefined,
    cityV6: GeoTree<Place> | undefined,
  ) {
    this.#country = country;
    this.#cityV4 = cityV4;
    this.#cityV6 =
      cityV6?.holdsIpv6 === true ? cityV6 : cityV4?.holdsIpv6 === true ? cityV4 : undefined;
  }

  /** Place of the 16 address bytes at `at`, IPv4 as ::ffff:a.b.c.d. */
  lookup(address: Uint8Array, at: number): Place {
    const a = word(address, at);
    const b = word(address, at + 4);
    const c = word(address, at + 8);
    const d = word(address, at + 12);
    let hash = Math.imul(a ^ Math.imul(b, 0x85ebca6b), 0x9e3779b1) ^ c ^ Math.imul(d, 0xc2b2ae35);
    hash = Math.imul(hash ^ (hash >>> 15), 0x27d4eb2f);
    const slot = (hash ^ (hash >>> 14)) & (placesKept - 1);
    const keys = this.#keys;
    const key = slot * 4;
    // An unused slot holds the key of `::`, and its place: nowhere.
    if (keys[key] === a && keys[key + 1] === b && keys[key + 2] === c && keys[key + 3] === d) {
      return this.#places[slot]!;
    }
    const place = this.#find(address, at);
    keys[key] = a;
    keys[key + 1] = b;
    keys[key + 2] = c;
    keys[key + 3] = d;
    this.#places[slot] = place;
    return place;
  }

  #find(address: Uint8Array, at: number): Place {
    const ipv4 = isMappedIpv4(address, at);
    if (ipv4 ? isUnroutedIpv4(address, at + 12) : isUnroutedIpv6(address, at)) return nowhere;
    const cities = ipv4 ? this.#cityV4 : this.#cityV6;
    const city = cities?.find(address, at, ipv4) ?? nowhere;
    if (city.country !== unknownCountry) return city;
    return this.#country?.find(address, at, ipv4) ?? nowhere;
  }
}

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
