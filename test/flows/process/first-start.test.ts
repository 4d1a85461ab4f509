/** A first start that ends anywhere, or that nobody reads: one later start shows sign-in and key, in full. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Client } from '../../support/client.ts';
import {
  freePorts,
  pause,
  type Ports,
  runCommand,
  ServiceProcess,
  startProcess,
  withDataFolder,
} from '../../support/process.ts';

const strange = { userId: 'usr_00000000000000000000', email: 'x', password: 'x', apiKey: 'x' };
const fileOf = (dataDir: string): string => join(dataDir, 'first-start.json');

/** What a start has shown; undefined without a sign-in. */
function shownBy({ stdout }: ServiceProcess): Record<string, string> | undefined {
  const email = /Sign in +(\S+)/.exec(stdout)?.[1];
  const password = /Password +(\S+)/.exec(stdout)?.[1];
  const key = /API key +(\S+)/.exec(stdout)?.[1];
  return email === undefined || password === undefined || key === undefined
    ? undefined
    : { email, password, key };
}

/** Starts on the folder, which shows what works, and keeps it no longer. */
async function expectShown(dataDir: string, ports: Ports): Promise<void> {
  const service = await startProcess({ dataDir, ports });
  const { email, password, key } = shownBy(service) ?? {};
  const client = new Client(service.apiUrl);
  const body = { email, password };
  expect((await client.call('POST', '/v1/auth/sign-in', { body })).status).toBe(200);
  const { json } = await client.call('GET', '/v1/api-keys', { key: String(key) });
  // The key that was shown is the only one: none was made that nobody has.
  expect(json['data']).toHaveLength(1);
  await client.close();
  await service.terminate();
  expect(existsSync(fileOf(dataDir))).toBe(false);
}

async function expectNothingShown(dataDir: string, ports: Ports): Promise<void> {
  const service = await startProcess({ dataDir, ports });
  expect(shownBy(service)).toBeUndefined();
  await service.terminate();
}

/** Kills a first start as soon as `isThere`. @returns whether it had shown its secrets */
async function killedFirst(dataDir: string, isThere: () => boolean): Promise<boolean> {
  const service = new ServiceProcess({ dataDir, ports: await freePorts() });
  while (!isThere()) await pause(1);
  await service.kill();
  return shownBy(service) !== undefined;
}

it('when it is killed with its secrets kept, and again while it opens everything else', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    expect(await killedFirst(dataDir, () => existsSync(fileOf(dataDir)))).toBe(false);
    // The first journal is made after the owner.
    const later = join(dataDir, 'journal', '0');
    expect(await killedFirst(dataDir, () => existsSync(later))).toBe(false);
    expect(existsSync(fileOf(dataDir))).toBe(true);
    await expectShown(dataDir, ports);
    // Of another installation.
    writeFileSync(fileOf(dataDir), JSON.stringify(strange));
    await expectNothingShown(dataDir, ports);
  }));

it('when its output is discarded, or its reader has gone', { timeout: 120_000 }, () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    // Left by a start whose owner was never made.
    writeFileSync(fileOf(dataDir), JSON.stringify(strange));
    const silent = await startProcess({ dataDir, ports, stdout: 'ignore' });
    expect(silent.complaints).toMatchObject([{ reason: 'standard output is discarded' }]);
    await silent.terminate();

    const unread = new ServiceProcess({ dataDir, ports });
    unread.closeReaders();
    const client = new Client(unread.apiUrl);
    const isReady = async (): Promise<boolean> => {
      const { status } = await client.call('GET', '/health/ready').catch(() => ({ status: 0 }));
      return status === 200;
    };
    while (!(await isReady())) await pause(20);
    await client.close();
    // It runs on without a reader, and stops as ever.
    expect(await unread.terminate()).toMatchObject({ code: 0 });
    expect(existsSync(fileOf(dataDir))).toBe(true);
    await expectShown(dataDir, ports);
  }),
);

it('when the folder was backed up before they were shown', () =>
  withDataFolder(async (parent) => {
    const dataDir = join(parent, 'data');
    await killedFirst(dataDir, () => existsSync(join(dataDir, 'journal', '0')));
    const backup = join(parent, 'backup');
    expect((await runCommand(['backup', backup], { QZ_DATA_DIR: dataDir })).code).toBe(0);
    const other = join(parent, 'other');
    expect((await runCommand(['restore', backup], { QZ_DATA_DIR: other })).code).toBe(0);
    await expectShown(other, await freePorts());
  }));
