/** Targets that a backup refuses at once, with the reason; flows/backup proves the copies. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { backup } from '../../src/engine/backup/backup.ts';
import { DataFolderError, openDataFolder } from '../../src/engine/data-folder.ts';
import { quiet } from './whole-folder.ts';

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'quietzone-backup-'));
  mkdirSync(join(parent, 'data'));
  writeFileSync(join(parent, 'data', 'management.mdb'), '');
  writeFileSync(join(parent, 'file'), '');
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

async function refusal(target: string): Promise<string> {
  const folder = openDataFolder(join(parent, 'data'));
  const taken = backup(folder, target, { createdAt: '2026-11-21T00:00:00.000Z', progress: quiet });
  return await taken.then(
    () => 'taken',
    (error: unknown) => (error instanceof DataFolderError ? error.message : String(error)),
  );
}

test.each([
  ['a folder where none can be created', '/proc/quietzone', /ENOENT, expected a folder that can/],
  ['one below it', '/proc/quietzone/backup', /ENOENT, expected a folder that can/],
  ['a device', '/dev/null', /ENOTDIR, expected a folder that can/],
])('%s', async (_what, target, message) => {
  expect(await refusal(target)).toMatch(message);
});

test.each([
  ['a file', 'file', /ENOTDIR, expected a folder that can be made and written/],
  ['a folder below a file', 'file/backup', /ENOTDIR, expected a folder/],
  ['the data folder', 'data', /is in the data folder, expected one outside/],
  ['a folder in it', 'data/backup', /is in the data folder, expected one outside/],
  ['a folder that is not empty', '.', /it has data, expected an empty folder/],
])('%s', async (_what, name, message) => {
  expect(await refusal(join(parent, name))).toMatch(message);
  expect(readdirSync(parent).toSorted()).toEqual(['data', 'file']);
  expect(readdirSync(join(parent, 'data'))).toEqual(['management.mdb']);
});
