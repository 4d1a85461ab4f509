/**
 * Which parts of a data folder fit together: each part missing, empty, of another installation, older, of another copy,
 * without a mark, damaged and changed; a stop at every step of a first start and of a later one.
 */
import fs, {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it, test, vi } from 'vitest';
import { openDataFolder, openExistingDataFolder } from '../../../src/app/folder/data-folder.ts';
import { writeJournalMark } from '../../../src/app/folder/folder-parts.ts';
import {
  assertSound,
  backupMark,
  beginScansAnew,
  inspectFolder,
  markCopy,
} from '../../../src/app/folder/installation.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { rotateSigningKeys } from '../../../src/product/workspaces/signing-keys.ts';
import { withDisk } from './failing-disk.ts';
import { contentsOf } from './whole-folder.ts';
import {
  faultsIn,
  make,
  makeFolders,
  mark,
  parts,
  put as putInto,
  randomBytes,
  removeMark,
} from './folders.ts';

const { parent, first, later, other, data } = await makeFolders();
const begin = (): void => {
  rmSync(data, { recursive: true, force: true });
  cpSync(later, data, { recursive: true });
};
beforeEach(begin);

const faults = (): Promise<string[]> => faultsIn(data);
const put = (part: string, from: string): void => putInto(data, part, from);
/** A copy of a folder, which has been started again. */
async function copyOf(folder: string, starts: number): Promise<string> {
  const copy = mkdtempSync(join(parent, 'copy-'));
  cpSync(folder, copy, { recursive: true });
  for (let start = 0; start < starts; start++) await mark(copy);
  return copy;
}

test('a file of another user: names owner and remedy, not damage', async () => {
  const file = join(later, 'management.mdb');
  const accessSync = (path: unknown): void => {
    if (path === file) throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
  };
  await expect(withDisk({ sync: { accessSync } }, () => faultsIn(later))).rejects.toThrow(
    `it belongs to user ${statSync(file).uid}, and this process runs as user ${process.geteuid?.()} (EACCES). ` +
      `The data is intact: run \`chown -R --reference=${later} ${later}\``,
  );
});

const stores = ['management.mdb', 'scans.mdb'];
test.each(stores)('%s and delivery.mdb exchanged are named as swapped', async (name) => {
  cpSync(join(later, name), join(data, 'delivery.mdb'));
  cpSync(join(later, 'delivery.mdb'), join(data, name));
  await expect(faults()).rejects.toThrow(/it is a \w+\.mdb, expected a .*: files were swapped/);
});

const foreign = 'is of another installation';
const unknownKey = 'is not the key of management.mdb';

test.each(parts)('%s is refused where it is missing, empty or of another folder', async (part) => {
  rmSync(join(data, part), { recursive: true });
  expect(await faults()).toEqual([`${part} is missing`]);
  if (part === 'journal') mkdirSync(join(data, part));
  else writeFileSync(join(data, part), '');
  const empty = part === 'journal' ? 'has no mark of an installation' : 'is empty';
  expect(await faults()).toEqual([`${part} ${empty}`]);
  put(part, other);
  const others = parts.filter((name) =>
    part === 'management.mdb' ? name !== part : name === part,
  );
  expect(await faults()).toEqual(
    others.map((name) => `${name} ${/key/.test(name) ? unknownKey : foreign}`),
  );
});

test.each(['management.mdb', 'scans.mdb', 'delivery.mdb', 'journal'])(
  '%s is refused where it is older or has no mark',
  async (part) => {
    await removeMark(data, part);
    expect(await faults()).toEqual([`${part} has no mark of an installation`]);
    put(part, first);
    const isNewer = (name: string): string => `${name} is a newer copy than management.mdb`;
    expect(await faults()).toEqual(
      part === 'management.mdb'
        ? ['scans.mdb', 'delivery.mdb', 'journal'].map(isNewer)
        : [`${part} is an older copy than management.mdb`],
    );
  },
);

