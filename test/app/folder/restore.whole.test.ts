/** A restore is whole or not at all, whatever ends it, and the same command again completes it. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { backup } from '../../../src/app/folder/backup/backup.ts';
import {
  type DataFolder,
  openDataFolder,
  openFolderToRestore,
} from '../../../src/app/folder/data-folder.ts';
import { messageOf } from '../../../src/model/failure.ts';
import { restore } from '../../../src/app/folder/backup/restore.ts';
import { FolderLock } from '../../../src/app/folder/folder-lock.ts';
import { lineOf } from '../../../src/app/upgrade/messages.ts';
import { sharedFolder, temporaryFolder } from '../../store/temporary-management.ts';
import { refusalsByCall, systemError, withFreeBytes } from './failing-disk.ts';
import { makeWholeFolder, quiet, refusalOf } from './whole-folder.ts';
import { memoryDisk } from './memory-disk.ts';

const shared = sharedFolder(memoryDisk);
const source = join(shared, 'backup');
let parent: string;
let target: string;

beforeAll(async () => {
  const folder = await makeWholeFolder(join(shared, 'data'));
  await backup(folder, source, { createdAt: '2026-11-22T00:00:00.000Z', progress: quiet });
});
beforeEach(() => {
  parent = temporaryFolder(memoryDisk);
  target = join(parent, 'data');
});

const restored = (folder = openFolderToRestore(target)) => restore(folder, source, quiet);

const startOf = (): string => {
  try {
    openDataFolder(target);
    return 'started';
  } catch (error) {
    return messageOf(error);
  }
};

/** Data files differ in the transaction that made their copy stand. */
const namesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'backup.json')
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();

let folder: DataFolder;
const begin = (): void => {
  rmSync(target, { recursive: true, force: true });
  folder = openFolderToRestore(target);
};

test('killed at any step, no start takes it for data, and the same command completes it', async () => {
  const states = new Set([startOf()]);
  begin();
  const work = () => restored(folder);
  for await (const message of refusalsByCall(2, new Error('killed'), true, work)) {
    expect(message).toBe('Error: killed');
    const left = namesIn(target).filter((name) => !name.startsWith('.restoring/'));
    const state = startOf();
    states.add(state.replaceAll(parent, ''));
    // Nothing is there, or the start is refused, or all is in its place.
    const isWhole = namesIn(source).every((name) => left.includes(name));
    expect(left.length === 0 || isWhole || state !== 'started').toBe(true);
    if (existsSync(join(target, '.restoring'))) expect(state).toMatch(/a restore did not finish/);
    if (!isWhole || state !== 'started') await restored();
    expect(namesIn(target)).toEqual(namesIn(source));
    expect(startOf()).toBe('started');
    begin();
  }
  expect(states.size).toBe(2);
});

test('a full disk at any step is said in words, and the same command completes it', async () => {
  begin();
  const work = () => restored(folder);
  for await (const message of refusalsByCall(3, systemError('ENOSPC'), false, work)) {
    expect(message).toMatch(/the disk is full \(ENOSPC\); no file was left/);
    expect(readdirSync(target)).toEqual([]);
    await restored();
    expect(namesIn(target)).toEqual(namesIn(source));
    begin();
  }
});

test('without enough space nothing is written', async () => {
  expect(await refusalOf(withFreeBytes(100_000, restored))).toMatch(
    /Cannot restore into .*: 100\.0 kB free there, expected 1\.\d MB; the copy did not start/,
  );
  expect(readdirSync(target)).toEqual([]);
});

test('a folder in use is refused before anything else', async () => {
  const lock = await FolderLock.take(openDataFolder(target));
  lock.onConnection = (socket) => socket.end(lineOf({ type: 'running' }));
  expect(await refusalOf(restore(openFolderToRestore(target), '/nowhere', quiet))).toMatch(
    /^Cannot restore into .*: data folder .* is locked by a running service/,
  );
  await lock.unlock();
});

test('a lock that another start is making is no other file, nor is what a file system keeps', async () => {
  mkdirSync(join(target, 'lost+found'), { recursive: true });
  const server = createServer();
  await new Promise<void>((done) => server.listen(join(target, 'service.0123ab'), done));
  expect((await restored()).files).toBe(namesIn(source).length);
  await new Promise((done) => server.close(done));
  expect(namesIn(target)).toEqual(namesIn(source));
  expect(readdirSync(target)).not.toContain('.restoring');
});

test('a folder with other files is refused, and stays as it is', async () => {
  mkdirSync(target);
  writeFileSync(join(target, 'notes'), 'mine');
  expect(await refusalOf(restored())).toMatch(/it has notes, expected an empty folder/);
  expect(readdirSync(target)).toEqual(['notes']);
  rmSync(join(target, 'notes'));
  const check = (): void => writeFileSync(join(target, 'visitor.key'), 'made meanwhile');
  const restoring = restore(openFolderToRestore(target), source, { ...quiet, check });
  expect(await refusalOf(restoring)).toMatch(/it has visitor.key, expected an empty folder/);
  expect(readdirSync(target)).toEqual(['visitor.key']);
});
