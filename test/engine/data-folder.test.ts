/** The lock of a data folder and its secrets, with the remains of a crash and of other processes. */
import { existsSync, linkSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  DataFolderError,
  DataFolderLockedError,
  lockDataFolder,
  makeFolder,
  makeSecret,
  openDataFolder,
  readSecret,
} from '../../src/engine/data-folder.ts';

let path: string;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'quietzone-folder-'));
});
afterEach(() => rmSync(path, { recursive: true, force: true }));

test('one process locks the folder, the next is refused until it is unlocked', async () => {
  const folder = openDataFolder(path);
  const release = await lockDataFolder(folder);
  await expect(lockDataFolder(folder)).rejects.toThrow(DataFolderLockedError);
  await release();
  const again = await lockDataFolder(folder);
  await again();
});

test('a socket whose owner has ended is replaced', async () => {
  const stale = join(path, 'stale.sock');
  const server = createServer();
  await new Promise<void>((done) => server.listen(stale, done));
  // A hard link survives the close of its socket, as a socket survives the death of its process.
  linkSync(stale, join(path, 'service.sock'));
  await new Promise((done) => server.close(done));
  expect(existsSync(join(path, 'service.sock'))).toBe(true);
  const release = await lockDataFolder(openDataFolder(path));
  await release();
});

test('connections to the lock are closed, and it stays', async () => {
  const release = await lockDataFolder(openDataFolder(path));
  for (let i = 0; i < 3; i++) {
    const socket = connect(join(path, 'service.sock'));
    await new Promise((done) => socket.once('close', done));
  }
  await expect(lockDataFolder(openDataFolder(path))).rejects.toThrow(DataFolderLockedError);
  await release();
});

test('a secret is the same at every start, and half a draft of one does no harm', () => {
  const folder = openDataFolder(path);
  writeFileSync(join(path, 'visitor.key.new'), 'half');
  expect(() => readSecret(folder, 'visitor.key', 16)).toThrow(/is missing, expected 16 bytes/);
  makeSecret(folder, 'visitor.key', 16);
  const secret = readSecret(folder, 'visitor.key', 16);
  makeSecret(folder, 'visitor.key', 16);
  expect(readSecret(folder, 'visitor.key', 16)).toEqual(secret);
  expect(readdirSync(path)).toEqual(['visitor.key']);
  expect(() => readSecret(folder, 'visitor.key', 32)).toThrow(DataFolderError);
});

test('a folder is created with its parents, and refused where none can be created', () => {
  makeFolder(join(path, 'a', 'b', 'c'));
  makeFolder(join(path, 'a', 'b', 'c'));
  expect(readdirSync(join(path, 'a', 'b'))).toEqual(['c']);
  writeFileSync(join(path, 'file'), '');
  expect(() => makeFolder(join(path, 'file'))).toThrow(/EEXIST/);
  expect(() => makeFolder(join(path, 'file', 'below'))).toThrow(/ENOTDIR/);
  expect(() => makeFolder('/proc/quietzone/data')).toThrow(/ENOENT/);
  expect(() => openDataFolder('/proc/quietzone')).toThrow(DataFolderError);
});
