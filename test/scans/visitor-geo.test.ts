import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { countryCode } from '../../src/scans/rollup.ts';
import {
  closeGeoFiles,
  type GeoData,
  type GeoFiles,
  openGeo,
  openGeoFiles,
} from '../../src/scans/visitor/geo.ts';
import { nowhere } from '../../src/scans/visitor/place.ts';
import { openVisitor } from '../../src/scans/visitor/visitor.ts';
import { shipped } from '../../src/shipped.ts';
import { parseAddress } from '../support/address.ts';
import { writeMmdb } from './write-mmdb.ts';

const bundled: GeoFiles = { countryFile: 'bundled', cityFileV4: 'bundled', cityFileV6: 'bundled' };
const none: GeoFiles = { countryFile: '', cityFileV4: '', cityFileV6: '' };
const resolve = createRequire(import.meta.url).resolve;
const countryFile = resolve(
  '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb',
);

const folder = mkdtempSync(join(tmpdir(), 'quietzone-geo-'));
afterAll(() => rmSync(folder, { recursive: true }));

const opened: GeoData[] = [];
const open = (files: GeoFiles, kept: 'memory' | 'file' = 'memory'): GeoData => {
  const made = openGeoFiles(files, kept);
  opened.push(made);
  return made;
};
afterAll(() => opened.forEach(closeGeoFiles));
const data = open(bundled);
const geo = openGeo(data);
const place = (address: string, from = geo) => from.lookup(parseAddress(address), 0);

describe('bundled databases', () => {
  it('load without a warning', () => expect(data.warnings).toEqual([]));

  it.each([
    ['8.8.8.8', 'US'],
    ['1.1.1.1', 'AU'],
    ['194.25.0.60', 'DE'],
    ['133.11.0.1', 'JP'],
    ['212.58.244.20', 'GB'],
    ['2600:1700::1', 'US'],
    ['2003::1', 'DE'],
  ])('know %s as %s', (address, country) => {
    expect(place(address).country).toBe(country);
    expect(countryCode(place(address).countryNumber)).toBe(country);
  });

  it.each([
    ['8.8.8.8', /Mountain View/],
    ['133.11.0.1', /Chiyoda/],
    ['2003::1', /Bonn/],
  ])('know the city of %s', (address, city) => expect(place(address).city).toMatch(city));

  it.each([
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.1.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.178.20',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fc00::1',
    'fe80::1',
    'ff02::1',
  ])('know nothing of %s', (address) => expect(place(address)).toBe(nowhere));

  it('answer from any offset, and again the same', () => {
    const bytes = Buffer.concat([Buffer.from('abcde'), parseAddress('8.8.8.8')]);
    expect(geo.lookup(bytes, 5)).toBe(place('8.8.8.8'));
  });

  it('are read by a thread through the descriptors of another', async () => {
    const worker = new Worker(new URL('visitor-geo.worker.ts', import.meta.url), {
      workerData: { data, address: parseAddress('2003::1') },
    });
    const answer = await new Promise<unknown>((done, fail) => {
      worker.once('message', done);
      worker.once('error', fail);
    });
    await worker.terminate();
    expect(answer).toEqual({ country: 'DE' });
  });
});

describe.each(['memory', 'file'] as const)('a database inside another file, from %s', (kept) => {
  it('is read as it is alone, and nothing of what stands around it', () => {
    const alone = writeMmdb(4, [
      ['8.0.0.0/8', { country_code: 'AT', city: 'Wien' }],
      ['9.0.0.0/8', { country_code: 'CH', city: 'B'.repeat(5_000) }],
    ]);
    const path = join(folder, `parts-${kept}`);
    const offset = 4_099;
    // Metadata of another database follows: what is searched from the end must not find it.
    const other = writeMmdb(4, [['8.0.0.0/8', { country_code: 'XX' }]]);
    writeFileSync(path, Buffer.concat([Buffer.alloc(offset, 0x5a), alone, other]));
    const geoFile = vi
      .spyOn(shipped, 'geoFile')
      .mockReturnValue({ path, offset, size: alone.length });
    const part = open({ ...none, cityFileV4: 'bundled' }, kept);
    geoFile.mockRestore();
    expect(part.warnings).toEqual([]);
    const inPart = openGeo(part);
    expect(place('8.8.8.8', inPart).namedCity).toBe('Wien, AT');
    expect(place('9.9.9.9', inPart).city).toHaveLength(128);
    expect(place('11.1.1.1', inPart)).toBe(nowhere);
  });
});

