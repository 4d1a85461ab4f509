/**
 * City and country of a place are of one record, as the library reads it. Two databases that disagree on the country of
 * an address must not make a place of it that is in neither.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Reader } from 'mmdb-lib';
import { afterAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../../bench/random.ts';
import { originalGeoFiles } from '../../../config/release/geo-files.ts';
import { Geo } from '../../../src/scans/visitor/geo/geo.ts';
import { parseAddress } from '../../support/address.ts';
import { openBundledGeo, ownGeo } from './geo-data.ts';
import { type MmdbRecord, writeMmdb } from './write-mmdb.ts';

const folder = mkdtempSync(join(tmpdir(), 'quietzone-places-'));
afterAll(() => rmSync(folder, { recursive: true }));

const text = (record: object | null, name: string): string => {
  const value: unknown = record === null ? undefined : Reflect.get(record, name);
  return typeof value === 'string' ? value : '';
};
const at = (geo: Geo, address: string) => geo.lookup(parseAddress(address), 0);

describe('bundled databases, 16,000 addresses', () => {
  const { data, close } = openBundledGeo();
  afterAll(close);
  const geo = new Geo(data);
  const originals = originalGeoFiles();
  const reader = (name: keyof typeof originals) =>
    new Reader<object>(readFileSync(originals[name]));
  const countries = reader('countryFile');
  const next = createRandom(11);
  const octets = (number: number): string =>
    [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff).join('.');
  /** Where the registries give IPv6 addresses from. */
  const prefixes = ['2001', '2400', '2404', '2600', '2604', '2800', '2804', '2a00', '2a02', '2c0f'];
  const groups = (number: number): string => {
    const [low, high] = [(number & 0xffff).toString(16), (number >>> 16).toString(16)];
    return `${prefixes[next() % prefixes.length]}:${low}:${high}::1`;
  };

  it.each([
    ['IPv4', reader('cityFileV4'), octets],
    ['IPv6', reader('cityFileV6'), groups],
  ])('%s: each place is of one record, and no city beside another country', (_, cities, format) => {
    let [named, disagreements] = [0, 0];
    const wrong: unknown[] = [];
    for (let drawn = 0; drawn < 8_000; drawn++) {
      const address = format(next());
      const { country, city, namedCity } = at(geo, address);
      if (country === 'ZZ' && city === '') continue;
      const record = cities.get(address);
      const other = text(countries.get(address), 'country_code');
      const isOfCities = country === text(record, 'country_code');
      const whole = text(record, 'city');
      const isCity = whole === city || (whole.startsWith(`${city} (`) && city !== '');
      const isRight = isOfCities ? isCity : text(record, 'country_code') === '' && city === '';
      if (!isRight || (!isOfCities && country !== other))
        wrong.push({ address, namedCity, record });
      if (isOfCities && other !== '' && other !== country) disagreements++;
      if (city !== '') named++;
    }
    expect(wrong).toEqual([]);
    // There is something to disagree about.
    expect(named).toBeGreaterThan(1_600);
    expect(disagreements).toBeGreaterThan(32);
  });
});

describe("an operator's files", () => {
  const write = (name: string, bytes: Buffer): string => {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    return path;
  };
  const geoLite = (code: string, city?: string): MmdbRecord => ({
    ...(code === '' ? {} : { country: { iso_code: code } }),
    ...(city === undefined ? {} : { city: { names: { en: city } } }),
  });
  const cityFileV4 = write(
    'cities-4.mmdb',
    writeMmdb(4, [
      ['81.2.69.0/24', geoLite('GB', 'London')],
      ['81.2.70.0/24', geoLite('', 'London')],
      ['81.2.71.0/24', geoLite('GB')],
    ]),
  );
  const cityFileV6 = write('cities-6.mmdb', writeMmdb(6, [['2a02::/16', geoLite('GB', 'London')]]));
  const countryFile = write(
    'countries.mmdb',
    writeMmdb(4, [
      ['81.2.64.0/20', { country_code: 'US' }],
      ['9.0.0.0/8', { country_code: 'US' }],
    ]),
  );
  const geo = new Geo(ownGeo({ countryFile, cityFileV4, cityFileV6 }));

  it.each([
    ['81.2.69.142', 'London, GB', 'the record of cities, whatever the countries say'],
    ['81.2.70.1', ' US', 'a city without its country is not taken'],
    ['81.2.71.1', ' GB', 'a country of the cities, without a city'],
    ['81.2.72.1', ' US', 'no record of cities: the country alone'],
    ['9.9.9.9', ' US', 'the same'],
    ['2a02::1', 'London, GB', 'IPv6'],
    ['2a03::1', ' ZZ', 'no record at all'],
  ])('%s is in %s: %s', (address, named) => {
    const { city, country, namedCity } = at(geo, address);
    expect(city === '' ? ` ${country}` : namedCity).toBe(named);
  });

  it('without one of cities know countries, without one of countries both', () => {
    const only = new Geo(ownGeo({ countryFile }));
    expect(at(only, '81.2.69.142')).toMatchObject({ country: 'US', city: '', namedCity: '' });
    const cities = new Geo(ownGeo({ cityFileV4 }));
    expect(at(cities, '81.2.69.142').namedCity).toBe('London, GB');
    expect(at(cities, '81.2.70.1').country).toBe('ZZ');
  });

  it('of IPv4 alone know no IPv6 address, not even one that begins as a known IPv4 address does', () => {
    const only = new Geo(ownGeo({ countryFile: cityFileV6 }));
    expect(at(only, '2a02::1').country).toBe('GB');
    const write4 = write('first-bits.mmdb', writeMmdb(4, [['42.2.0.0/16', geoLite('US')]]));
    const four = new Geo(ownGeo({ countryFile: write4 }));
    expect(at(four, '42.2.0.1').country).toBe('US');
    expect(at(four, '2a02::1').country).toBe('ZZ');
  });

  it.each([
    ['Vienna (Floridsdorf)', 'Vienna'],
    ['Vienna(Floridsdorf)', 'Vienna'],
    ['London (City of London)', 'London'],
    ['Zurich (Zurich (Kreis 11) / Oerlikon)', 'Zurich'],
    ['Yongsan-dong (Hangangno 3(sam)-ga)', 'Yongsan-dong'],
    ['Mumbai (Kurla (w)', 'Mumbai'],
    ['Cologne (Ehrenfeld, Cologne)', 'Cologne'],
    ['Washington D.C. (Navy Yard)', 'Washington D.C.'],
    ['Washington D.C.', 'Washington D.C.'],
    ['St. John’s', 'St. John’s'],
    ['Winston-Salem', 'Winston-Salem'],
    ['Frankfurt (Oder)', 'Frankfurt (Oder)'],
    ['Kempten (Allgau) (Ursulasried)', 'Kempten (Allgau)'],
    ['Kempten (Allgäu)', 'Kempten (Allgäu)'],
    ['Freiburg (Elbe) Flecken', 'Freiburg (Elbe) Flecken'],
    ['(Floridsdorf)', '(Floridsdorf)'],
    ['Mexico City', 'Mexico City'],
    ['', ''],
    [`${'long '.repeat(40)}(district)`, 'long '.repeat(40).slice(0, 128)],
  ])('%s is counted as %s', (name, city) => {
    const path = write('names.mmdb', writeMmdb(4, [['8.0.0.0/8', geoLite('AT', name)]]));
    const named = new Geo(ownGeo({ cityFileV4: path }));
    expect(at(named, '8.8.8.8').city).toBe(city);
  });
});