it.each(parts)('%s is refused where it is damaged', async (part) => {
  const file = part === 'journal' ? join(part, 'installation.json') : part;
  writeFileSync(join(data, file), 'x'.repeat(8_192));
  expect(await faults()).toEqual([expect.stringContaining(`${part} is damaged: `)]);
});

test('one copy of a number may be damaged, not both', async () => {
  for (const table of ['meta', 'meta_copy']) {
    expect(await faults()).toEqual([]);
    const stored = new StoredBytes(join(data, 'scans.mdb'));
    const key = stored.keys(table).find((found) => found.includes('sequence'));
    if (key !== undefined) stored.flip(table, key, 42);
    await stored.close();
  }
  expect(await faults()).toEqual(['scans.mdb is damaged: both copies of sequence are damaged']);
});

test.each([
  ['missing', () => rmSync(join(data, 'scans.mdb'))],
  ['empty', () => writeFileSync(join(data, 'scans.mdb'), '')],
  ['of another installation', () => put('scans.mdb', other)],
  ['an older copy', () => put('scans.mdb', first)],
])('scans.mdb that is %s is begun anew, and set aside', async (_state, change) => {
  for (const n of [1, 2]) {
    change();
    const folder = openDataFolder(data);
    const isThere = existsSync(folder.scansFile);
    const aside = await beginScansAnew(folder, await inspectFolder(folder));
    expect(aside).toBe(isThere ? `${folder.scansFile}.set-aside-${n}` : undefined);
    expect(await faults()).toEqual([]);
    await mark(data);
    expect(await faults()).toEqual([]);
    if (aside !== undefined) expect(existsSync(aside)).toBe(true);
  }
});

test('a folder with its journals alone, or what only a service makes, has faults and is no empty one', async () => {
  rmSync(data, { recursive: true });
  mkdirSync(data);
  writeFileSync(join(data, 'delivery.results.0'), '');
  expect(await faults()).toContain('management.mdb is missing');
  rmSync(join(data, 'delivery.results.0'));
  cpSync(join(later, 'journal'), join(data, 'journal'), { recursive: true });
  expect(openExistingDataFolder(data).path).toBe(data);
  expect(await faults()).toContain('management.mdb is missing');
});

test('a newer part, one of a copy that another service has used, and all faults in one message', async () => {
  put('scans.mdb', await copyOf(later, 1));
  put('delivery.mdb', await copyOf(first, 2));
  rmSync(join(data, 'visitor.key'));
  appendFileSync(join(data, 'signing-keys.json'), ' ]');
  const before = contentsOf(data);
  const inspection = await inspectFolder(openDataFolder(data));
  expect(() => assertSound('start', openDataFolder(data), inspection)).toThrow(
    [
      `Cannot start: data folder ${data} has faults`,
      '  scans.mdb is a newer copy than management.mdb',
      '  delivery.mdb is of a copy of this folder that another service has used',
      '  signing-keys.json is damaged: it is not JSON',
      '  visitor.key is missing',
      'Nothing was changed. Put back the right files',
    ].join('\n'),
  );
  expect(contentsOf(data)).toEqual(before);
});

const stop = new Error('stopped');

/** Runs `work` until its n-th commit or renamed file. @returns whether it ended before that */
async function stopAt(step: number, work: () => Promise<unknown>): Promise<boolean> {
  let steps = 0;
  const count = (): void => {
    if (++steps === step) throw stop;
  };
  const transaction = Reflect.get(StoreEnvironment.prototype, 'transaction');
  vi.spyOn(StoreEnvironment.prototype, 'transaction').mockImplementation(async function (
    this: StoreEnvironment,
    change: () => unknown,
  ) {
    count();
    return await Reflect.apply(transaction, this, [change]);
  });
  const rename = fs.renameSync;
  const renameSync = (from: unknown, to: unknown): void => {
    count();
    rename(String(from), String(to));
  };
  try {
    await withDisk({ sync: { renameSync } }, work);
    return true;
  } catch (error) {
    if (error !== stop) throw error;
    return false;
  } finally {
    vi.restoreAllMocks();
  }
}

