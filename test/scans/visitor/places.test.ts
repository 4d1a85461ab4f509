/** City and country of a place are of one record: two files that disagree must not make a place that is in neither. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Geo } from '../../../src/scans/visitor/geo/geo.ts';
import { parseAddress } from '../../support/address.ts';
import { ownGeo } from './geo-data.ts';
import { type MmdbRecord, writeMmdb } from './write-mmdb.ts';

const folder = mkdtempSync(join(tmpdir(), 'quietzone-places-'));
afterAll(() => rmSync(folder, { recursive: true }));

const at = (geo: Geo, address: string) => geo.lookup(parseAddress(address), 0);

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
    ['Zurich (Zurich (Kreis 11) / Oerlikon)', 'Zurich'],
    ['Yongsan-dong (Hangangno 3(sam)-ga)', 'Yongsan-dong'],
    ['Mumbai (Kurla (w)', 'Mumbai'],
    ['Cologne (Ehrenfeld, Cologne)', 'Cologne'],
    ['Frankfurt (Oder)', 'Frankfurt (Oder)'],
    ['Kempten (Allgau) (Ursulasried)', 'Kempten (Allgau)'],
    ['Freiburg (Elbe) Flecken', 'Freiburg (Elbe) Flecken'],
    ['(Floridsdorf)', '(Floridsdorf)'],
    ['', ''],
    [`${'long '.repeat(40)}(district)`, 'long '.repeat(40).slice(0, 128)],
  ])('%s is counted as %s', (name, city) => {
    const path = write('names.mmdb', writeMmdb(4, [['8.0.0.0/8', geoLite('AT', name)]]));
    const named = new Geo(ownGeo({ cityFileV4: path }));
    expect(at(named, '8.8.8.8').city).toBe(city);
  });
});
