/**
 * Geo data of a service: the bundled table, or one that is made of an operator's files and kept by their hash. What cannot
 * be used costs its places and a warning, never the start.
 */
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeGeoFiles } from '../../config/release/geo-files.ts';
import { checkGeo, GeoOpening } from '../../src/engine/geo-data.ts';
import type { Clock } from '../../src/model/clock.ts';
import { Geo } from '../../src/scans/visitor/geo/geo.ts';
import { Mmdb } from '../../src/scans/visitor/geo/mmdb.ts';
import { type GeoFiles, keepTable } from '../../src/scans/visitor/geo/table-file.ts';
import { makeTable } from '../../src/scans/visitor/geo/table-maker.ts';
import { FileOutput } from '../../src/scans/visitor/geo/table-output.ts';
import { closeTable, openTable } from '../../src/scans/visitor/geo/table-units.ts';
import { shipped } from '../../src/shipped.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { writeMmdb } from '../scans/visitor/write-mmdb.ts';
import { parseAddress } from '../support/address.ts';

const none: GeoFiles = { countryFile: '', cityFileV4: '', cityFileV6: '' };
const bundled: GeoFiles = { countryFile: 'bundled', cityFileV4: 'bundled', cityFileV6: 'bundled' };

let nowMs = 0;
const clock: Clock = { now: () => nowMs, monotonicMs: () => performance.now() };
let warnings: string[] = [];
const log = createLog('warn', { write: (line) => void warnings.push(JSON.parse(line).msg) });
const options = { clock, log };

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-geo-data-'));
  // What a test writes is old enough to be remembered.
  nowMs = Date.now() + 60_000;
  warnings = [];
});
afterEach(() => {
  vi.restoreAllMocks();
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true });
});

const inFolder = (name: string): string => join(folder, name);
function write(name: string, bytes: Uint8Array): string {
  writeFileSync(inFolder(name), bytes);
  return inFolder(name);
}
const cities = (city: string): Buffer =>
  writeMmdb(4, [['8.0.0.0/8', { country_code: 'AT', city }]]);
const countries = (): string =>
  write('countries.mmdb', writeMmdb(4, [['9.0.0.0/8', { country_code: 'US' }]]));
const openFile = (path: string): Mmdb => Mmdb.open({ path });
const kept = (): string[] =>
  readdirSync(inFolder('cache/geo')).filter((name) => name.endsWith('.geo'));

interface Opened {
  readonly places: string[];
  readonly warnings: readonly string[];
  readonly isInFile: boolean;
  /** At once: no file was read. */
  readonly isReady: boolean;
}

async function open(files: Partial<GeoFiles>, cache = inFolder('cache')): Promise<Opened> {
  warnings = [];
  const opening = new GeoOpening({ ...none, ...files }, cache, options);
  const { isReady } = opening;
  try {
    const table = await opening.table;
    const geo = new Geo(table);
    const places = ['8.8.8.8', '9.9.9.9'].map((address) => {
      const { country, namedCity } = geo.lookup(parseAddress(address), 0);
      return namedCity === '' ? country : namedCity;
    });
    return { places, warnings, isInFile: table?.descriptor !== undefined, isReady };
  } finally {
    await opening.close();
  }
}

