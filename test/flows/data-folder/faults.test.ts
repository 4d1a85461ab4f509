/**
 * Parts of two installations, mixed, a store that is cut off, and a full disk, at a start: one line that names the file
 * and a remedy, which works; nothing is changed, and no signal ends the process, as LMDB's map would. What is found of each
 * part: test/store/data-file, test/app/folder.
 */
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { contentsOf } from '../../app/folder/whole-folder.ts';
import { sharedFolder } from '../../store/temporary-management.ts';
import {
  type CommandResult,
  freePorts,
  runCommand,
  settingsOf,
  spawnCommand,
} from '../../support/process.ts';
import type { Ports } from '../../support/running-service.ts';
import { soon } from '../../support/soon.ts';
import { TestService } from '../../support/test-service.ts';
import { fillDisk, mountSmallDisk, unmount } from './small-disk.ts';

const parent = sharedFolder();
let ports: Ports;
let one: TestService;
let other: TestService;

beforeAll(async () => {
  ports = await freePorts();
  one = await makeInstallation('one', 1);
  other = await makeInstallation('other', 2);
});

/** A service that has ended, with so many codes, of which each has been scanned three times. */
async function makeInstallation(name: string, codes: number): Promise<TestService> {
  const service = await TestService.start({ dataDir: join(parent, name), ports });
  for (let no = 1; no <= codes; no++) {
    await service.makeCode({ slug: `${name}-${no}` });
    await service.scan(`${name}-${no}`, 3);
  }
  await service.close();
  return service;
}

it('scans.mdb of another installation is refused, and begun anew where that is asked for', async () => {
  const dataDir = join(parent, 'swapped');
  cpSync(one.dataDir, dataDir, { recursive: true });
  cpSync(join(other.dataDir, 'scans.mdb'), join(dataDir, 'scans.mdb'));
  const settings = settingsOf({ dataDir, ports });
  const before = contentsOf(dataDir);
  const fault = 'scans.mdb is of another installation';
  for (const [command, said] of [
    [
      ['serve'],
      /^Cannot start: data folder .* has faults\n {2}scans.mdb is of another installation\nNothing was changed\. .*`quietzone serve --begin-anew scans` gives up .*\n$/,
    ],
    [['keys', 'list'], fault],
    [['backup', join(parent, 'never')], fault],
  ] as const) {
    const { code, stdout, stderr } = await runCommand(command, settings);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(said);
  }
  const doctor = await runCommand(['doctor'], settings);
  expect(doctor.stdout).toMatch(
    /^BAD {2}scans.mdb is of another installation: .*`quietzone serve --begin-anew scans`/m,
  );
  expect(contentsOf(dataDir)).toEqual(before);

  const { apiKey } = one;
  const service = await TestService.start({ dataDir, ports, apiKey, start: 'scans-anew' });
  const code = (await service.api.get('/v1/qr-codes')).items[0]!;
  expect(await service.scansOf(code)).toBe(0);
  await service.scan('one-1', 2);
  await expect.poll(() => service.scansOf(code), soon).toBe(2);
  await service.close();
  expect(await runCommand(['backup', join(parent, 'after')], settings)).toMatchObject({ code: 0 });
  expect(readdirSync(dataDir)).toContain('scans.mdb.set-aside-1');
  expect(readdirSync(join(parent, 'after')).join()).not.toContain('set-aside');
});

it('a start with --existing makes no data', async () => {
  const dataDir = join(parent, 'not-mounted');
  const settings = settingsOf({ dataDir, ports });
  const start = () => runCommand(['serve', '--existing'], settings);
  expect(await start()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /does not exist, and --existing forbids a first start; is its disk mounted\?\n$/,
    ),
  });
  expect(readdirSync(parent)).not.toContain('not-mounted');
  cpSync(join(one.dataDir, 'cache'), join(dataDir, 'cache'), { recursive: true });
  const stderr = expect.stringMatching(/has no data, and --existing/);
  expect(await start()).toMatchObject({ code: 1, stderr });
  expect(readdirSync(dataDir)).toEqual(['cache']);
  rmSync(dataDir, { recursive: true });
});

function expectRefusal({ code, signal, stdout, stderr }: CommandResult, text: string): void {
  expect([code, signal, stdout]).toEqual([1, null, '']);
  // A start may say before that it has closed files to other users.
  expect(stderr).toContain(text);
  expect(stderr).toContain('quietzone restore');
  expect(stderr).not.toMatch(/^ +at /m);
}

it('a start, a command, doctor and verify say that management.mdb is cut in the middle', async () => {
  const dataDir = join(parent, 'cut');
  cpSync(one.dataDir, dataDir, { recursive: true });
  const environment = settingsOf({ dataDir, ports });
  const service = await TestService.start({ dataDir, ports });
  const sound = await runCommand(['verify', '--json'], environment);
  expect([sound.code, JSON.parse(sound.stdout)]).toMatchObject([0, { findings: [], notes: [] }]);
  await service.close();
  const path = join(dataDir, 'management.mdb');
  truncateSync(path, statSync(path).size / 2);
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
});

it('a full disk refuses a first start in words, and none with data', async ({ skip }) => {
  const disk = join(parent, 'disk');
  mkdirSync(disk);
  skip(!mountSmallDisk(disk), 'this user may not mount a disk');
  onTestFinished(() => unmount(disk));
  const full = join(disk, 'data');
  mkdirSync(full);
  const settings = settingsOf({ dataDir: full, ports });
  const fill = (): void => fillDisk(join(disk, 'filler'));
  const start = async () => (await TestService.start({ dataDir: full, ports })).close();
  fill();
  const first = await runCommand(['serve'], settings);
  expect([first.code, first.signal, first.stdout]).toEqual([1, null, '']);
  expect(first.stderr).toMatch(
    /^Cannot open data folder .*: its disk has 0 MiB free, or a quota is used up; a first start needs 8 MiB\. .*\n$/m,
  );

  rmSync(join(disk, 'filler'));
  await start();
  fill();
  await start();
  for (const store of ['management', 'scans', 'delivery']) rmSync(join(full, `${store}.mdb-lock`));
  fillDisk(join(disk, 'filler-2'));
  const copied = await runCommand(['keys', 'list'], settings);
  expect([copied.code, copied.signal]).toEqual([1, null]);
  expect(copied.stderr).toMatch(/: its disk has .* free, .*; the stores need 1 MiB\. /);
});
