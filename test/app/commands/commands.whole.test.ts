/** Commands that ask a running service over the lock of its data folder; a backup and a verification are such. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { backup } from '../../../src/app/folder/backup/backup.ts';
import { askService } from '../../../src/app/commands/ask-service.ts';
import type { CommandTable } from '../../../src/app/commands/command-table.ts';
import {
  folderCommands,
  serviceAccess,
  verifyByService,
} from '../../../src/app/commands/folder-commands.ts';
import { runInThread } from '../../../src/app/commands/folder-thread.ts';
import {
  type DataFolder,
  DataFolderError,
  openDataFolder,
} from '../../../src/app/folder/data-folder.ts';
import { FolderLock } from '../../../src/app/folder/folder-lock.ts';
import { type Hosting, hostTakeovers } from '../../../src/app/upgrade/host-takeovers.ts';
import { invalid } from '../../../src/model/failure.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { soon } from '../../support/soon.ts';
import { collectLog, talkTo, TestHost } from '../upgrade/conversation.ts';
import { makeWholeFolder, quiet, refusalOf } from '../folder/whole-folder.ts';

let folder: DataFolder;
let lock: FolderLock;
let hosting: Hosting | undefined;
let calls: unknown[];
const told = collectLog();

beforeEach(async () => {
  folder = openDataFolder(temporaryFolder());
  lock = await FolderLock.take(folder);
  calls = [];
});
afterEach(async () => {
  await hosting?.close();
  await lock.unlock();
  hosting = undefined;
  told.lines.splice(0);
});

function serve(table: CommandTable): void {
  hosting = hostTakeovers(lock, new TestHost(), told.log, table);
}

/** Runs until its client or the service leaves. */
const endless: CommandTable['x'] = async (input, { signal }) => {
  calls.push(input);
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve());
  await promise;
  calls.push('aborted');
  signal.throwIfAborted();
};

test('the service runs a command and reports its progress', async () => {
  serve({
    sum: async (input, { progress }) => {
      for (const part of [1, 2]) progress({ part });
      return { input };
    },
    nothing: async () => undefined,
  });
  const seen: unknown[] = [];
  const input = { text: 'é'.repeat(400_000) };
  const answer = await askService(folder, 'sum', input, (value) => seen.push(value));
  expect(answer).toEqual({ result: { input } });
  expect(seen).toEqual([{ part: 1 }, { part: 2 }]);
  expect(await askService(folder, 'nothing', undefined)).toEqual({ result: null });
});

test('without a service there is no answer', async () => {
  await lock.unlock();
  expect(await askService(folder, 'sum', {})).toBeUndefined();
});

test('a failure arrives with its code, text and faults; a defect is logged', async () => {
  const failing = (error: Error) => async () => {
    throw error;
  };
  serve({
    refuse: failing(invalid('name', 'too_long', 'Use 1 to 100 characters')),
    folder: failing(new DataFolderError('Cannot read it')),
    crash: failing(new Error('a secret')),
  });
  await expect(askService(folder, 'refuse', {})).rejects.toMatchObject({
    code: 'validation_failed',
    message: 'Use 1 to 100 characters',
    faults: [{ path: 'name', code: 'too_long', message: 'Use 1 to 100 characters' }],
  });
  await expect(askService(folder, 'folder', {})).rejects.toThrow(/^Cannot read it$/);
  expect(told.lines).toEqual([]);
  await expect(askService(folder, 'crash', {})).rejects.toThrow('its log has the reason');
  expect(told.lines).toEqual(['error: command failed']);
  await expect(askService(folder, 'toString', {})).rejects.toThrow('has no command toString');
});

test('an input of more than a megabyte is refused', async () => {
  serve({ endless });
  const asked = askService(folder, 'endless', 'x'.repeat(1_048_576));
  await expect(asked).rejects.toMatchObject({ code: 'body_too_large' });
  expect(calls).toEqual([]);
});

