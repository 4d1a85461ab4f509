/** A first start that ends anywhere, or that nobody reads: one later start shows sign-in and key, in full. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openAdministration } from '../../../src/administration/administration.ts';
import { loadConfig } from '../../../src/config.ts';
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
import { killedAt } from './killed-at.ts';

const strange = { userId: 'usr_00000000000000000000', email: 'x', password: 'x', apiKey: 'x' };
/** The first journal is made after the owner. */
const journalName = join('journal', '0');
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

/** Whether the next start would show a sign-in and a key, which works. */
async function isKept(dataDir: string): Promise<boolean> {
  const config = loadConfig(undefined, { QZ_DATA_DIR: dataDir });
  const administration = openAdministration(config);
  try {
    const secrets = await administration.firstStart.open();
    if (secrets === undefined) return false;
    const { actor } = await administration.services.keys.verify(secrets.apiKey);
    expect(actor.role).toBe('owner');
    return true;
  } finally {
    await administration.close();
  }
}

/** A first start that is killed as soon as it has made its owner, and opens everything else. */
async function killFirst(dataDir: string): Promise<void> {
  const environment = killedAt(join(dataDir, journalName));
  const service = new ServiceProcess({ dataDir, ports: await freePorts(), environment });
  expect(await service.exit).toMatchObject({ signal: 'SIGKILL' });
  expect(shownBy(service)).toBeUndefined();
}

it('when it is killed with its secrets kept, and in a backup of then', () =>
  withDataFolder(async (parent) => {
    const ports = await freePorts();
    const dataDir = join(parent, 'data');
    const backup = join(parent, 'backup');
    const other = join(parent, 'other');
    await killFirst(dataDir);
    expect(existsSync(fileOf(dataDir))).toBe(true);
    expect((await runCommand(['backup', backup], { QZ_DATA_DIR: dataDir })).code).toBe(0);
    expect((await runCommand(['restore', backup], { QZ_DATA_DIR: other })).code).toBe(0);
    expect(await isKept(other)).toBe(true);
    await expectShown(dataDir, ports);
    // Of another installation.
    writeFileSync(fileOf(dataDir), JSON.stringify(strange));
    expect(await isKept(dataDir)).toBe(false);
  }));

it('when its output is discarded, or its reader has gone', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    // Left by a start whose owner was never made.
    writeFileSync(fileOf(dataDir), JSON.stringify(strange));
    const silent = new ServiceProcess({ dataDir, ports, stdout: 'ignore' });
    await silent.ready();
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
    expect(await isKept(dataDir)).toBe(true);
  }));