it('a first start that stops at any step is continued by the next', async () => {
  for (let step = 1, isWhole = false; !isWhole; step++) {
    rmSync(data, { recursive: true, force: true });
    isWhole = await stopAt(step, () => make(data));
    if (isWhole) expect(step).toBe(9);
    const stopped = await inspectFolder(openDataFolder(data));
    expect([stopped.faults, stopped.isUnfinished]).toEqual([[], !isWhole]);
    await make(data);
    await mark(data);
    expect(readdirSync(data)).toEqual(expect.arrayContaining([...parts]));
    expect(await faults()).toEqual([]);
  }
});

it('a later start that stops at any step is continued by the next, and older copies are refused', async () => {
  for (let step = 1, isWhole = false; !isWhole; step++) {
    begin();
    isWhole = await stopAt(step, () => mark(data));
    if (isWhole) expect(step).toBe(6);
    expect(await faults()).toEqual([]);
    await mark(data);
    await mark(data);
    expect(await faults()).toEqual([]);
    put('scans.mdb', later);
    expect(await faults()).toHaveLength(1);
  }
});
test('an empty management.mdb beside scans is no first start', async () => {
  rmSync(join(data, 'management.mdb'));
  await new StoreEnvironment(join(data, 'management.mdb'), 'create').close();
  expect(await faults()).toEqual(['management.mdb is empty']);
});

const file = (): string => join(data, 'signing-keys.json');
const keys = (): Array<{ kid: string; secret: string }> =>
  JSON.parse(readFileSync(file(), 'utf8')).keys;
const write = (list: unknown): void => writeFileSync(file(), JSON.stringify({ keys: list }));

it('a rotation of keys that a crash cut off, and a key that was taken out, are accepted', async () => {
  rotateSigningKeys(data, randomBytes);
  expect(await faults()).toEqual([]);
  await mark(data);
  const [newest, oldest] = keys();
  for (const list of [[newest], [newest, oldest]]) {
    write(list);
    expect(await faults()).toEqual([]);
    await mark(data);
  }
});

it('another secret under a known key id is refused', async () => {
  rotateSigningKeys(data, randomBytes);
  await mark(data);
  const [newest, oldest] = keys();
  write([newest, { ...oldest, secret: newest?.secret }]);
  expect(await faults()).toEqual([
    `signing-keys.json has another secret for signing-keys.json/${oldest?.kid} than management.mdb knows`,
  ]);
});
/** As a backup marks its copies. */
async function markAll(path: string): Promise<void> {
  const mark = backupMark(await inspectFolder(openDataFolder(path)));
  for (const name of ['scans.mdb', 'delivery.mdb', 'management.mdb']) {
    await markCopy(join(path, name), mark);
  }
  writeJournalMark(join(path, 'journal'), mark);
}

test('copies of a backup across a start get one mark; those of two do not mix', async () => {
  const before = await copyOf(data, 0);
  await mark(data);
  for (const part of ['delivery.mdb', 'scans.mdb']) put(part, before);
  expect(await faults()).toHaveLength(2);
  await markAll(data);
  expect(await faults()).toEqual([]);
  const second = await copyOf(data, 0);
  await markAll(second);
  put('scans.mdb', second);
  expect(await faults()).toEqual([
    'scans.mdb is of a copy of this folder that another service has used',
  ]);
});

test('a store is not made by opening it', async () => {
  rmSync(join(data, 'scans.mdb'));
  expect(() => openScanStore(join(data, 'scans.mdb'))).toThrow(/does not exist, expected a data/);
  expect(await faults()).toEqual(['scans.mdb is missing']);
});
