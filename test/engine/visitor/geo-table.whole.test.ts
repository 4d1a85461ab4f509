/**
 * The table of places: it says what the library reads in the mmdb files; what is damaged in it is refused, or nowhere.
 */
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { Reader } from 'mmdb-lib';
import { afterAll, describe, expect, it } from 'vitest';
import { makeTable, type TableFiles } from '../../../config/release/geo-table.ts';
import { Geo } from '../../../src/engine/visitor/geo/geo.ts';
import { parsePlace, type Place } from '../../../src/engine/visitor/geo/place.ts';
import { firstsOfIpv4, headerWords } from '../../../src/engine/visitor/geo/table-layout.ts';
import {
  checkTable,
  closeTable,
  openTable,
  type OpenTable,
} from '../../../src/engine/visitor/geo/table-units.ts';
import { parseAddress } from '../../support/address.ts';
import { type MmdbRecord, ownGeo, writeMmdb } from './geo-data.ts';
import { runs } from '../../seconds/runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'quietzone-table-'));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, bytes: Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
};
const bundled = (country_code: string, city: string): MmdbRecord => ({
  country_code,
  city,
  latitude: '48.2',
});
const geoLite = (code: string, city: string): MmdbRecord => ({
  country: { iso_code: code },
  city: { names: { de: 'anders', en: city } },
});
const empty = write('empty.mmdb', writeMmdb(4, []));
/** A table of these files. */
function makeFile(name: string, files: Partial<TableFiles>): string {
  const all = { countryFile: empty, cityFileV4: empty, cityFileV6: empty, ...files };
  return write(name, makeTable(all, 7));
}
const geoOf = (table: OpenTable): Geo =>
  new Geo({ cityFileV4: table, cityFileV6: table, countryFile: table });
const at = (geo: Geo, address: string): Place => geo.lookup(parseAddress(address), 0);
const named = (place: Place): string => (place.city === '' ? place.country : place.namedCity);

/** A tree of networks: what is known of one, or its two halves. */
type Tree = MmdbRecord | null | readonly [Tree, Tree];

const cities = ['Vienna', 'Vienna (Favoriten)', 'Vienna (Mitte)', 'Graz', 'Frankfurt (Oder)', ''];
const codes = ['AT', 'DE', 'ZZ', '', 'at'];
const shapes = fc.constantFrom(bundled, geoLite);
const { tree: trees } = fc.letrec<{ tree: Tree; record: Tree; halves: Tree }>((tie) => ({
  tree: fc.oneof({ maxDepth: 11, depthSize: 'large' }, tie('record'), tie('halves')),
  record: fc.oneof(
    fc.constant(null),
    fc
      .tuple(shapes, fc.constantFrom(...codes), fc.constantFrom(...cities))
      .map(([shape, code, city]) => shape(code, city)),
  ),
  halves: fc.tuple(tie('tree'), tie('tree')),
}));

/** `10110…` of at most 32 or 128 bits as text, the rest filled with `rest`. */
function addressOf(bits: string, ipVersion: 4 | 6, rest: '0' | '1'): string {
  const whole = bits.padEnd(ipVersion === 4 ? 32 : 128, rest);
  const parts = whole.match(ipVersion === 4 ? /.{8}/g : /.{16}/g) ?? [];
  const numbers = parts.map((part) => Number.parseInt(part, 2));
  return ipVersion === 4
    ? numbers.join('.')
    : numbers.map((number) => number.toString(16)).join(':');
}

function flatten(tree: Tree, bits: string): Array<[bits: string, record: MmdbRecord | null]> {
  if (!Array.isArray(tree)) return [[bits, tree as MmdbRecord | null]];
  return [...flatten(tree[0], `${bits}0`), ...flatten(tree[1], `${bits}1`)];
}

describe('any two files of networks', () => {
  /** What all addresses begin with: around the 16 bits that a node divides, and behind them. */
  const beginnings = {
    4: ['010', '00101101', '0010110100001111', '001011010000111100001110'],
    6: [
      '001',
      '00100000000000010000110110111000',
      `0010${'0'.repeat(60)}`,
      `0010${'1'.repeat(107)}`,
    ],
  } as const;
  const versions = fc
    .constantFrom(4 as const, 6 as const)
    .chain((version) => fc.tuple(fc.constant(version), fc.constantFrom(...beginnings[version])));
  const sizes = fc.constantFrom(24 as const, 28 as const, 32 as const);

  it('have in the table and as they are, at both ends of each network, the place that the library reads', () => {
    const property = fc.property(trees, trees, versions, sizes, (one, other, version, bits) => {
      const [ipVersion, beginning] = version;
      const networks = [one, other].map((tree) => flatten(tree, beginning));
      const files = networks.map((all, index) => {
        const known = all.flatMap(([prefix, record]) =>
          record === null
            ? []
            : [[`${addressOf(prefix, ipVersion, '0')}/${prefix.length}`, record] as const],
        );
        const bytes = writeMmdb(ipVersion, known, bits);
        return { bytes, path: write(`${index}.mmdb`, bytes) };
      });
      const city = ipVersion === 4 ? 'cityFileV4' : 'cityFileV6';
      const paths = { [city]: files[0]!.path, countryFile: files[1]!.path };
      const table = openTable({ path: makeFile('any.geo', paths) });
      const geos = [geoOf(table), new Geo(ownGeo(paths))];
      const readers = files.map(({ bytes }) => new Reader<object>(bytes));
      for (const [prefix] of networks.flat()) {
        for (const rest of ['0', '1'] as const) {
          const address = addressOf(prefix, ipVersion, rest);
          const [known, fallback] = readers.map((reader) => parsePlace(reader.get(address)));
          const expected = known!.country === 'ZZ' ? fallback! : known!;
          for (const geo of geos) expect(at(geo, address), address).toEqual(expected);
        }
      }
      closeTable(table);
    });
    fc.assert(property, { numRuns: runs(50) });
  });
});

