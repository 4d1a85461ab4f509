/**
 * Geo data of a service: the bundled table, or an operator's own files. What cannot be used costs its places and a warning,
 * never the start.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { type GeoFiles, openGeo } from '../../../src/engine/visitor/geo/geo-data.ts';
import { geoWarning } from '../../../src/model/scan.ts';
import { Geo, type GeoData } from '../../../src/engine/visitor/geo/geo.ts';
import { parsePlace } from '../../../src/engine/visitor/geo/place.ts';
import { checkTable } from '../../../src/engine/visitor/geo/table-units.ts';
import { shipped } from '../../../src/platform/shipped.ts';
import { parseAddress } from '../../support/address.ts';
import { bundledFiles, type MmdbRecord, openBundledGeo, ownGeo, writeMmdb } from './geo-data.ts';

const folder = mkdtempSync(join(tmpdir(), 'quietzone-geo-data-'));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

const none: GeoFiles = { countryFile: '', cityFileV4: '', cityFileV6: '' };

function write(name: string, bytes: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}
const cityBytes = writeMmdb(4, [['8.0.0.0/8', { country_code: 'AT', city: 'Graz' }]]);
const cityFileV4 = write('cities.mmdb', cityBytes);
const countryBytes = writeMmdb(4, [['9.0.0.0/8', { country_code: 'FR' }]]);
const countryFile = write('countries.mmdb', countryBytes);

function placesIn(data: GeoData, ...addresses: readonly string[]): string[] {
  const geo = new Geo(data);
  return addresses.map((address) => {
    const { country, namedCity } = geo.lookup(parseAddress(address), 0);
    return namedCity === '' ? country : namedCity;
  });
}

describe("an operator's files", () => {
  it('are read once, whatever settings name them, into memory that threads share', () => {
    const { data } = openGeo({ ...none, cityFileV4, cityFileV6: cityFileV4 });
    expect(data.cityFileV4).toBeInstanceOf(SharedArrayBuffer);
    expect(data.cityFileV6).toBe(data.cityFileV4);
    expect(placesIn(data, '8.8.8.8', '9.9.9.9', '2003::1')).toEqual(['Graz, AT', 'ZZ', 'ZZ']);
  });

  it('that cannot be used cost a warning each, and no other places', () => {
    const deep = writeMmdb(4, [['9.9.9.9/32', { country_code: 'US' }]]);
    const broken = {
      missing: join(folder, 'missing.mmdb'),
      folder,
      text: write('text', Buffer.from('no database')),
      empty: write('empty', Buffer.alloc(0)),
      cut: write('cut', countryBytes.subarray(0, countryBytes.length - 100)),
      treeless: write('treeless', deep.subarray(deep.indexOf('MaxMind.com') - 3)),
    };
    for (const [name, path] of Object.entries(broken)) {
      const { data, warnings } = openGeo({ ...none, cityFileV4, countryFile: path });
      expect(placesIn(data, '8.8.8.8', '9.9.9.9'), name).toEqual(['Graz, AT', 'ZZ']);
      expect(warnings, name).toEqual([
        expect.stringMatching(
          /^Cannot use geo\.countryFile .*: .+; places it would name are unknown$/,
        ),
      ]);
    }
  });

  it('with any byte damaged end in places or in nothing', () => {
    for (let at = 0; at < cityBytes.length; at++) {
      const path = write('damaged.mmdb', cityBytes.with(at, cityBytes[at]! ^ (1 + (at % 255))));
      const { data } = openGeo({ ...none, cityFileV4: path });
      const [place] = placesIn(data, '8.8.8.8');
      expect(place).toMatch(/^(.+, )?[A-Z]{2}$/);
    }
  });
});

/** City and country of a place are of one record: two files that disagree must not make a place that is in neither. */
describe('a place', () => {
  const geoLite = (code: string, city?: string): MmdbRecord => ({
    ...(code === '' ? {} : { country: { iso_code: code } }),
    ...(city === undefined ? {} : { city: { names: { en: city } } }),
  });

  it.each([
    ['GB', 'London', 'London, GB'],
    ['', 'London', 'ZZ'],
    ['GB', undefined, 'GB'],
    ['AT', 'Vienna (Floridsdorf)', 'Vienna, AT'],
    ['CH', 'Zurich (Zurich (Kreis 11) / Oerlikon)', 'Zurich, CH'],
    ['KR', 'Yongsan-dong (Hangangno 3(sam)-ga)', 'Yongsan-dong, KR'],
    ['IN', 'Mumbai (Kurla (w)', 'Mumbai, IN'],
    ['DE', 'Cologne (Ehrenfeld, Cologne)', 'Cologne, DE'],
    ['DE', 'Frankfurt (Oder)', 'Frankfurt (Oder), DE'],
    ['DE', 'Kempten (Allgau) (Ursulasried)', 'Kempten (Allgau), DE'],
    ['DE', 'Freiburg (Elbe) Flecken', 'Freiburg (Elbe) Flecken, DE'],
    ['AT', '(Floridsdorf)', '(Floridsdorf), AT'],
    ['AT', '', 'AT'],
    ['AT', `${'long '.repeat(40)}(district)`, `${'long '.repeat(40).slice(0, 128)}, AT`],
  ])('of %j and %j is %j', (code, city, expected) => {
    const { country, namedCity } = parsePlace(geoLite(code, city));
    expect(namedCity === '' ? country : namedCity).toBe(expected);
  });

  it('of IPv4 alone knows no IPv6 address, not even one that begins as a known IPv4 address does', () => {
    const six = write('six.mmdb', writeMmdb(6, [['2a02::/16', geoLite('GB', 'London')]]));
    expect(placesIn(ownGeo({ cityFileV6: six }), '2a02::1', '2a03::1')).toEqual([
      'London, GB',
      'ZZ',
    ]);
    const four = write('four.mmdb', writeMmdb(4, [['42.2.0.0/16', geoLite('US')]]));
    expect(placesIn(ownGeo({ countryFile: four }), '42.2.0.1', '2a02::1')).toEqual(['US', 'ZZ']);
  });
});