describe('missing and broken databases', () => {
  it('mean ZZ without a warning when none is configured', () => {
    const nothing = open(none);
    expect(nothing.warnings).toEqual([]);
    expect(place('8.8.8.8', openGeo(nothing))).toBe(nowhere);
    expect(nowhere).toMatchObject({ country: 'ZZ', city: '', namedCity: '' });
  });

  it('mean ZZ and one warning each when they cannot be read', () => {
    const missing = join(folder, 'missing.mmdb');
    const broken = open({ countryFile: missing, cityFileV4: folder, cityFileV6: '' });
    expect(broken.warnings).toHaveLength(2);
    expect(broken.warnings[0]).toMatch(/^Cannot use geo\.countryFile .*missing\.mmdb: ENOENT/);
    expect(place('8.8.8.8', openGeo(broken))).toBe(nowhere);
  });

  it('mean a warning when they are something else, empty, or cut', () => {
    const whole = readFileSync(countryFile);
    const metadata = whole.subarray(
      whole.lastIndexOf('\xab\xcd\xefMaxMind.com', undefined, 'latin1'),
    );
    const files = {
      text: Buffer.from('no database'),
      empty: Buffer.alloc(0),
      cut: whole.subarray(0, 100_000),
      treeless: Buffer.concat([whole.subarray(0, 100_000), metadata]),
    };
    for (const [name, bytes] of Object.entries(files)) {
      const path = join(folder, name);
      writeFileSync(path, bytes);
      expect(open({ ...none, countryFile: path }).warnings, name).toHaveLength(1);
    }
  });

  it('with damaged nodes and records never throw', () => {
    const bytes = Buffer.from(readFileSync(countryFile));
    for (let at = 0; at < bytes.length - 1_000; at += 97) bytes[at] = (bytes[at]! ^ at) & 0xff;
    const path = join(folder, 'damaged.mmdb');
    writeFileSync(path, bytes);
    const damaged = openGeo(open({ ...none, countryFile: path }));
    for (let index = 0; index < 5_000; index++) {
      const address = parseAddress('0.0.0.0');
      address.writeUInt32BE(Math.imul(index, 0x9e3779b1) >>> 0, 12);
      expect(damaged.lookup(address, 0).country).toMatch(/^[A-Z]{2}$/);
    }
  });

  it('that are written over in place are never mixed with what they were', () => {
    const path = join(folder, 'replaced.mmdb');
    const networks = (code: string): Buffer =>
      // A page and more for each record.
      writeMmdb(
        4,
        ['8', '9', '11', '12', '13', '14'].map((first) => [
          `${first}.0.0.0/8`,
          { country_code: code, city: `${first} ${code.repeat(2_000)}` },
        ]),
      );
    writeFileSync(path, networks('AT'));
    const replaced = openGeo(open({ ...none, countryFile: path }, 'file'));
    const countries = () =>
      ['8.8.8.8', '9.9.9.9', '11.1.1.1'].map((address) => place(address, replaced).country);
    // What was asked for before keeps its place, as it does beside a file that is replaced.
    expect(place('8.8.8.8', replaced).country).toBe('AT');
    writeFileSync(path, networks('CH'));
    expect(countries()).toEqual(['AT', 'ZZ', 'CH']);
    writeFileSync(path, networks('CH').subarray(0, 100));
    expect(place('13.0.0.1', replaced)).toBe(nowhere);
    writeFileSync(path, networks('FR'));
    expect(place('13.0.0.2', replaced)).toBe(nowhere);
    expect(place('13.0.0.3', replaced).country).toBe('FR');
  });

  it('leave the country to the city file when there is no country file', () => {
    const cities = openGeo({ ...data, country: undefined });
    expect(place('8.8.8.8', cities)).toMatchObject({ country: 'US', city: 'Mountain View' });
    const countries = openGeo({ ...data, cityV4: undefined, cityV6: undefined });
    expect(place('8.8.8.8', countries)).toMatchObject({ country: 'US', city: '' });
  });

  it('may be one file for both families', () => {
    const both = openGeo({
      country: undefined,
      cityV4: data.country,
      cityV6: undefined,
      warnings: [],
    });
    expect(place('2003::1', both).country).toBe('DE');
    expect(place('194.25.0.60', both).country).toBe('DE');
  });
});

describe('Visitor', () => {
  const key = Buffer.alloc(16, 7);
  const iphone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';

  it('puts class, place and hash of a scan together', () => {
    const visitor = openVisitor({ key, geo: data });
    visitor.read(parseAddress('8.8.8.8'), iphone);
    const { device, platform, os, browser, bot, city, high, low } = visitor;
    expect({ device, platform, os, browser, bot, city }).toEqual({
      device: 1,
      platform: 1,
      os: 1,
      browser: 2,
      bot: 0,
      city: 'Mountain View, US',
    });
    expect(countryCode(visitor.country)).toBe('US');
    visitor.read(parseAddress('8.8.4.4'), iphone);
    expect([visitor.high, visitor.low]).not.toEqual([high, low]);
    visitor.read(parseAddress('8.8.8.8'), `${iphone} `);
    expect([visitor.high, visitor.low]).not.toEqual([high, low]);
    visitor.read(parseAddress('8.8.8.8'), iphone);
    expect([visitor.high, visitor.low]).toEqual([high, low]);
  });

  it('is another one under another key', () => {
    const hashes = [key, Buffer.alloc(16, 8)].map((each) => {
      const visitor = openVisitor({ key: each, geo: { ...data, cityV4: undefined } });
      visitor.read(parseAddress('8.8.8.8'), iphone);
      return `${visitor.high} ${visitor.low}`;
    });
    expect(hashes[0]).not.toBe(hashes[1]);
  });
});