test('a client that disconnects aborts its command, without an error in the log', async () => {
  serve({ endless });
  const talker = await talkTo(folder);
  talker.say({ type: 'command', name: 'endless', input: 1 });
  expect(await talker.next()).toEqual({ type: 'started' });
  talker.close();
  await expect.poll(() => calls, soon).toEqual([1, 'aborted']);
  await hosting?.close();
  expect(told.lines).toEqual([]);
});

test('a service that stops aborts its commands and refuses new ones until it has ended', async () => {
  serve({ endless });
  const answer = askService(folder, 'endless', 1);
  await expect.poll(() => calls, soon).toEqual([1]);
  const [ended] = await Promise.allSettled([answer, hosting?.endCommands()]);
  expect(ended).toMatchObject({ reason: { code: 'not_active' } });
  const late = askService(folder, 'endless', 2);
  const talker = await talkTo(folder);
  talker.say({ type: 'command', name: 'endless', input: 3 });
  expect(await talker.next()).toMatchObject({ type: 'refused' });
  await lock.unlock();
  expect(await late).toBeUndefined();
  expect(calls).toEqual([1, 'aborted']);
});

test('a service runs 16 commands at once; the next one waits', async () => {
  let most = 0;
  let running = 0;
  const wait = Promise.withResolvers<void>();
  serve({
    wait: async () => {
      running += 1;
      most = Math.max(most, running);
      if (running === 16) setTimeout(wait.resolve, 100);
      await wait.promise;
      running -= 1;
    },
  });
  await Promise.all(Array.from({ length: 20 }, () => askService(folder, 'wait', {})));
  expect(most).toBe(16);
});

test('a connection that ends before the command has started is tried again', async () => {
  let connections = 0;
  lock.onConnection = (socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    if (connections === 3) serve({ echo: async (input) => input });
    socket.destroy();
  };
  expect(await askService(folder, 'echo', 1)).toEqual({ result: 1 });
});

test('a service that ends while a command runs is not asked again', async () => {
  lock.onConnection = (socket) => {
    calls.push('connected');
    socket.on('error', () => undefined);
    socket.end('{"type":"started"}\n');
  };
  await expect(askService(folder, 'x', 1)).rejects.toThrow('The service ended before');
  expect(calls).toEqual(['connected']);
});

test('only the user of the data folder may connect', async () => {
  const path = join(folder.path, 'service.sock');
  expect(lstatSync(path).mode & 0o777).toBe(0o600);
  if (process.getuid?.() !== 0) return;
  chownSync(path, 65_534, -1);
  await expect(askService(folder, 'x', 1)).rejects.toThrow('belongs to user 65534');
});

describe('of a whole folder', () => {
  beforeEach(async () => {
    await lock.unlock();
    await makeWholeFolder(folder.path);
    lock = await FolderLock.take(folder);
    serve(folderCommands(folder));
  });

  test('a pinned snapshot keeps its pages until it is released', async () => {
    const access = (await serviceAccess(folder))!;
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
    const access = (await serviceAccess(folder))!;
    await expect(access.pin('../other.mdb')).rejects.toThrow('not found');
  });

  test('a service that stops during a backup fails it, and leaves no copy', async () => {
    const access = (await serviceAccess(folder))!;
    const target = join(temporaryFolder(), 'backup');
    const pin = async (name: string) => {
      const release = await access.pin(name);
      if (name === 'scans.mdb') await hosting?.close();
      return release;
    };
    const options = { createdAt: '', progress: quiet, access: { ...access, pin } };
    expect(await refusalOf(backup(folder, target, options))).toContain('run it again');
    expect(existsSync(target)).toBe(false);
  });

  test('the service verifies its folder and reports progress', async () => {
    let [size, read] = [0, 0];
    const begin = (bytes: number): void => void (size = bytes);
    const progress = { begin, add: (bytes: number): void => void (read += bytes) };
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
    const late = setTimeout(() => child.kill('SIGKILL'), 120_000);
    expect(await once(child, 'exit')).toEqual([0, null]);
    clearTimeout(late);
  });
});
