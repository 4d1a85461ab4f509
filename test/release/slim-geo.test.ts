/**
 * slimGeo: an mmdb file with the same places, which the service's reader and the library both read.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Reader } from 'maxmind';
import { beforeAll, describe, expect, it } from 'vitest';
import { compareAddresses, compareTrees } from '../../config/release/check-geo.ts';
import { makeGeoFiles } from '../../config/release/geo-files.ts';
import { slimGeo } from '../../config/release/geo/slim-geo.ts';
import { BytesInMemory } from '../../src/scans/visitor/geo-bytes.ts';
import { GeoTree } from '../../src/scans/visitor/geo-tree.ts';
import { nowhere, parsePlace, type Place } from '../../src/scans/visitor/place.ts';
import { findSlimGeoFile, originalGeoFile, shipped } from '../../src/shipped.ts';
import { type MmdbRecord, writeMmdb } from '../scans/write-mmdb.ts';
import { parseAddress } from '../support/address.ts';

const bundled = (country_code: string, city: string): MmdbRecord => ({
  country_code,
  city,
  latitude: '48.2',
});
const geoLite = (code: string, city: string): MmdbRecord => ({
  country: { iso_code: code },
  city: { names: { de: 'anders', en: city } },
});

const placeIn = (bytes: Uint8Array, address: string): Place => {
  const tree = GeoTree.open(new BytesInMemory(bytes), parsePlace);
  return tree.find(parseAddress(address), 0, !address.includes(':'));
};
const named = (place: Place): string => (place.city === '' ? place.country : place.namedCity);

describe.each([24, 28, 32] as const)('a file with %d bits a side', (bits) => {
  it('of IPv4 keeps country and city, in the bundled shape and in that of GeoLite2', () => {
    const original = writeMmdb(
      4,
      [
        ['81.2.69.0/24', geoLite('GB', 'London')],
        ['81.2.70.0/25', bundled('AT', 'Vienna')],
        ['81.2.70.128/32', bundled('AT', '')],
        ['200.0.0.0/8', bundled('DE', 'Frankfurt (Oder)')],
        ['201.0.0.0/8', bundled('FR', `Saint-${'Étienne-'.repeat(15)}`)],
      ],
      bits,
    );
    const slim = slimGeo(original);
    const addresses = ['81.2.69.0', '81.2.69.255', '81.2.70.127', '81.2.70.128', '81.2.70.129'];
    addresses.push('200.1.2.3', '201.1.2.3', '0.0.0.0', '255.255.255.255');
    const places = addresses.map((address) => named(placeIn(slim, address)));
    expect(places).toEqual(addresses.map((address) => named(placeIn(original, address))));
    expect(places.slice(1, 4)).toEqual(['London, GB', 'Vienna, AT', 'AT']);
    expect(places.slice(4, 6)).toEqual(['ZZ', 'Frankfurt (Oder), DE']);
    const library = new Reader<object>(Buffer.from(slim));
    expect(library.get('81.2.69.9')).toEqual({ country_code: 'GB', city: 'London' });
    expect(library.get('81.2.70.128')).toEqual({ country_code: 'AT' });
    expect(library.get('9.9.9.9')).toBeNull();
    expect(library.get('201.0.0.1')).toEqual({
      country_code: 'FR',
      city: `Saint-${'Étienne-'.repeat(15)}`,
    });
  });

  it('of IPv6 keeps also the IPv4 addresses in it', () => {
    const original = writeMmdb(
      6,
      [
        // 51.0.0.0/8
        ['::3300:0/104', bundled('GB', 'London')],
        ['2a02::/16', bundled('GB', 'London')],
        ['2003::1/128', bundled('DE', 'Bonn (Gronau)')],
      ],
      bits,
    );
    const slim = slimGeo(original);
    for (const [address, place] of [
      ['51.1.2.3', 'London, GB'],
      ['52.0.0.1', 'ZZ'],
      ['2a02:ffff::', 'London, GB'],
      ['2003::1', 'Bonn, DE'],
      ['2003::2', 'ZZ'],
    ] as const) {
      expect(named(placeIn(original, address)), address).toBe(place);
      expect(named(placeIn(slim, address)), address).toBe(place);
    }
    expect(new Reader<object>(Buffer.from(slim)).get('51.1.2.3')).toEqual({
      country_code: 'GB',
      city: 'London',
    });
  });
});

const nodesOf = (bytes: Uint8Array): number => new Reader(Buffer.from(bytes)).metadata.nodeCount;
const metadataOf = (bytes: Uint8Array) => new Reader(Buffer.from(bytes)).metadata;

describe('slimGeo', () => {
  it('merges districts of a city, equal neighbours and equal subtrees', () => {
    const quarter = (first: number, one: MmdbRecord, other: MmdbRecord) =>
      [
        [`${first}.0.0.0/9`, one],
        [`${first}.128.0.0/9`, other],
      ] as const;
    const districts = writeMmdb(4, [
      ...quarter(0, bundled('AT', 'Vienna (Floridsdorf)'), bundled('AT', 'Vienna')),
      ...quarter(1, bundled('AT', 'Vienna (Favoriten)'), bundled('AT', 'Vienna')),
    ]);
    // 0.0.0.0/7 is a leaf: one node for each of its seven bits.
    expect([nodesOf(districts), nodesOf(slimGeo(districts))]).toEqual([10, 7]);
    const subtrees = writeMmdb(4, [
      ...quarter(0, bundled('AT', 'Vienna'), bundled('AT', 'Graz')),
      ...quarter(1, bundled('AT', 'Vienna'), bundled('AT', 'Graz (Mitte)')),
    ]);
    expect([nodesOf(subtrees), nodesOf(slimGeo(subtrees))]).toEqual([10, 9]);
  });

  it('keeps what a record without a place hides: nothing, in which the country file is asked', () => {
    const original = writeMmdb(4, [
      ['8.0.0.0/9', bundled('', 'London')],
      ['8.128.0.0/9', bundled('usa', '')],
      ['9.0.0.0/8', bundled('ZZ', '')],
      ['10.0.0.0/8', bundled('ZZ', 'Atlantis')],
    ]);
    const slim = slimGeo(original);
    expect(placeIn(slim, '8.8.8.8')).toBe(nowhere);
    const library = new Reader<object>(Buffer.from(slim));
    const hidden = ['8.8.8.8', '8.200.0.1', '9.9.9.9'].map((one) => library.get(one));
    expect(hidden).toEqual([null, null, null]);
    // No country, yet a name: the country file may have it.
    expect(placeIn(slim, '10.1.1.1')).toEqual(placeIn(original, '10.1.1.1'));
    expect(placeIn(slim, '10.1.1.1').city).toBe('Atlantis');
  });

  it('writes a file of one place for all addresses, and one of none', () => {
    const all = writeMmdb(4, [
      ['0.0.0.0/1', bundled('AT', '')],
      ['128.0.0.0/1', bundled('AT', '')],
    ]);
    const countries = ['0.0.0.0', '255.0.0.1'].map((one) => placeIn(slimGeo(all), one).country);
    expect(countries).toEqual(['AT', 'AT']);
    expect(placeIn(slimGeo(writeMmdb(4, [])), '8.8.8.8')).toBe(nowhere);
  });

  it('keeps type, time and version of address; is the same for the same bytes', () => {
    const original = writeMmdb(6, [['2a02::/16', bundled('AT', 'Vienna')]]);
    const { buildEpoch, databaseType, ipVersion } = metadataOf(original);
    expect(metadataOf(slimGeo(original))).toMatchObject({ buildEpoch, databaseType, ipVersion });
    expect(Buffer.compare(slimGeo(original), slimGeo(original))).toBe(0);
    // Slim already: the same but for the description.
    expect(Buffer.compare(slimGeo(slimGeo(original)), slimGeo(original))).toBe(0);
  });

  it('refuses a name that is cut so that it would be read as another, and what is no mmdb file', () => {
    const cut = `Vienna (${'x'.repeat(119)}) and all the rest of it`;
    expect(parsePlace(bundled('AT', cut)).city).toHaveLength(128);
    const original = writeMmdb(4, [['8.0.0.0/8', bundled('AT', cut)]]);
    expect(() => slimGeo(original)).toThrow(/Cannot keep the city Vienna \(x.*as Vienna$/);
    expect(() => slimGeo(Buffer.from('no database'))).toThrow(/no metadata/);
    expect(() => slimGeo(original.subarray(100))).toThrow(/search tree takes|no metadata|damaged/);
  });
});

/** A tree of networks: what is known of one, or its two halves. */
type Networks = MmdbRecord | null | readonly [Networks, Networks];