/** Of a city for IPv4 and of networks down to /128. */
function makeSmallFile(): string {
  // More places than the index of a byte tells apart.
  const ipv6 = Array.from({ length: 300 }, (_, index): readonly [string, MmdbRecord] => [
    `2a02:0:${index.toString(16)}::/48`,
    bundled('AT', `City ${index}`),
  ]);
  const cities6 = writeMmdb(6, [...ipv6, ['2003::5/128', bundled('DE', 'Bonn')]]);
  return makeFile('small.geo', {
    countryFile: write('c.mmdb', writeMmdb(4, [['9.0.0.0/8', { country_code: 'US' }]])),
    cityFileV4: write('4.mmdb', writeMmdb(4, [['8.8.8.0/24', bundled('AT', 'Vienna')]])),
    cityFileV6: write('6.mmdb', cities6),
  });
}

const known = [
  ['8.8.8.8', 'Vienna, AT'],
  ['8.8.9.0', 'ZZ'],
  ['9.9.9.9', 'US'],
  ['2a02:0:12b:1::', 'City 299, AT'],
  ['2a03::', 'ZZ'],
  ['2003::4', 'ZZ'],
  ['2003::5', 'Bonn, DE'],
  ['2003::6', 'ZZ'],
] as const;

/** Undefined where the table is refused. */
function answers(path: string): string[] | undefined {
  let table: OpenTable;
  try {
    table = openTable({ path });
  } catch {
    expect(() => checkTable({ path })).toThrow(Error);
    return undefined;
  }
  const geo = geoOf(table);
  const found = known.map(([address]) => named(at(geo, address)));
  closeTable(table);
  return found;
}

describe('a table in a file', () => {
  const path = makeSmallFile();
  const bytes = readFileSync(path);

  it('is whole, and says the same inside another file', () => {
    checkTable({ path });
    const around = write('around', Buffer.concat([Buffer.alloc(4_099, 0x5a), bytes, bytes]));
    const part = { path: around, offset: 4_099, size: bytes.length };
    checkTable(part);
    for (const table of [openTable({ path }), openTable(part)]) {
      const geo = geoOf(table);
      for (const [address, place] of known) expect(named(at(geo, address)), address).toBe(place);
      // Read by now: the file is no longer needed.
      closeTable(table);
      for (const [address, place] of known) expect(named(at(geo, address)), address).toBe(place);
    }
  });

  it('with a byte changed is refused, or says what it did, or nothing', () => {
    const directory = bytes.readUInt32LE(5 * 4) * 4;
    const rest = directory + firstsOfIpv4 * 4;
    const changed = join(folder, 'changed.geo');
    writeFileSync(changed, bytes);
    const file = openSync(changed, 'r+');
    let [refused, unknown] = [0, 0];
    for (let index = 0; index < bytes.length; index++) {
      // The entries of IPv4 are covered by one checksum: a few of them stand for all.
      if (index > directory && index < rest && index % 4_099 > 0) continue;
      if (index >= headerWords * 4 && index % 3 > 0) continue;
      writeSync(file, Buffer.of(bytes[index]! ^ (1 + (index % 255))), 0, 1, index);
      const found = answers(changed);
      writeSync(file, bytes, index, 1, index);
      const isUnit = index >= headerWords * 4 && index < directory;
      expect(found === undefined, `byte ${index}`).toBe(!isUnit);
      refused += isUnit ? 0 : 1;
      for (const [place, [, expected]] of found?.map((one, at) => [one, known[at]!] as const) ??
        []) {
        if (place !== expected) unknown++;
        expect([expected, 'ZZ']).toContain(place);
      }
    }
    closeSync(file);
    expect(refused).toBeGreaterThan(100);
    expect(unknown).toBeGreaterThan(100);
  });

  it('cut anywhere, or of another version, is refused', () => {
    for (let size = 0; size < bytes.length; size += 1 + (size >>> 3)) {
      const cut = write('cut.geo', bytes.subarray(0, size));
      expect(() => openTable({ path: cut }), String(size)).toThrow(/ended|expected|no table/);
    }
    const newer = Buffer.from(bytes);
    newer.writeUInt32LE(2, 8);
    expect(() => openTable({ path: write('newer.geo', newer) })).toThrow('its version is 2');
  });
});