describe("an operator's files", () => {
  it('become a table once, and another when their bytes change, whatever their size and time', async () => {
    const cityFileV4 = write('cities.mmdb', cities('Graz'));
    utimesSync(cityFileV4, 1, 1);
    const files = { cityFileV4, countryFile: countries() };
    const opened = { places: ['Graz, AT', 'US'], warnings: [], isInFile: true };
    expect(await open(files)).toEqual({ ...opened, isReady: false });
    const [first = '', ...others] = kept();
    const made = statSync(inFolder(`cache/geo/${first}`));
    expect([others, made.mode & 0o777]).toEqual([[], 0o600]);
    expect(await open(files)).toEqual({ ...opened, isReady: true });
    expect(statSync(inFolder(`cache/geo/${first}`)).mtimeMs).toBe(made.mtimeMs);
    writeFileSync(cityFileV4, cities('Linz'));
    utimesSync(cityFileV4, 1, 1);
    const changed = { ...opened, places: ['Linz, AT', 'US'], isReady: false };
    expect(await open(files)).toEqual(changed);
    // The old one has no use any more.
    expect(kept()).toHaveLength(1);
    expect(kept()).not.toEqual([first]);
  });

  it('are read again when anything of them or of their table is new', async () => {
    const cityFileV4 = write('cities.mmdb', cities('Graz'));
    const isKnown = async (): Promise<boolean> => {
      const { places, isReady } = await open({ cityFileV4 });
      expect(places).toEqual(['Graz, AT', 'ZZ']);
      return isReady;
    };
    expect([await isKnown(), await isKnown()]).toEqual([false, true]);
    const changes: Array<() => void> = [
      () => utimesSync(cityFileV4, 1, 1),
      () => renameSync(write('other.mmdb', cities('Graz')), cityFileV4),
      () => utimesSync(inFolder(`cache/geo/${kept()[0]!}`), 1, 1),
      () => writeFileSync(inFolder('cache/geo/known'), 'no table'),
      () => vi.spyOn(shipped, 'version', 'get').mockReturnValue('another release'),
    ];
    for (const change of changes) {
      change();
      expect([await isKnown(), await isKnown()], String(change)).toEqual([false, true]);
    }
    // Nor are others taken for them.
    const { places } = await open({ cityFileV4, countryFile: countries() });
    expect(places).toEqual(['Graz, AT', 'US']);
  });

  it('that changed just before they were read are read by the next start as well', async () => {
    const cityFileV4 = write('cities.mmdb', cities('Graz'));
    const changedMs = statSync(cityFileV4).ctimeMs;
    const isReady = async (): Promise<boolean> => (await open({ cityFileV4 })).isReady;
    nowMs = changedMs + 2_900;
    expect([await isReady(), await isReady()]).toEqual([false, false]);
    nowMs = changedMs + 3_100;
    expect([await isReady(), await isReady()]).toEqual([false, true]);
  });

  it('that change while their table is made are never taken for what they were', () => {
    const cityFileV4 = inFolder('cities.mmdb');
    const found = { cityFileV4: { path: cityFileV4, named: cityFileV4 } };
    const madeCity = (): string => {
      const { table, warnings: faults } = keepTable(found, inFolder('cache'));
      expect(faults).toEqual([]);
      if (typeof table !== 'string') throw new Error('The table is in no file');
      const data = openTable({ path: table });
      const { namedCity } = new Geo(data).lookup(parseAddress('8.8.8.8'), 0);
      closeTable(data);
      return namedCity;
    };
    const openOriginal = Mmdb.open.bind(Mmdb);
    const byName = (): void => renameSync(write('new.mmdb', cities('Linz')), cityFileV4);
    const inItsPlace = (): void => writeFileSync(cityFileV4, cities('Linz'));
    const changes: Array<(source: Mmdb) => unknown> = [
      byName,
      (source) => {
        const networks = source.networks.bind(source);
        vi.spyOn(source, 'networks').mockImplementationOnce((...given) => {
          inItsPlace();
          return networks(...given);
        });
      },
    ];
    for (const change of changes) {
      rmSync(inFolder('cache'), { recursive: true, force: true });
      write('cities.mmdb', cities('Graz'));
      vi.spyOn(Mmdb, 'open').mockImplementationOnce((part) => {
        const source = openOriginal(part);
        change(source);
        return source;
      });
      expect(madeCity()).toBe('Linz, AT');
      write('cities.mmdb', cities('Graz'));
      expect(madeCity()).toBe('Graz, AT');
    }
  });

  it('have their table made again when it is damaged or cut', async () => {
    const cityFileV4 = write('cities.mmdb', cities('Graz'));
    await open({ cityFileV4 });
    const path = inFolder(`cache/geo/${kept()[0]!}`);
    const whole = readFileSync(path);
    for (const damage of ['changed', 'cut']) {
      if (damage === 'cut') truncateSync(path, whole.length - 1);
      else writeFileSync(path, whole.with(80, whole[80]! ^ 1));
      const { places, warnings, isInFile } = await open({ cityFileV4 });
      expect([places[0], warnings, isInFile], damage).toEqual(['Graz, AT', [], true]);
      expect(readFileSync(path).equals(whole), damage).toBe(true);
    }
  });

  it('are used from memory, with a warning, where no table can be kept', async () => {
    const cityFileV4 = write('cities.mmdb', cities('Graz'));
    const file = write('a file', Buffer.of(0));
    const { places, warnings, isInFile } = await open({ cityFileV4 }, file);
    expect([places, isInFile]).toEqual([['Graz, AT', 'ZZ'], false]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(
      /^Cannot keep the table of places: ENOTDIR.*; each start makes it$/,
    );
  });

  it('that cannot be used cost a warning each, and no other places', async () => {
    const whole = readFileSync(countries());
    const deep = writeMmdb(4, [['9.9.9.9/32', { country_code: 'US' }]]);
    const broken = {
      missing: inFolder('missing.mmdb'),
      folder,
      text: write('text', Buffer.from('no database')),
      empty: write('empty', Buffer.alloc(0)),
      cut: write('cut', whole.subarray(0, whole.length - 100)),
      treeless: write('treeless', deep.subarray(deep.indexOf('MaxMind.com') - 3)),
    };
    const cityFileV4 = write('cities.mmdb', cities('Graz'));
    for (const [name, path] of Object.entries(broken)) {
      const files = { cityFileV4, countryFile: path };
      const { places, warnings, isInFile } = await open(files);
      expect([places, isInFile], name).toEqual([['Graz, AT', 'ZZ'], true]);
      expect(warnings, name).toHaveLength(1);
      expect(warnings[0], name).toMatch(
        /^Cannot use geo\.countryFile .*: .+; places it would name are unknown$/,
      );
      expect(checkGeo({ ...none, ...files }), name).toEqual(warnings);
    }
    // Each start names them, though their table is there.
    const files = { cityFileV4, countryFile: broken.text };
    expect(await open(files)).toEqual(await open(files));
    const unusable = await open({ countryFile: broken.text, cityFileV6: broken.missing });
    expect(unusable).toMatchObject({ places: ['ZZ', 'ZZ'], isInFile: false });
    expect(unusable.warnings).toHaveLength(2);
  });

  it('whose tree is damaged end in places or in nothing', async () => {
    const bytes = Buffer.from(cities('Graz'));
    for (let at = 0; at < bytes.length - 150; at += 7) bytes[at] = (bytes[at]! ^ at) & 0xff;
    const { places } = await open({ cityFileV4: write('damaged.mmdb', bytes) });
    for (const place of places) expect(place).toMatch(/^(.+, )?[A-Z]{2}$/);
  });

  it('stand beside bundled ones', async () => {
    const cityFileV4 = write('cities.mmdb', cities('Graz'));
    const { places, warnings } = await open({ cityFileV4, countryFile: 'bundled' });
    expect([places, warnings]).toEqual([['Graz, AT', 'US'], []]);
  });

  it('stand beside the tables that the one file brings instead of mmdb files', async () => {
    const sources = { countryFile: openFile(countries()) };
    const places = { ...sources, cityFileV4: openFile(write('bundled.mmdb', cities('Vienna'))) };
    vi.spyOn(shipped, 'geoFile').mockImplementation((name) => {
      const isCountries = name === 'countryFile';
      const output = new FileOutput(inFolder(`${name}.geo`), 0o600);
      makeTable(isCountries ? sources : places, output);
      return { path: output.end() };
    });
    const cityFileV4 = write('cities.mmdb', cities('Graz'));
    const ownCities = await open({ cityFileV4, countryFile: 'bundled' });
    expect(ownCities).toMatchObject({ places: ['Graz, AT', 'US'], warnings: [] });
    // Without what the table of places knows of countries alone.
    const noCountries = await open({ cityFileV4: 'bundled' });
    expect(noCountries).toMatchObject({ places: ['Vienna, AT', 'ZZ'], warnings: [] });
    const countryFile = write('own.mmdb', writeMmdb(4, [['9.0.0.0/8', { country_code: 'FR' }]]));
    const ownCountries = await open({ cityFileV4: 'bundled', countryFile });
    expect(ownCountries).toMatchObject({ places: ['Vienna, AT', 'FR'], warnings: [] });
  });
});

describe('the bundled table', () => {
  it('is there at once, and nothing is made without files', async () => {
    makeGeoFiles(() => undefined);
    for (const files of [bundled, none]) {
      const opening = new GeoOpening(files, inFolder('cache'), options);
      expect(opening.isReady).toBe(true);
      await opening.close();
      expect(warnings).toEqual([]);
      expect(checkGeo(files)).toEqual([]);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that was not made, or is damaged, is made of the packages', async () => {
    const cityFileV4 = write('cities.mmdb', cities('Graz'));
    vi.spyOn(shipped, 'geoFile').mockReturnValue({ path: cityFileV4 });
    const damaged = write('damaged.geo', Buffer.alloc(1_000));
    const parts = [undefined, { path: damaged }];
    vi.spyOn(shipped, 'geoCache', 'get').mockReturnValue(undefined);
    for (const part of parts) {
      vi.spyOn(shipped, 'geoTable').mockReturnValue(part);
      expect((await open(bundled)).places).toEqual(['Graz, AT', 'ZZ']);
    }
    expect(checkGeo(bundled)).toEqual([
      'Cannot use the bundled table of places: it is no table of places; install Quietzone again',
    ]);
  });
});

it('a stop does not wait for a table', async () => {
  const opening = new GeoOpening({ ...none, countryFile: countries() }, inFolder('cache'), options);
  expect(opening.isReady).toBe(false);
  await opening.close();
  const table = await opening.table;
  expect(warnings).toEqual([]);
  if (table !== undefined) expect(() => closeTable(table)).toThrow('EBADF');
});
