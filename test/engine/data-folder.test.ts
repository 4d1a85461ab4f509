/** The data folder and its secrets, with the remains of a crash. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import {
  DataFolderError,
  makeFolder,
  makeSecret,
  openDataFolder,
  readSecret,
} from '../../src/engine/data-folder.ts';
import { temporaryFolder } from '../store/temporary-management.ts';

let path: string;
beforeEach(() => {
  path = temporaryFolder();
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
  expect(readdirSync(join(path, 'a', 'b'))).toEqual(['c']);
  writeFileSync(join(path, 'file'), '');
  expect(() => makeFolder(join(path, 'file'))).toThrow(/EEXIST/);
  expect(() => makeFolder(join(path, 'file', 'below'))).toThrow(/ENOTDIR/);
  expect(() => makeFolder('/proc/quietzone/data')).toThrow(/ENOENT/);
  expect(() => openDataFolder('/proc/quietzone')).toThrow(DataFolderError);
});
