/**
 * A store that is cut off, and a full disk, at a start: one line that names the file and what helps, and no death by a
 * signal, which LMDB's map would bring. What is found of each store: test/store/data-file, test/engine/installation.
 */
import { mkdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import {
  type CommandResult,
  freePorts,
  runCommand,
  settingsOf,
  spawnCommand,
  withDataFolder,
} from '../../support/process.ts';
import { fillDisk, mountSmallDisk, unmount } from './small-disk.ts';
import { TestService } from '../../support/test-service.ts';

function expectRefusal({ code, signal, stdout, stderr }: CommandResult, text: string): void {
  expect([code, signal, stdout]).toEqual([1, null, '']);
  // A start may say before that it has closed files to other users.
  expect(stderr).toContain(text);
  expect(stderr).toContain('quietzone restore');
  expect(stderr).not.toMatch(/^ +at /m);
}

it('a start, a command, doctor and verify say that management.mdb is cut in the middle', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
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
  }));

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
    for (const store of ['management', 'scans', 'delivery'])
      rmSync(join(full, `${store}.mdb-lock`));
    fillDisk(join(smallDisk, 'filler-2'));
    const copied = await runCommand(['keys', 'list'], settings);
    expect([copied.code, copied.signal]).toEqual([1, null]);
    expect(copied.stderr).toMatch(/: its disk has .* free, .*; the stores need 1 MiB\. /);
  },
);
