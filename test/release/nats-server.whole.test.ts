import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findNatsServer } from '../../config/demo/nats-server.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'qz-nats-server-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** What prints this as its version. */
function addServer(folder: string, output: string): string {
  mkdirSync(join(root, folder), { recursive: true });
  const path = join(root, folder, 'nats-server');
  writeFileSync(path, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });
  return path;
}

it('uses the server that is named, else the first in PATH that is new enough, else the fetched one', async () => {
  const find = (named?: string) =>
    findNatsServer(
      { PATH: join(root, 'bin'), QUIETZONE_NATS_SERVER: named },
      join(root, 'fetched/nats-server'),
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
  const absent = join(root, 'absent');
  expect(await find(absent)).toEqual({ missing: `${absent} cannot be run (ENOENT)` });
});
