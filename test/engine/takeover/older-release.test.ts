/** An older release, which does not know takeovers, is stopped; what else has a folder is not. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type DataFolder, openDataFolder } from '../../../src/engine/data-folder.ts';
import { lockDataFolder } from '../../../src/engine/takeover/folder-lock.ts';
import { stopOlderRelease } from '../../../src/engine/takeover/older-release.ts';
import { PredecessorConnection } from '../../../src/engine/takeover/predecessor-connection.ts';
import { collectLog, hello } from './conversation.ts';

let parent: string;
let folder: DataFolder;
const children: ChildProcess[] = [];

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'quietzone older-'));
  mkdirSync(join(parent, 'data'));
  symlinkSync(join(parent, 'data'), join(parent, 'link'));
  folder = openDataFolder(join(parent, 'data'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(parent, { recursive: true, force: true });
});

async function startOlder(order: 'bind' | 'bind alone' | 'bind and stay', path = folder.path) {
  const child = fork(new URL('lock.child.ts', import.meta.url), [order, path]);
  children.push(child);
  expect(await once(child, 'message')).toEqual(['locked', undefined]);
  return { child, exited: once(child, 'exit') };
}

test.each(['data', 'link'])(
  'it is stopped, and the folder is free, where it knows it as %s',
  async (name) => {
    const { exited, child } = await startOlder('bind', join(parent, name));
    const told = collectLog();
    expect(await PredecessorConnection.find(folder, hello, told.log)).toBeUndefined();
    expect(await exited).toEqual([null, 'SIGTERM']);
    expect(told.lines).toEqual([
      'an older release runs on this data folder, and is stopped',
      'the older release has ended',
    ]);
    expect(child.killed).toBe(false);
    await (await lockDataFolder(folder)).unlock();
  },
);

test('one that does not end is said in words', async () => {
  const { child } = await startOlder('bind and stay');
  await expect(stopOlderRelease(folder, collectLog().log, { endMsMax: 100 })).rejects.toThrow(
    `Cannot take over: an older release runs on data folder ${folder.path}, and its process ${child.pid} did not end within 0.1 s; stop it, then start this one`,
  );
  expect(child.exitCode).toBeNull();
});

test.each(['empty', 'missing'])(
  'one that cannot be found, %s /proc: said in words',
  async (name) => {
    const { child } = await startOlder('bind');
    const proc = join(parent, 'proc');
    if (name === 'empty') mkdirSync(proc);
    await expect(stopOlderRelease(folder, collectLog().log, { proc })).rejects.toThrow(
      /its process cannot be found: it may run in another container; stop it, then start this one$/,
    );
    expect(child.exitCode).toBeNull();
  },
);

test('a process that has no data file open is not signaled', async () => {
  const { child } = await startOlder('bind alone');
  await expect(stopOlderRelease(folder, collectLog().log)).rejects.toThrow(/cannot be found/);
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});

test('none runs: nothing to do', async () => {
  const { child, exited } = await startOlder('bind');
  child.kill('SIGKILL');
  await exited;
  const told = collectLog();
  await stopOlderRelease(folder, told.log);
  expect(told.lines).toEqual([]);
});

test('a lock of this release is never stopped', async () => {
  const child = fork(new URL('lock.child.ts', import.meta.url), ['lock', folder.path]);
  children.push(child);
  await once(child, 'message');
  await expect(stopOlderRelease(folder, collectLog().log)).rejects.toThrow(/cannot be found/);
  expect(child.exitCode).toBeNull();
});
