/** The data folder with its secrets and `service.pid`, which names its owner; with the remains of a crash. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import {
  dataFolderAt,
  DataFolderError,
  makeFolder,
  makeSecret,
  openDataFolder,
  readSecret,
} from '../../../src/app/folder/data-folder.ts';
import { removePidFile, writePidFile } from '../../../src/app/folder/pid-file.ts';
import { createLog } from '../../../src/platform/log.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

let path: string;
let logged: string[];
const log = createLog('info', { write: (line) => void logged.push(line) });
beforeEach(() => {
  path = temporaryFolder();
  logged = [];
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

test('the owner writes its process id in the form that systemd reads, for itself alone, and removes it', () => {
  const folder = dataFolderAt(path);
  writeFileSync(join(path, 'service.pid'), 'half');
  writePidFile(folder, log);
  expect(readFileSync(join(path, 'service.pid'), 'utf8')).toBe(`${process.pid}\n`);
  expect(statSync(join(path, 'service.pid')).mode & 0o777).toBe(0o600);
  removePidFile(folder);
  expect(readdirSync(path)).toEqual([]);
  expect(logged).toEqual([]);
  // A predecessor leaves the number of its successor.
  writeFileSync(join(path, 'service.pid'), '1\n');
  removePidFile(folder);
  expect(readdirSync(path)).toEqual(['service.pid']);
});

test('where the process id cannot be written a warning says what follows, and nothing fails', () => {
  mkdirSync(join(path, 'service.pid.new'));
  writePidFile(dataFolderAt(path), log);
  expect(logged).toEqual([expect.stringMatching(/"warn".*"reason":"EISDIR"/)]);
  removePidFile(dataFolderAt(join(path, 'away')));
});
