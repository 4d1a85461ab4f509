/**
 * Parts of two installations, mixed: a start refuses them in words and changes nothing, and what it names as a remedy
 * works.
 */
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { contentsOf } from '../../engine/whole-folder.ts';
import { freePorts, type Ports, runCommand, settingsOf } from '../../support/process.ts';
import { soon } from '../../support/soon.ts';
import { TestService } from '../../support/test-service.ts';

let parent = '';
let ports: Ports;
let one: TestService;
let other: TestService;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'quietzone-flow-'));
  ports = await freePorts();
  one = await makeInstallation('one', 1);
  other = await makeInstallation('other', 2);
});
afterAll(() => rm(parent, { recursive: true }));

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
