import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findNatsServer, findNatsServers, type Places } from '../../../config/demo/nats-server.ts';

let root: string;
let places: Places;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'qz-nats-server-'));
  places = { named: undefined, folders: [join(root, 'bin')], fetched: join(root, 'fetched') };
});
afterEach(() => rmSync(root, { recursive: true }));

/** What prints this as its version. */
function addServer(folder: string, output: string): string {
  mkdirSync(join(root, folder), { recursive: true });
  const path = join(root, folder, 'nats-server');
  writeFileSync(path, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });
  return path;
}

it('takes the server in PATH before those that were fetched, of these the newest', async () => {
  addServer('fetched/a', 'nats-server: v2.10.27');
  const newest = addServer('fetched/b', 'nats-server: v2.15.1');
  expect(await findNatsServer(places)).toEqual({ path: newest, version: '2.15.1' });
  const path = addServer('bin', 'nats-server: v2.11.0-RC.1');
  expect(await findNatsServer(places)).toEqual({ path, version: '2.11.0' });
  const versions = (await findNatsServers(places)).map(({ version }) => version);
  expect(versions).toEqual(['2.10.27', '2.11.0', '2.15.1']);
});

it('passes over a server that is too old, and says so where there is no other', async () => {
  const old = addServer('bin', 'nats-server: v2.9.10');
  expect(await findNatsServer(places)).toEqual({
    missing: `${old} is 2.9.10, and cluster mode needs 2.10.27 or newer, and none was fetched (npm run fetch:nats)`,
  });
  expect(await findNatsServers(places)).toEqual([]);
  const path = addServer('fetched/a', 'nats-server: v2.10.27');
  addServer('fetched/b', 'nats-server: v2.10.3');
  expect(await findNatsServer(places)).toEqual({ path, version: '2.10.27' });
});

it('uses no other than the server that is named', async () => {
  addServer('bin', 'nats-server: v2.15.1');
  const named = addServer('named', 'nothing');
  expect(await findNatsServer({ ...places, named })).toEqual({
    missing: `${named} does not print its version`,
  });
  const absent = join(root, 'absent');
  expect(await findNatsServer({ ...places, named: absent })).toEqual({
    missing: `${absent} cannot be run (ENOENT)`,
  });
  const other = addServer('other', 'nats-server: v2.10.27');
  expect(await findNatsServers({ ...places, named: other })).toHaveLength(1);
});

it('says that nothing was found', async () => {
  expect(await findNatsServer(places)).toEqual({
    missing: 'no nats-server is in PATH, and none was fetched (npm run fetch:nats)',
  });
});