const cities = ['Vienna', 'Vienna (Favoriten)', 'Vienna (Mitte)', 'Graz', 'Frankfurt (Oder)', ''];
const codes = ['AT', 'DE', 'ZZ', '', 'at'];
const shapes = fc.constantFrom(bundled, geoLite);
const { networks } = fc.letrec<{ networks: Networks; record: Networks; halves: Networks }>(
  (tie) => ({
    networks: fc.oneof({ maxDepth: 9, depthSize: 'large' }, tie('record'), tie('halves')),
    record: fc.oneof(
      fc.constant(null),
      fc
        .tuple(shapes, fc.constantFrom(...codes), fc.constantFrom(...cities))
        .map(([shape, code, city]) => shape(code, city)),
    ),
    halves: fc.tuple(tie('networks'), tie('networks')),
  }),
);

/** `10110…` of at most 32 or 128 bits as text, the rest filled with `rest`. */
function addressOf(bits: string, ipVersion: 4 | 6, rest: '0' | '1'): string {
  const whole = bits.padEnd(ipVersion === 4 ? 32 : 128, rest);
  const parts = whole.match(ipVersion === 4 ? /.{8}/g : /.{16}/g) ?? [];
  const numbers = parts.map((part) => Number.parseInt(part, 2));
  return ipVersion === 4
    ? numbers.join('.')
    : numbers.map((number) => number.toString(16)).join(':');
}

