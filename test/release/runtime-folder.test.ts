/** Where the one file lays out its own files, tried with a small pack. */
import { hash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { nativesOf, targets } from '../../config/release/natives.ts';
import {
  openRuntimeFolder,
  type RuntimeFolderOptions,
  unpackForAll,
} from '../../config/release/runtime-folder.ts';
import type { Pack } from '../../src/platform/shipped.ts';

const contents = { 'main.mjs': 'export {};\n', 'native/lmdb.node': 'machine code' };
const part = { fromEnd: 0, size: 0, sha256: '' };
const pack: Pack = {
  id: '0123456789abcdef',
  version: '1.0.0',
  commit: 'c0ffee',
  target: 'linux-x64',
  size: 23,
  probe: 'native/lmdb.node',
  files: Object.entries(contents).map(([name, text]) => ({
    name,
    size: text.length,
    mode: name.endsWith('.node') ? 0o500 : 0o400,
    sha256: hash('sha256', text, 'hex'),
  })),
  parts: { pack: part, places: part, end: part },
  natives: [],
};

const user = process.geteuid?.() ?? 0;
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-runtime-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const loaded: string[] = [];
const options = (
  environment: Record<string, string>,
  load = (path: string): void => void loaded.push(path),
): RuntimeFolderOptions => ({
  pack,
  environment,
  user,
  readFiles: () => Buffer.from(Object.values(contents).join('')),
  load,
});

const open = (root: string): string => openRuntimeFolder(options({ QZ_RUNTIME_DIR: root }));
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

it('lays all files out once, for their owner alone, and loads the probe', () => {
  const root = join(folder, 'a/b');
  const made = open(root);
  expect(made).toBe(join(root, pack.id));
  expect(readFileSync(join(made, 'main.mjs'), 'utf8')).toBe(contents['main.mjs']);
  expect(
    [made, `${made}/native`, `${made}/main.mjs`, `${made}/native/lmdb.node`].map(modeOf),
  ).toEqual(['700', '700', '400', '500']);
  expect(loaded.at(-1)).toBe(join(made, pack.probe));
  const { mtimeMs } = statSync(join(made, 'main.mjs'));
  expect(open(root)).toBe(made);
  expect(statSync(join(made, 'main.mjs')).mtimeMs).toBe(mtimeMs);
  expect(readdirSync(root)).toEqual([pack.id]);
});

it.each(Object.entries(contents))('makes the folder anew where %s is damaged', (name, text) => {
  const path = join(open(folder), name);
  for (const damage of [() => writeFileSync(path, 'x'), () => rmSync(path)]) {
    chmodSync(path, 0o700);
    damage();
    expect(open(folder)).toBe(join(folder, pack.id));
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(readdirSync(folder)).toEqual([pack.id]);
  }
});

it('refuses a folder that others could change', () => {
  const root = join(folder, 'root');
  mkdirSync(root);
  chmodSync(root, 0o777);
  expect(() => open(root)).toThrow(`${root}: other users can write to it`);
  chmodSync(root, 0o700);
  const made = open(root);
  chmodSync(made, 0o720);
  expect(() => open(root)).toThrow('other users can write to it');
  const link = join(folder, 'link');
  symlinkSync(root, link);
  expect(() => open(link)).toThrow(`${link}: it is no folder`);
});

it('refuses a folder of another user, but for root', () => {
  const root = join(folder, 'root');
  mkdirSync(root);
  if (user === 0) chownSync(root, 12_345, 12_345);
  const { uid } = statSync(root);
  const other = { ...options({ QZ_RUNTIME_DIR: root }), user: uid + 1 };
  expect(() => openRuntimeFolder(other)).toThrow(`${root}: it belongs to user ${uid}`);
});

it('goes on to the next folder where the first is mounted noexec, and names every reason', () => {
  const [first, second] = [join(folder, 'service'), join(folder, 'cache')];
  const environment = { CACHE_DIRECTORY: `${first}:/other`, XDG_CACHE_HOME: second };
  const refuse = (path: string): void => {
    if (path.startsWith(first)) throw new Error('failed to map segment');
  };
  expect(openRuntimeFolder(options(environment, refuse))).toBe(join(second, 'quietzone', pack.id));
  const never = (): void => {
    throw new Error('failed to map segment');
  };
  const chosen = options({ ...environment, QZ_RUNTIME_DIR: first }, never);
  expect(() => openRuntimeFolder(chosen)).toThrow(
    /not mounted noexec .*\n {2}\S+service: failed to map segment$/,
  );
});

it('deletes what killed starts and own builds of long ago have left, and nothing else', () => {
  const old = new Date(Date.now() - 100 * 86_400_000);
  const unpacked = '2222222222222222';
  const names = ['.new-abcdef', '.new-abcdef-broken', 'fedcba9876543210', unpacked, 'notes'];
  for (const name of names) {
    mkdirSync(join(folder, name), { mode: name === unpacked ? 0o755 : 0o700 });
    utimesSync(join(folder, name), old, old);
  }
  mkdirSync(join(folder, '.new-fresh1'));
  mkdirSync(join(folder, '1111111111111111'));
  open(folder);
  expect(readdirSync(folder).sort()).toEqual(
    ['.new-fresh1', pack.id, '1111111111111111', unpacked, 'notes'].sort(),
  );
});

it('leaves nothing half made where the file is damaged', () => {
  const broken: RuntimeFolderOptions = {
    ...options({ QZ_RUNTIME_DIR: folder }),
    readFiles: () => {
      throw new Error('the file is damaged');
    },
  };
  expect(() => openRuntimeFolder(broken)).toThrow('the file is damaged');
  expect(readdirSync(folder)).toEqual([]);
});

it('unpacks for every user, whatever the umask', () => {
  const before = process.umask(0o077);
  try {
    const made = unpackForAll(join(folder, 'lib'), options({}));
    const paths = [join(folder, 'lib'), made, `${made}/native`, `${made}/main.mjs`];
    expect([...paths, `${made}/native/lmdb.node`].map(modeOf)).toEqual([
      '755',
      '755',
      '755',
      '444',
      '555',
    ]);
    expect(existsSync(join(made, 'main.mjs'))).toBe(true);
  } finally {
    process.umask(before);
  }
});

const modules = join(import.meta.dirname, '../../node_modules');
const target = targets.find((name) => name === `linux-${process.arch}`)!;

it('every native file has a package and its version', () => {
  const natives = nativesOf(target, modules);
  expect(natives.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['native/uws.node', 'native/lmdb.node']),
  );
  for (const { package: from, version } of natives) expect(`${from} ${version}`).toMatch(/^\S+ \d/);
  expect(natives[0]).toMatchObject({ folder: 'uWebSockets.js', package: 'uws-pack' });
});

it('a package that is not installed is named', () => {
  expect(() => nativesOf(target, '/nowhere')).toThrow(
    /^Cannot find a \.node file in @img\/sharp-linux-\w+\/lib$/,
  );
});
