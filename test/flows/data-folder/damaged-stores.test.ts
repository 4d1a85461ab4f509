/**
 * Stores that are cut off or overwritten, and a full disk, at a start: one line that names the file and
 * what helps, and no death by a signal, which LMDB's map would bring.
 */
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../support/client.ts';
import {
  type CommandResult,
  freePorts,
  runCommand,
  settingsOf,
  spawnCommand,
} from '../../support/process.ts';
import { fillDisk, mountSmallDisk, unmount } from './small-disk.ts';
import { TestService } from '../../support/test-service.ts';

let parent = '';
let dataDir = '';
let environment: Readonly<Record<string, string>> = {};
const stores = ['management.mdb', 'scans.mdb', 'delivery.mdb'] as const;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'quietzone-flow-'));
  dataDir = join(parent, 'data');
  const ports = await freePorts();
  environment = settingsOf({ dataDir, ports });
  const service = await TestService.start({ dataDir, ports });
  const client = new Client(service.apiUrl, service.apiKey);
  const body = { target: 'https://example.com/' };
  expect((await client.call('POST', '/v1/qr-codes', { body })).status).toBe(201);
  const verify = await runCommand(['verify', '--json'], environment);
  expect([verify.code, JSON.parse(verify.stdout)]).toMatchObject([0, { findings: [], notes: [] }]);
  await client.close();
  await service.close();
  for (const store of stores) copyFileSync(join(dataDir, store), join(parent, store));
});
afterAll(() => rm(parent, { recursive: true }));

function expectRefusal({ code, signal, stdout, stderr }: CommandResult, text: string): void {
  expect([code, signal, stdout]).toEqual([1, null, '']);
  // A start may say before that it has closed files to other users.
  expect(stderr).toContain(text);
  expect(stderr).toContain('quietzone restore');
  expect(stderr).not.toMatch(/^ +at /m);
}

async function withDamage(
  store: (typeof stores)[number],
  damage: (path: string) => void,
  work: () => Promise<void>,
): Promise<void> {
  const path = join(dataDir, store);
  damage(path);
  try {
    await work();
  } finally {
    copyFileSync(join(parent, store), path);
  }
}

const overwriteFrom = (share: number) => (path: string) => {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0x5a, Math.floor(bytes.length * share)));
};

/** The only page of the table `installation`: its header stays. */
function overwriteRecords(path: string): void {
  const bytes = readFileSync(path);
  const [pageBytes, headerBytes, kindAt, leaf] = [4_096, 24, 18, 2];
  for (let at = 0; at < bytes.length; at += pageBytes) {
    const page = bytes.subarray(at, at + pageBytes);
    const isIt = page.readUInt16LE(kindAt) === leaf && page.includes('visitor.key');
    if (isIt) page.fill(0x5a, headerBytes);
  }
  writeFileSync(path, bytes);
}

describe('a start, a command and doctor say which file is damaged', () => {
  it('management.mdb cut in the middle', () =>
    withDamage(
      'management.mdb',
      (path) => truncateSync(path, statSync(path).size / 2),
      async () => {
        const text = `data folder ${dataDir} has faults\n  management.mdb is damaged: page `;
        expectRefusal(await spawnCommand(['serve'], environment), `Cannot start: ${text}`);
        expectRefusal(await runCommand(['keys', 'list'], environment), `Cannot open: ${text}`);
        const doctor = await runCommand(['doctor'], environment);
        expect(doctor.code).toBe(1);
        expect(doctor.stdout).toMatch(/^BAD {2}management.mdb is damaged: page \d+ .*$/m);
        const verify = await runCommand(['verify'], environment);
        expect(verify.code).toBe(1);
        expect(verify.stdout).toMatch(/^BAD {2}management.mdb: page \d+ .*; restore a backup/m);
        expect(verify.stdout).toMatch(/^scans.mdb {2}\d+ bytes, \d+ records$/m);
      },
    ));

  it('a command, of a page that it would read', () =>
    withDamage('management.mdb', overwriteRecords, async () => {
      const keys = await runCommand(['keys', 'list'], environment);
      expectRefusal(keys, 'management.mdb is damaged: page ');
    }));

  it.each(stores)('%s overwritten', (store) =>
    withDamage(store, overwriteFrom(store === 'delivery.mdb' ? 0 : 0.4), async () => {
      const start = await runCommand(['serve'], environment);
      expectRefusal(start, `${store} is damaged: page `);
    }),
  );
});

const smallDisk = join(tmpdir(), `quietzone-disk-${process.pid}`);
mkdirSync(smallDisk, { recursive: true });
const isMounted = mountSmallDisk(smallDisk);
afterAll(() => {
  if (isMounted) unmount(smallDisk);
  rmSync(smallDisk, { recursive: true, force: true });
});

it.each(isMounted ? ['tmpfs'] : [])(
  'a full disk (%s) refuses a first start in words, and none with data',
  async () => {
    const full = join(smallDisk, 'data');
    mkdirSync(full);
    const ports = await freePorts();
    const settings = settingsOf({ dataDir: full, ports });
    fillDisk(join(smallDisk, 'filler'));
    const first = await runCommand(['serve'], settings);
    expect([first.code, first.signal, first.stdout]).toEqual([1, null, '']);
    expect(first.stderr).toMatch(
      /^Cannot open data folder .*: its disk has 0 MiB free, or a quota is used up; a first start needs 8 MiB\. .*\n$/m,
    );

    rmSync(join(smallDisk, 'filler'));
    await (await TestService.start({ dataDir: full, ports })).close();
    fillDisk(join(smallDisk, 'filler'));
    await (await TestService.start({ dataDir: full, ports })).close();
    for (const store of stores) rmSync(join(full, `${store}-lock`));
    fillDisk(join(smallDisk, 'filler-2'));
    const copied = await runCommand(['keys', 'list'], settings);
    expect([copied.code, copied.signal]).toEqual([1, null]);
    expect(copied.stderr).toMatch(/: its disk has .* free, .*; the stores need 1 MiB\. /);
  },
);