function flatten(tree: Networks, bits: string): Array<[bits: string, record: MmdbRecord | null]> {
  if (!Array.isArray(tree)) return [[bits, tree as MmdbRecord | null]];
  return [...flatten(tree[0], `${bits}0`), ...flatten(tree[1], `${bits}1`)];
}

it('slimGeo gives the first and the last address of every network the place of its record', () => {
  const versions = fc.constantFrom(4 as const, 6 as const);
  const sizes = fc.constantFrom(24 as const, 28 as const, 32 as const);
  const property = fc.property(networks, versions, sizes, (tree, ipVersion, recordBits) => {
    // Where IPv6 addresses are given from, and IPv4 beside 0.0.0.0/8.
    const all = flatten(tree, ipVersion === 4 ? '1' : '001');
    const known = all.flatMap(([bits, record]) =>
      record === null
        ? []
        : [[`${addressOf(bits, ipVersion, '0')}/${bits.length}`, record] as const],
    );
    const slim = slimGeo(writeMmdb(ipVersion, known, recordBits));
    const library = new Reader<object>(Buffer.from(slim));
    const ours = GeoTree.open(new BytesInMemory(slim), parsePlace);
    for (const [bits, record] of all) {
      for (const rest of ['0', '1'] as const) {
        const address = addressOf(bits, ipVersion, rest);
        const place = parsePlace(record);
        expect(ours.find(parseAddress(address), 0, ipVersion === 4), address).toEqual(place);
        expect(parsePlace(library.get(address)), address).toEqual(place);
      }
    }
  });
  fc.assert(property, { numRuns: 200 });
});

describe('the bundled files', () => {
  beforeAll(() => makeGeoFiles(() => undefined));

  it('are read slim, and give 100,000 addresses the places that the originals give', () => {
    expect(shipped.geoFile('cityFileV4').path).toBe(findSlimGeoFile('cityFileV4'));
    let state = 17;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return (state >>> 8) % below;
    };
    const { withCity, differences } = compareAddresses(100_000, random);
    expect(differences).toBe(0);
    expect(withCity).toBeGreaterThan(60_000);
  });

  it('of countries have the same place for every address there is; a difference would be seen', () => {
    const original = readFileSync(originalGeoFile('countryFile'));
    const slim = readFileSync(findSlimGeoFile('countryFile')!);
    const { compared, differences } = compareTrees(original, slim);
    expect(differences).toBe(0);
    expect(compared).toBeGreaterThan(1_000_000);
    const changed = Buffer.from(slim);
    changed.write('XX', changed.indexOf('DE', slim.length - 10_000));
    expect(compareTrees(original, changed).differences).toBeGreaterThan(0);
  });
});
