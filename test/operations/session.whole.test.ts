/** Who runs the operations of a command: the service on the folder, or the command itself. */
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Fill, Session } from '../../src/operations/session.ts';
import { type Config, loadConfig } from '../../src/platform/config/config.ts';
import { dataFolderAt } from '../../src/app/folder/data-folder.ts';
import { folderOwner } from '../../src/app/folder/folder-lock.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { addFirstOwner } from '../support/fakes/first-owner.ts';
import { serve } from './running.ts';

let config: Config;

beforeEach(async () => {
  const settings = { QZ_DATA_DIR: join(temporaryFolder(), 'data') };
  await addFirstOwner(settings);
  config = loadConfig(undefined, settings);
});

function openSession(fill?: Fill): Session {
  const session = new Session(config, fill);
  onTestFinished(() => session.close());
  return session;
}

test('without a service the command locks the folder and runs the operations itself', async () => {
  const session = openSession();
  const key = { name: 'Till', role: 'viewer' } as const;
  const made = await session.ask('keys.create', key);
  expect(made).toMatchObject({ ...key, key: expect.stringMatching(/^eyJ/) });
  const names = (await session.ask('keys.list', {})).map(({ name }) => name);
  expect(names).toEqual(['First key', 'Till']);
  await expect(session.ask('keys.create', { ...key, name: '' })).rejects.toMatchObject({
    code: 'validation_failed',
    faults: [{ path: 'name', code: 'too_small', message: 'Expected at least 1 character' }],
  });
  await session.ask('keys.revoke', { id: made.id });
  await expect(session.ask('keys.revoke', { id: made.id })).rejects.toThrow('already revoked');
  const folder = dataFolderAt(config.dataDir);
  expect(await folderOwner(folder)).toBe('busy');
  await session.close();
  expect(await folderOwner(folder)).toBeUndefined();
});

test('a service that stops and one that starts between two operations: each is asked in its turn', async () => {
  const stop = await serve(config.dataDir, { 'keys.list': async () => ['of the service'] });
  let opened = 0;
  const session = openSession(async () => void (opened += 1));
  expect([await session.ask('keys.list', {}), opened]).toEqual([['of the service'], 0]);
  await stop();
  expect(await session.ask('keys.list', {})).toMatchObject([{ name: 'First key' }]);
  expect(opened).toBe(1);
  // It keeps the folder to its end.
  await expect(serve(config.dataDir, {})).rejects.toThrow('in use by a command');
});

test('a command waits for another one that has the folder', async () => {
  const first = openSession();
  await first.ask('keys.list', {});
  const second = openSession();
  const listed = second.ask('keys.list', {});
  await first.ask('keys.create', { name: 'Till', role: 'viewer' });
  await first.close();
  expect((await listed).map(({ name }) => name)).toEqual(['First key', 'Till']);
});
