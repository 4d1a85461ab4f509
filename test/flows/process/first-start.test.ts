/** A first start that ends anywhere, or that nobody reads: one later start shows sign-in and key, in full. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openAdministration } from '../../../src/app/administration/administration.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import {
  freePorts,
  runCommand,
  ServiceProcess,
  startProcess,
  withDataFolder,
} from '../../support/process.ts';
import { preload } from '../../support/program.ts';
import { soon } from '../../support/soon.ts';

const strange = { userId: 'usr_00000000000000000000', email: 'x', password: 'x', apiKey: 'x' };
const fileOf = (dataDir: string): string => join(dataDir, 'first-start.json');

/** What a start has shown. */
const shownBy = ({ stdout }: ServiceProcess): Array<string | undefined> =>
  ['Sign in', 'Password', 'API key'].map((name) => RegExp(`${name} +(\\S+)`).exec(stdout)?.[1]);

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

it('when it is killed with its secrets kept, and in a backup of then', () =>
  withDataFolder(async (parent) => {
    const ports = await freePorts();
    const dataDir = join(parent, 'data');
    const backup = join(parent, 'backup');
    const other = join(parent, 'other');
    // As soon as it has made its owner, which comes before the first journal.
    const environment = {
      NODE_OPTIONS: preload('kill-at'),
      KILL_AT: join(dataDir, 'journal', '0'),
    };
    const killed = new ServiceProcess({ dataDir, ports, environment });
    expect(await killed.exit).toMatchObject({ signal: 'SIGKILL' });
    expect(shownBy(killed)).toEqual([undefined, undefined, undefined]);
    expect(existsSync(fileOf(dataDir))).toBe(true);
    expect((await runCommand(['backup', backup], { QZ_DATA_DIR: dataDir })).code).toBe(0);
    expect((await runCommand(['restore', backup], { QZ_DATA_DIR: other })).code).toBe(0);
    expect(await isKept(other)).toBe(true);

    const service = await startProcess({ dataDir, ports });
    const [email, password, key] = shownBy(service);
    const signIn = await service.api.post('/v1/auth/sign-in', { email, password });
    const { items } = await service.api.get('/v1/api-keys', { key });
    // The key that was shown is the only one: none was made that nobody has.
    expect([signIn.status, items.length]).toEqual([200, 1]);
    await service.terminate();
    expect(existsSync(fileOf(dataDir))).toBe(false);
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
    await expect.poll(() => unread.isReady(), soon).toBe(true);
    // It runs on without a reader, and stops as ever.
    expect(await unread.terminate()).toMatchObject({ code: 0 });
    expect(existsSync(fileOf(dataDir))).toBe(true);
    expect(await isKept(dataDir)).toBe(true);
  }));
