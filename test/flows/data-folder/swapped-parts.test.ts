/**
 * Parts of two installations, mixed: a start refuses them in words and changes nothing, and what it names as a remedy
 * works.
 */
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../support/client.ts';
import { freePorts, type Ports, runCommand, settingsOf } from '../../support/process.ts';
import { soon } from '../../support/soon.ts';
import { TestService } from '../../support/test-service.ts';

interface Installation {
  readonly dataDir: string;
  readonly apiKey: string;
}

let parent = '';
let ports: Ports;
let one: Installation;
let other: Installation;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'quietzone-flow-'));
  ports = await freePorts();
  one = await makeInstallation('one', 1);
  other = await makeInstallation('other', 2);
});
afterAll(() => rm(parent, { recursive: true }));

const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0';

/** A service with so many codes, of which each has been scanned three times. */
async function makeInstallation(name: string, codes: number): Promise<Installation> {
  const dataDir = join(parent, name);
  const service = await TestService.start({ dataDir, ports });
  const { apiKey } = service;
  const client = new Client(service.apiUrl, apiKey);
  for (let no = 1; no <= codes; no++) {
    await newCode(client, `${name}-${no}`);
    await scan(service, `${name}-${no}`, 3);
  }
  await client.close();
  await service.close();
  return { dataDir, apiKey };
}

async function newCode(client: Client, slug: string): Promise<{ id: string }> {
  const body = { target: 'https://example.com/', slug };
  const made = await client.call('POST', '/v1/qr-codes', { body });
  expect(made.status).toBe(201);
  return JSON.parse(made.text);
}

async function scan(service: TestService, slug: string, times: number): Promise<void> {
  const links = new Client(service.redirectUrl);
  for (let at = 0; at < times; at++) {
    const headers = { 'user-agent': agent };
    expect((await links.call('GET', `/${slug}`, { headers })).status).toBe(302);
  }
  await links.close();
}

const scansOf = async (client: Client, id: string): Promise<number> =>
  Number((await client.call('GET', `/v1/qr-codes/${id}`)).json['scans']);

/** Every file with a hash of its bytes, but for locks: LMDB's readers write into theirs. */
function contentOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
  const files = names.filter(
    (name) => !/-lock$|\.sock$/.test(name) && statSync(join(folder, name)).isFile(),
  );
  const hashOf = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
  return Object.fromEntries(files.map((name) => [name, hashOf(name)]));
}

it('scans.mdb of another installation is refused, and begun anew where that is asked for', async () => {
  const dataDir = join(parent, 'swapped');
  cpSync(one.dataDir, dataDir, { recursive: true });
  cpSync(join(other.dataDir, 'scans.mdb'), join(dataDir, 'scans.mdb'));
  const settings = settingsOf({ dataDir, ports });
  const before = contentOf(dataDir);
  const start = await runCommand(['serve'], settings);
  expect([start.code, start.stdout]).toEqual([1, '']);
  expect(start.stderr).toMatch(
    /^Cannot start: data folder .* has faults\n {2}scans.mdb is of another installation\nNothing was changed\. .*`quietzone serve --begin-anew scans` gives up .*\n$/,
  );
  for (const command of [
    ['keys', 'list'],
    ['backup', join(parent, 'never')],
  ]) {
    const { code, stderr } = await runCommand(command, settings);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('scans.mdb is of another installation'),
    ]);
  }
  const doctor = await runCommand(['doctor'], settings);
  expect(doctor.stdout).toMatch(
    /^BAD {2}scans.mdb is of another installation: .*`quietzone serve --begin-anew scans`/m,
  );
  expect(contentOf(dataDir)).toEqual(before);

  const service = await TestService.start({
    dataDir,
    ports,
    apiKey: one.apiKey,
    start: 'scans-anew',
  });
  const client = new Client(service.apiUrl, one.apiKey);
  const listed = await client.call('GET', '/v1/qr-codes');
  const [code]: Array<{ id: string }> = JSON.parse(listed.text).data;
  expect(await scansOf(client, code?.id ?? '')).toBe(0);
  await scan(service, 'one-1', 2);
  await expect.poll(() => scansOf(client, code?.id ?? ''), soon).toBe(2);
  await client.close();
  await service.close();
  expect(await runCommand(['backup', join(parent, 'after')], settings)).toMatchObject({ code: 0 });
  expect(readdirSync(dataDir)).toContain('scans.mdb.set-aside-1');
  expect(readdirSync(join(parent, 'after')).join()).not.toContain('set-aside');
});

it('a start with --existing makes no data', async () => {
  const dataDir = join(parent, 'not-mounted');
  const settings = settingsOf({ dataDir, ports });
  const missing = await runCommand(['serve', '--existing'], settings);
  expect([missing.code, missing.stderr]).toEqual([
    1,
    expect.stringMatching(
      /does not exist, and --existing forbids a first start; is its disk mounted\?\n$/,
    ),
  ]);
  expect(readdirSync(parent)).not.toContain('not-mounted');
  cpSync(join(one.dataDir, 'cache'), join(dataDir, 'cache'), { recursive: true });
  const empty = await runCommand(['serve', '--existing'], settings);
  expect([empty.code, empty.stderr]).toEqual([
    1,
    expect.stringMatching(/has no data, and --existing/),
  ]);
  expect(readdirSync(dataDir)).toEqual(['cache']);
  rmSync(dataDir, { recursive: true });
});
