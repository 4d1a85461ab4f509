/** A backup and a verification of a folder whose service runs. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { backup } from '../../../src/engine/backup/backup.ts';
import {
  folderCommands,
  serviceAccess,
  verifyByService,
} from '../../../src/engine/commands/folder-commands.ts';
import { runInThread } from '../../../src/engine/commands/folder-thread.ts';
import type { DataFolder } from '../../../src/engine/data-folder.ts';
import { FolderLock } from '../../../src/engine/takeover/folder-lock.ts';
import { type Hosting, hostTakeovers } from '../../../src/engine/takeover/host-takeovers.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { soon } from '../../support/soon.ts';
import { collectLog, TestHost } from '../takeover/conversation.ts';
import { makeWholeFolder, quiet, refusalOf } from '../whole-folder.ts';

let folder: DataFolder;
let lock: FolderLock;
let hosting: Hosting;

beforeEach(async () => {
  folder = await makeWholeFolder(temporaryFolder());
  lock = await FolderLock.take(folder);
  hosting = hostTakeovers(lock, new TestHost(), collectLog().log, folderCommands(folder));
});
afterEach(async () => {
  await hosting.close();
  await lock.unlock();
});

const accessOf = async () => {
  const access = await serviceAccess(folder);
  if (access === undefined) throw new Error('no service answers');
  return access;
};

test('a pinned snapshot keeps its pages until it is released', async () => {
  const access = await accessOf();
  const environment = new StoreEnvironment(folder.deliveryFile);
  const table = environment.table<string, string>('texts');
  /** Bytes by which the file grows when one large value is replaced many times. */
  const growth = async (): Promise<number> => {
    const before = environment.stats().bytes;
    for (let no = 0; no < 20; no++) {
      await environment.transaction(() => table.put('key', 'x'.repeat(100_000 + no)));
    }
    return environment.stats().bytes - before;
  };
  await growth();
  expect(await growth()).toBeLessThan(400_000);
  const release = await access.pin('delivery.mdb');
  expect(await growth()).toBeGreaterThan(1_500_000);
  await release();
  // The service lets go a moment after its client has left.
  await expect.poll(growth, soon).toBeLessThan(400_000);
  await environment.close();
});

test('only data files of the folder can be pinned', async () => {
  const access = await accessOf();
  await expect(access.pin('../other.mdb')).rejects.toThrow('There is no data file');
});

test('a service that stops during a backup fails it, and leaves no copy', async () => {
  const access = await accessOf();
  const target = join(temporaryFolder(), 'backup');
  const pin = async (name: string) => {
    const release = await access.pin(name);
    if (name === 'scans.mdb') await hosting.close();
    return release;
  };
  const options = { createdAt: '', progress: quiet, access: { ...access, pin } };
  expect(await refusalOf(backup(folder, target, options))).toContain('run it again');
  expect(existsSync(target)).toBe(false);
});

test('the service verifies its folder and reports progress', async () => {
  let [size, read] = [0, 0];
  const progress = {
    begin: (bytes: number) => void (size = bytes),
    add: (bytes: number) => void (read += bytes),
  };
  expect(await verifyByService(folder, progress)).toMatchObject({ findings: [] });
  expect([read > 0, read <= size]).toEqual([true, true]);
  rmSync(join(folder.path, 'visitor.key'));
  const found = await verifyByService(folder, progress);
  expect(found?.findings).toMatchObject([{ file: 'visitor.key' }]);
});

test('a verification that is aborted reads no further, even within a file', async () => {
  const aborting = new AbortController();
  const steps: unknown[] = [];
  const progress = (step: unknown): void => void steps.push(step);
  const verified = runInThread(folder, { kind: 'verify' }, { progress, signal: aborting.signal });
  aborting.abort();
  await expect(verified).rejects.toThrow('stopped');
  expect(steps).toMatchObject([{ kind: 'begin' }]);
});

test('a transaction of the service that is under way does not stop a command', async () => {
  const child = fork(new URL('writing.child.ts', import.meta.url), [folder.path]);
  const late = setTimeout(() => child.kill('SIGKILL'), 20_000);
  expect(await once(child, 'exit')).toEqual([0, null]);
  clearTimeout(late);
});
