/**
 * Where the one file lays out its own files: native code, and the program that loads it.
 *
 *   <root>/<16 hexadecimal digits of the pack>/     0700, files 0400, native ones 0500
 *   <root>/.new-XXXXXX/                             being made; renamed when it is whole
 *
 * The files there are run, so a folder must belong to this user or to root, and no other user may write to it. Each start
 * checks every file by its SHA-256 and makes a damaged folder again. Never in the data folder, which
 * a restore expects to be empty.
 */
import { hash } from 'node:crypto';
import {
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import type { Pack, PackFile } from '../../src/platform/shipped.ts';

/** Filled by `quietzone unpack`, of a package or an image: then nothing has to be writable at run time. */
export const installedRoot = '/usr/lib/quietzone/runtime';

const dayMs = 86_400_000;
/** Older than this, an unfinished folder was left by a start that was killed. */
const draftMsMax = dayMs / 24;
/** Not touched for so long, the folder of another build is deleted; a running service touches its own every day. */
const unusedMsMax = 90 * dayMs;
const folderName = /^(\.new-\w{6}(-broken)?|[0-9a-f]{16})$/;
/** Of group and others. */
const writableByOthers = 0o022;
const usableByOthers = 0o055;

export interface RuntimeFolderOptions {
  readonly pack: Pack;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The number of the user that runs this. */
  readonly user: number;
  /** All files in a row, decompressed. @throws Error where the one file is damaged */
  readonly readFiles: () => Uint8Array;
  /** Loads a native file. @throws Error where the folder is mounted noexec */
  readonly load: (path: string) => void;
}

/** Returns the folder with all files in it. @throws Error with a line for each root that was tried */
export function openRuntimeFolder(options: RuntimeFolderOptions): string {
  const { pack, load } = options;
  const reasons: string[] = [];
  for (const root of rootsOf(options)) {
    const folder = join(root, pack.id);
    if (root === installedRoot && !existsSync(folder)) continue;
    try {
      mkdirSync(root, { recursive: true, mode: 0o700 });
      assertClosed(root, options.user);
      if (!isIntact(folder, options)) layOut(root, options, 'owner');
      // Fails here, and not later in the program, where nothing may be run from this folder.
      load(join(folder, pack.probe));
      deleteOld(root, folder);
      return folder;
    } catch (error) {
      reasons.push(`  ${root}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const expected =
    'expected one that is writable, owned by this user and not mounted noexec (QZ_RUNTIME_DIR names one), or root to run `quietzone unpack` once';
  throw new Error(
    `Cannot start: there is no folder for the program's own files, ${expected}\n${reasons.join('\n')}`,
  );
}

/**
 * `quietzone unpack`: for every user of the machine to run. Returns the folder. Those of other builds stay, because a
 * service may still run from one.
 */
export function unpackForAll(root: string, options: RuntimeFolderOptions): string {
  const umask = process.umask(0o022);
  try {
    const folder = join(root, options.pack.id);
    mkdirSync(root, { recursive: true, mode: 0o755 });
    assertClosed(root, options.user);
    if (!isIntact(folder, options)) layOut(root, options, 'all');
    return folder;
  } finally {
    process.umask(umask);
  }
}

/** Shows to others that the folder is in use. */
export function touch(folder: string): void {
  try {
    const now = new Date();
    utimesSync(folder, now, now);
  } catch {
    // It is root's, or on a read-only disk: no other build can delete it.
  }
}

function rootsOf({ environment, user }: RuntimeFolderOptions): string[] {
  const chosen = environment['QZ_RUNTIME_DIR'];
  if (chosen !== undefined && chosen !== '') return [chosen];
  const { CACHE_DIRECTORY: service = '', XDG_CACHE_HOME: cache = '' } = environment;
  const home = homeFolder();
  return [
    installedRoot,
    // Set by systemd; may be a list.
    ...(service === '' ? [] : [service.split(':')[0] ?? service]),
    ...(cache === '' ? [] : [join(cache, 'quietzone')]),
    ...(home === undefined ? [] : [join(home, '.cache/quietzone')]),
    ...(user === 0 ? ['/var/cache/quietzone'] : []),
    join(tmpdir(), `quietzone-${user}`),
    join('/dev/shm', `quietzone-${user}`),
  ];
}

/** From the user database: `HOME` may be another user's, or missing. */
function homeFolder(): string | undefined {
  try {
    const { homedir } = userInfo();
    return homedir === '' || homedir === '/' ? undefined : homedir;
  } catch {
    return undefined;
  }
}

/** @throws Error where others could change what is run from there */
function assertClosed(path: string, user: number): void {
  const { uid, mode } = lstatSync(path);
  if ((mode & constants.S_IFMT) !== constants.S_IFDIR) throw new Error('it is no folder');
  if (uid !== user && uid !== 0) throw new Error(`it belongs to user ${uid}`);
  if ((mode & writableByOthers) !== 0) throw new Error('other users can write to it');
}

function isIntact(folder: string, { pack, user }: RuntimeFolderOptions): boolean {
  if (!existsSync(folder)) return false;
  assertClosed(folder, user);
  return pack.files.every((file) => isAsPacked(join(folder, file.name), file));
}

function isAsPacked(path: string, { size, sha256 }: PackFile): boolean {
  try {
    const bytes = readFileSync(path);
    return bytes.length === size && hash('sha256', bytes, 'hex') === sha256;
  } catch {
    return false;
  }
}

/** Group and others get what the owner has, except writing. */
function readableByAll(mode: number): number {
  return mode | ((mode & 0o500) >> 3) | ((mode & 0o500) >> 6);
}

function layOut(root: string, options: RuntimeFolderOptions, reader: 'owner' | 'all'): void {
  const { pack, readFiles } = options;
  const modeFor = (mode: number): number => (reader === 'all' ? readableByAll(mode) : mode);
  const bytes = readFiles();
  const draft = mkdtempSync(join(root, '.new-'));
  try {
    let at = 0;
    for (const { name, size, mode } of pack.files) {
      const path = join(draft, name);
      mkdirSync(dirname(path), { recursive: true, mode: modeFor(0o700) });
      writeFileSync(path, bytes.subarray(at, at + size), { mode: modeFor(mode), flag: 'wx' });
      at += size;
    }
    chmodSync(draft, modeFor(0o700));
    putInPlace(draft, join(root, pack.id), options);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Another process may have been faster, or the folder is there and damaged. */
function putInPlace(draft: string, folder: string, options: RuntimeFolderOptions): void {
  try {
    renameSync(draft, folder);
    return;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
  if (isIntact(folder, options)) return;
  const broken = `${draft}-broken`;
  renameSync(folder, broken);
  renameSync(draft, folder);
  rmSync(broken, { recursive: true, force: true });
}

/** Deletes unfinished folders of killed starts, and this user's folders of builds that are no longer used. */
function deleteOld(root: string, folder: string): void {
  touch(folder);
  try {
    const others = readdirSync(root).filter((name) => folderName.test(name));
    for (const name of others) {
      const path = join(root, name);
      const { mode, mtimeMs } = statSync(path);
      const isDraft = name.startsWith('.new-');
      // Another user may run what `unpack` laid out, and cannot touch it.
      if (path === folder || (!isDraft && (mode & usableByOthers) !== 0)) continue;
      if (Date.now() - mtimeMs > (isDraft ? draftMsMax : unusedMsMax)) {
        rmSync(path, { recursive: true, force: true });
      }
    }
  } catch {
    // A folder that stays only takes disk space.
  }
}
