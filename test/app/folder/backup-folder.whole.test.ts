/** What a backup must have, what it must not change, and what is left of one that fails. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { backup, type BackupOptions } from '../../../src/app/folder/backup/backup.ts';
import { copyEnvironment, copyFile } from '../../../src/app/folder/backup/copy-files.ts';
import { pinSnapshot } from '../../../src/app/folder/backup/folder-access.ts';
import { restore } from '../../../src/app/folder/backup/restore.ts';
import { systemReason } from '../../../src/app/folder/system-reason.ts';
import {
  type DataFolder,
  openDataFolder,
  openFolderToRestore,
} from '../../../src/app/folder/data-folder.ts';
import { readMeta } from '../../../src/store/data-file/format.ts';
import { walkDataFile, walkSnapshot } from '../../../src/store/data-file/walk.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { asOfAnotherBoot } from '../../store/data-file/other-boot.ts';
import { sharedFolder, temporaryFolder } from '../../store/temporary-management.ts';
import type { Account, AccountsOrder } from './accounts.worker.ts';
import { refusalsByCall, systemError, withFreeBytes } from './failing-disk.ts';
import { memoryDisk } from './memory-disk.ts';
import { contentsOf, ignore, makeWholeFolder, quiet, refusalOf } from './whole-folder.ts';

const whole = sharedFolder(memoryDisk);
let parent: string;
let folder: DataFolder;
let target: string;

beforeAll(() => makeWholeFolder(join(whole, 'data')));
beforeEach(() => {
  parent = temporaryFolder(memoryDisk);
  cpSync(join(whole, 'data'), join(parent, 'data'), { recursive: true });
  folder = openDataFolder(join(parent, 'data'));
  target = join(parent, 'backup');
});

const taken = (options: Partial<BackupOptions> = {}) =>
  backup(folder, target, { createdAt: '2026-11-22T00:00:00.000Z', progress: quiet, ...options });
const restored = () => restore(openFolderToRestore(join(parent, 'restored')), target, quiet);

interface Manifest {
  version: number;
  data: Readonly<Record<string, number>>;
  files: Array<{ readonly name: string; readonly bytes: number; readonly sha256: string }>;
}
const manifestOf = (): Manifest => JSON.parse(readFileSync(join(target, 'backup.json'), 'utf8'));

async function expectRefused(change: (manifest: Manifest) => void, text: RegExp): Promise<void> {
  const manifest = manifestOf();
  change(manifest);
  writeFileSync(join(target, 'backup.json'), JSON.stringify(manifest));
  expect(await refusalOf(restored())).toMatch(text);
  expect(readdirSync(join(parent, 'restored'))).toEqual([]);
}

test('newer data is not backed up, all files are named at once, and nothing is left', async () => {
  const versions = [[99, folder.managementFile] as const, [98, folder.scansFile] as const];
  for (const [version, file] of versions) {
    const environment = new StoreEnvironment(file);
    const meta = environment.table<string, number>('meta');
    environment.transactionSync(() => meta.put('schema', version));
    await environment.close();
  }
  const message = await refusalOf(taken());
  expect(message).toMatch(/scans.mdb: its data has version 98, this program reads 1; use the /);
  expect(message).toMatch(/management.mdb: its data has version 99, this program reads 1/);
  expect(readdirSync(parent)).toEqual(['data']);
});

test('the process id of a service is not copied: a restore replaces one that a kill left', async () => {
  writeFileSync(join(folder.path, 'service.pid'), `${process.pid}\n`);
  await taken();
  mkdirSync(join(parent, 'restored'));
  writeFileSync(join(parent, 'restored/service.pid'), '999999\n');
  await restored();
  expect(readdirSync(join(parent, 'restored'))).toContain('management.mdb');
  expect(readdirSync(target)).not.toContain('service.pid');
});

const lost = ['management.mdb', 'signing-keys.json'];

test.each<[what: string, change: (manifest: Manifest) => void, text: RegExp]>([
  [
    'newer data',
    (manifest) => (manifest.data = { 'scans.mdb': 99, 'delivery.mdb': 98 }),
    /data of scans.mdb has version 99.*; the data of delivery.mdb has version 98/,
  ],
  [
    'a newer program',
    (manifest) => (manifest.version = 2),
    /its version is 2, this program reads 1, expected a/,
  ],
  [
    'too few files',
    (manifest) => (manifest.files = manifest.files.filter(({ name }) => !lost.includes(name))),
    /it lacks management.mdb, signing-keys.json, expected a complete backup/,
  ],
  [
    'a changed file and a missing one',
    () => {
      rmSync(join(target, 'visitor.key'));
      writeFileSync(join(target, 'signing-keys.json'), '[{}]');
    },
    /signing-keys.json is damaged: it differs from its hash; visitor.key is missing/,
  ],
  [
    'a data file that was damaged before it was copied',
    (manifest) => {
      const copy = readFileSync(join(target, 'scans.mdb')).fill(0xa5, 0, 4_096);
      writeFileSync(join(target, 'scans.mdb'), copy);
      const sha256 = createHash('sha256').update(copy).digest('hex');
      manifest.files = manifest.files.map((file) =>
        file.name === 'scans.mdb' ? { ...file, sha256 } : file,
      );
    },
    /scans.mdb: page 0 \(meta pages\) is damaged/,
  ],
])('a backup of %s is refused, and nothing is restored', async (_what, change, text) => {
  await taken();
  await expectRefused(change, text);
});

test('a backup with a changed byte in any file, or a name outside of it, is refused', async () => {
  await taken();
  const { files } = manifestOf();
  for (const { name, bytes } of files.filter((file) => file.bytes > 0)) {
    const path = join(target, name);
    const sound = readFileSync(path);
    const flipped = Buffer.from(sound);
    flipped[bytes >> 1]! ^= 1;
    writeFileSync(path, flipped);
    await expectRefused(() => undefined, new RegExp(`${name} is damaged`));
    writeFileSync(path, sound);
  }
  for (const name of ['../outside', '/etc/passwd', 'journal/../../x', './x', 'a//b', '']) {
    const added = [...files, { ...files[0]!, name }];
    await expectRefused((manifest) => (manifest.files = added), /its list of files is not valid/);
  }
});

test('damaged data is not backed up: every fault is named, and nothing is left', async () => {
  rmSync(folder.deliveryFile);
  truncateSync(folder.scansFile, 5_000);
  const message = await refusalOf(taken());
  expect(message).toMatch(
    /Cannot back up .*: its data has faults:\n {2}scans.mdb is damaged: page \d+.*\n {2}delivery.mdb is missing/,
  );
  expect(message).toMatch(/Keep the earlier backups.*stop the service and copy the folder/);
  expect(readdirSync(parent)).toEqual(['data']);
});

test('what the disk does not give is told from what it does not take', async () => {
  const copying = copyFile('/proc/self/mem', join(parent, 'copy'), () => undefined);
  await expect(copying).rejects.toThrow('Cannot copy copy: it cannot be read from byte 0 (EIO)');
  expect(systemReason(systemError('EIO'))).toMatch(/EIO/);
});

test('a link to a file is copied as the file', async () => {
  const secret = join(parent, 'keys');
  renameSync(join(folder.path, 'signing-keys.json'), secret);
  symlinkSync(secret, join(folder.path, 'signing-keys.json'));
  await taken();
  expect(lstatSync(join(target, 'signing-keys.json')).isFile()).toBe(true);
  expect((await restored()).files).toBe(manifestOf().files.length);
});

test('a full disk at any step is said in words, and leaves nothing that looks like a backup', async () => {
  for await (const message of refusalsByCall(3, systemError('ENOSPC'), false, taken)) {
    expect(message).toMatch(/Cannot back up to .*: the disk is full \(ENOSPC\)/);
    expect(readdirSync(parent)).toEqual(['data']);
  }
  expect(existsSync(join(target, 'backup.json'))).toBe(true);
});

test('killed at any step, the target has no backup, or a whole one; the same command makes it', async () => {
  for await (const _ of refusalsByCall(2, new Error('killed'), true, taken)) {
    if (existsSync(target)) expect((await restored()).files).toBe(manifestOf().files.length);
    for (const name of ['restored', 'backup']) {
      rmSync(join(parent, name), { recursive: true, force: true });
    }
  }
  expect(readdirSync(parent).toSorted()).toEqual(['backup', 'data']);
});

test('without enough space nothing is copied', async () => {
  expect(await refusalOf(withFreeBytes(4_096, taken))).toMatch(
    /Cannot back up to .*: 4\.1 kB free there, expected 1\.\d MB; the copy did not start/,
  );
  expect(readdirSync(parent)).toEqual(['data']);
});

test('what a killed backup has left is removed, what another one writes is not', async () => {
  const [killed, other] = ['.backup.4194305.partial', `.backup.${process.ppid}.partial`];
  const strange = '.backups.4194305.partial';
  for (const name of [killed, other, strange]) mkdirSync(join(parent, name));
  await taken();
  expect(readdirSync(parent).toSorted()).toEqual([other, strange, 'backup', 'data'].toSorted());
});

test.each([
  [
    'a folder where none can be created',
    '/proc/quietzone/backup',
    /ENOENT, expected a writable folder/,
  ],
  ['a device', '/dev/null', /ENOTDIR, expected a writable folder/],
  ['a file', 'file', /ENOTDIR, expected a writable folder/],
  ['a folder below a file', 'file/backup', /ENOTDIR, expected a writable folder/],
  ['the data folder', 'data', /is in the data folder, expected one outside/],
  ['a folder in it', 'data/backup', /is in the data folder, expected one outside/],
  ['a folder that is not empty', '.', /it has data, expected an empty folder/],
])('%s as the target is refused', async (_what, name, message) => {
  writeFileSync(join(parent, 'file'), '');
  target = resolve(parent, name);
  expect(await refusalOf(taken())).toMatch(message);
  expect(readdirSync(parent).toSorted()).toEqual(['data', 'file']);
});
test('every file is in the manifest, and the sum of bytes is told on the way', async () => {
  const told = { begun: 0, bytes: 0, files: [] as string[] };
  const { bytes, files } = await taken({
    progress: {
      ...quiet,
      begin: (total) => (told.begun += total),
      add: (more) => (told.bytes += more),
      file: (name) => told.files.push(name),
    },
  });
  const named = manifestOf().files;
  const names = named.map(({ name }) => name).toSorted();
  expect(['backup.json', ...names].toSorted()).toEqual(Object.keys(contentsOf(target)));
  expect([told.files.toSorted(), files]).toEqual([names, names.length]);
  expect(bytes).toBe(named.reduce((sum, { bytes: size }) => sum + size, 0));
  expect(told.bytes).toBeGreaterThanOrEqual(told.begun);
});

const copied = (path: string, to: string, onMeta?: () => Promise<void>): Promise<unknown> =>
  copyEnvironment(path, to, ignore, async () => pinSnapshot(path), onMeta);

/** Copies of a data file beside its writer: each is one moment of it, whole, and says the same on every machine. */
test('a copy and a walk beside a writer see one moment of it', async () => {
  const [accounts, copies] = [3_000, 3];
  const path = join(parent, 'data.mdb');
  const environment = new StoreEnvironment(path, 'create');
  const table = environment.table<number, Account>('accounts');
  environment.transactionSync(() => {
    for (let no = 0; no < accounts; no++) table.put(no, [100, 'x'.repeat(200)]);
  });
  await environment.close();
  const workerData: AccountsOrder = { path, accounts, commits: new SharedArrayBuffer(4) };
  const commits = new Int32Array(workerData.commits);
  const writer = new Worker(new URL('./accounts.worker.ts', import.meta.url), { workerData });
  const moreCommits = async (): Promise<void> => {
    const until = Atomics.load(commits, 0) + 40;
    while (Atomics.load(commits, 0) < until) await sleep(1);
  };
  for (let copy = 0; copy < copies; copy++) {
    const to = join(parent, `copy-${copy}.mdb`);
    // After the meta pages are read, the writer reuses pages, as it does while a large file is copied.
    await copied(path, to, moreCommits);
    expect(walkDataFile(to).fault).toBeUndefined();
    expect(readMeta(to)?.isSynced).toBe(true);
    const other = new StoreEnvironment(to);
    const balances = [...other.table<number, Account>('accounts').range({})];
    expect(balances).toHaveLength(accounts);
    expect(balances.reduce((sum, { value: [balance] }) => sum + balance, 0)).toBe(100 * accounts);
    await other.close();
  }
  // Holds up the walk, as a large file would: a page that one transaction has freed is reused two later.
  const onProgress = (): void => {
    const until = Atomics.load(commits, 0) + 4;
    while (Atomics.load(commits, 0) < until) Atomics.wait(commits, 0, 0, 1);
  };
  for (let walk = 0; walk < copies; walk++) {
    const walked = walkSnapshot(path, { onProgress });
    expect([walked.fault, walked.entries]).toEqual([undefined, accounts]);
  }
  const ended = once(writer, 'exit');
  writer.postMessage('stop');
  await ended;
});

/** As in a container that has a boot id of its own, or after a restart of the machine. */
test.each([
  [6, 'newest'],
  [7, 'newest'],
  [7, 'before'],
] as const)('a copy of another boot is whole: %s commits, %s', async (commits, onDisk) => {
  const [path, to] = [join(parent, 'data.mdb'), join(parent, 'copy.mdb')];
  const environment = new StoreEnvironment(path, 'create');
  const table = environment.table<number, string>('texts');
  for (let no = 1; no <= commits; no++) {
    // Short texts fit into pages that are free; the last one needs more, and makes the file longer.
    const text = 'x'.repeat(no === commits ? 200_000 : 20_000);
    environment.transactionSync(() => table.put(no % 2, text));
    await environment.flush();
  }
  asOfAnotherBoot(path, onDisk);
  await copied(path, to);
  expect(walkDataFile(to).fault).toBeUndefined();
  const other = new StoreEnvironment(to);
  expect(other.table<number, string>('texts').get(commits % 2)).toHaveLength(200_000);
  await other.close();
  await environment.close();
});
