/**
 * Shows that the slim geo files give the same places as the originals: `node config/release/check-geo.ts 1000000`.
 *
 * 1. Both trees of each file are walked side by side, from the root to every leaf: all addresses there are.
 * 2. So many addresses are looked up in both as the service does it, across city and country files. Each is drawn by a walk
 *    down a tree to a network of which something is known, and is its first, its last or any other.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { BytesInMemory } from '../../src/scans/visitor/geo-bytes.ts';
import { openGeo, openGeoFiles } from '../../src/scans/visitor/geo.ts';
import {
  type Layout,
  readLayout,
  recordOf,
  separatorBytes,
} from '../../src/scans/visitor/mmdb-layout.ts';
import { decodeRecord } from '../../src/scans/visitor/mmdb-record.ts';
import { nowhere, parsePlace, type Place } from '../../src/scans/visitor/place.ts';
import { findSlimGeoFile, type GeoName, geoNames, originalGeoFile } from '../../src/shipped.ts';

interface Tree {
  readonly file: BytesInMemory;
  readonly layout: Layout;
}

/** @param below this number, exclusive, and from 0 */
type Random = (below: number) => number;

export interface Comparison {
  /** Networks, or addresses. */
  readonly compared: number;
  /** Of them, those with a city in the original. */
  readonly withCity: number;
  readonly differences: number;
}

const openTree = (bytes: Uint8Array): Tree => {
  const file = new BytesInMemory(bytes);
  return { file, layout: readLayout(file) };
};

function placeOf({ file, layout }: Tree, record: number): Place {
  if (record === layout.nodes) return nowhere;
  const at = layout.treeBytes + record - layout.nodes;
  return parsePlace(decodeRecord(file, layout.treeBytes + separatorBytes, at));
}

const sideOf = ({ file, layout }: Tree, record: number, side: number): number =>
  record < layout.nodes ? recordOf(file, layout.recordBits, record, side) : record;

/** Compares the places of every network of two mmdb files. */
export function compareTrees(original: Uint8Array, slim: Uint8Array): Comparison {
  const [one, other] = [openTree(original), openTree(slim)];
  /** Original record -> the slim one that was found equal, and whether it has a city. */
  const equal = new Map<number, { record: number; hasCity: boolean }>();
  let [compared, withCity, differences] = [0, 0, 0];
  const open = [0, 0];
  while (open.length > 0) {
    const slimRecord = open.pop()!;
    const record = open.pop()!;
    if (record < one.layout.nodes || slimRecord < other.layout.nodes) {
      for (const side of [1, 0]) {
        open.push(sideOf(one, record, side), sideOf(other, slimRecord, side));
      }
      continue;
    }
    let found = equal.get(record);
    if (found?.record !== slimRecord) {
      const place = placeOf(one, record);
      if (!isSame(place, placeOf(other, slimRecord))) differences++;
      found = { record: slimRecord, hasCity: place.city !== '' };
      equal.set(record, found);
    }
    compared++;
    if (found.hasCity) withCity++;
  }
  return { compared, withCity, differences };
}

const isSame = (one: Place, other: Place): boolean =>
  one.country === other.country &&
  one.countryNumber === other.countryNumber &&
  one.city === other.city &&
  one.namedCity === other.namedCity;

/** Looks addresses up in the bundled files as they are and as slim ones. @param count of addresses */
export function compareAddresses(count: number, random: Random): Comparison {
  const originals = openGeoFiles(pathsBy(originalGeoFile));
  const slim = openGeoFiles(pathsBy(slimPath));
  const warnings = [...originals.warnings, ...slim.warnings];
  if (warnings.length > 0) throw new Error(warnings.join('; '));
  const [one, other] = [openGeo(originals), openGeo(slim)];
  const trees = [originals.cityV4, originals.cityV6, originals.country].map((source) => {
    if (source === undefined || 'descriptor' in source) throw new Error('not in memory');
    return openTree(new Uint8Array(source));
  });
  const address = new Uint8Array(16);
  let [withCity, differences] = [0, 0];
  for (let drawn = 0; drawn < count; drawn++) {
    drawAddress(trees[drawn % trees.length]!, random, address);
    const place = one.lookup(address, 0);
    if (!isSame(place, other.lookup(address, 0))) differences++;
    if (place.city !== '') withCity++;
  }
  return { compared: count, withCity, differences };
}

const pathsBy = (pathOf: (name: GeoName) => string): Record<GeoName, string> => ({
  countryFile: pathOf('countryFile'),
  cityFileV4: pathOf('cityFileV4'),
  cityFileV6: pathOf('cityFileV6'),
});

function slimPath(name: GeoName): string {
  const path = findSlimGeoFile(name);
  if (path === undefined) throw new Error(`Cannot find the slim ${name}: run npm ci`);
  return path;
}

function drawAddress(tree: Tree, random: Random, into: Uint8Array): void {
  const { nodes, holdsIpv6 } = tree.layout;
  into.fill(0);
  let bit = holdsIpv6 ? 0 : 96;
  for (let record = 0; record < nodes && bit < 128; bit++) {
    let side = random(2);
    if (sideOf(tree, record, side) === nodes) side = 1 - side;
    record = sideOf(tree, record, side);
    into[bit >>> 3] = into[bit >>> 3]! | (side << (7 - (bit & 7)));
  }
  const end = random(3);
  for (; bit < 128; bit++) {
    const side = end === 2 ? random(2) : end;
    into[bit >>> 3] = into[bit >>> 3]! | (side << (7 - (bit & 7)));
  }
  // An IPv4 address, which a tree of both families has under 96 zero bits.
  if (into.subarray(0, 12).every((byte) => byte === 0)) into.fill(0xff, 10, 12);
}

if (import.meta.filename === process.argv[1]) {
  const line = (
    name: string,
    { compared, withCity, differences }: Comparison,
    of: string,
  ): void => {
    if (differences > 0) process.exitCode = 1;
    const text = `${compared} ${of}, ${withCity} with a city, ${differences} differences`;
    process.stdout.write(`${name}: ${text}\n`);
  };
  for (const name of geoNames) {
    const trees = [originalGeoFile(name), slimPath(name)].map((path) => readFileSync(path));
    line(name, compareTrees(trees[0]!, trees[1]!), 'networks');
  }
  const count = Number(process.argv[2] ?? 1_000_000);
  line(
    'look-ups',
    compareAddresses(count, (below) => randomInt(below)),
    'addresses',
  );
}