describe('own files beside bundled ones', () => {
  const opened = openBundledGeo();
  afterAll(opened.close);
  const bundled = opened.data.countryFile!;
  const own = openGeo({ ...none, cityFileV4, countryFile }).data;

  it('are asked first for what their setting names, and the bundled countries for the rest', () => {
    const data = { cityFileV4: own.cityFileV4!, cityFileV6: bundled, countryFile: bundled };
    expect(placesIn(data, '8.8.8.8', '133.11.0.1', '2003::1')).toEqual([
      'Graz, AT',
      'JP',
      'Bonn, DE',
    ]);
  });
});

it('bundled countries without cities know no city', () => {
  const { data, close } = openGeo({ ...none, countryFile: 'bundled' });
  expect(placesIn(data, '8.8.8.8', '2003::1')).toEqual(['US', 'DE']);
  close();
});

it('a bundled table that is missing or damaged costs one warning', () => {
  const path = write('damaged.geo', Buffer.alloc(1_000));
  for (const table of [{ path: join(folder, 'missing.geo') }, { path }]) {
    vi.spyOn(shipped, 'geoTable').mockReturnValue(table);
    const { data, warnings, date } = openGeo(bundledFiles, checkTable);
    expect([data, date]).toEqual([{}, undefined]);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^Cannot use the bundled table of places: .*; install Quietzone again$/,
      ),
    ]);
  }
});

describe('the date of geo data', () => {
  it('is that of the oldest file in use', () => {
    const fresh = write('fresh.mmdb', writeMmdb(4, [], 32, 1_800_000_000));
    expect(openGeo({ ...none, cityFileV4: fresh }).date).toBe('2027-01-15');
    expect(openGeo({ ...none, cityFileV4: fresh, cityFileV6: cityFileV4 }).date).toBe('1970-01-01');
    expect(openGeo(none).date).toBeUndefined();
    const { date, close } = openBundledGeo();
    close();
    expect(date).toMatch(/^20\d\d-\d\d-\d\d$/);
  });

  it('is a warning after 180 days, which names the remedy', () => {
    const warningOn = (day: string) => geoWarning('2026-06-05', Date.parse(day));
    expect(warningOn('2026-12-02')).toBeUndefined();
    expect(warningOn('2026-12-03')).toBe(
      'geo data of 2026-06-05 is over 180 days old: update Quietzone, or set geo.countryFile, ' +
        'geo.cityFileV4 and geo.cityFileV6 to newer files',
    );
  });
});
