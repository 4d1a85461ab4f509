/**
 * Where the program is tried: in an empty folder, with no environment but its settings; and, where this user may, in
 * a root folder of its own that holds the file, the shared libraries that it needs, /proc and /dev, and nothing else:
 * no shell, no Node, no /tmp, no /etc.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The executable, and what comes before the program's own arguments. */
export type Program = readonly [executable: string, ...args: string[]];

export interface Place {
  readonly name: string;
  /** Empty at first; the program starts in it. */
  readonly folder: string;
  /** `folder` as the program sees it. */
  readonly seenAs: string;
  start(args: readonly string[], environment: Readonly<Record<string, string>>): ChildProcess;
  close(): void;
}

const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];

export function openFolder(program: Program): Place {
  const parent = mkdtempSync(join(tmpdir(), 'quietzone-binary-'));
  const folder = join(parent, 'work');
  mkdirSync(folder);
  const [executable, ...first] = program;
  // This user's own cache is not touched.
  const cache = { XDG_CACHE_HOME: join(parent, 'cache') };
  return {
    name: 'an empty folder',
    folder,
    seenAs: folder,
    start: (args, environment) =>
      spawn(executable, [...first, ...args], {
        cwd: folder,
        env: { ...cache, ...environment },
        stdio,
      }),
    close: () => rmSync(parent, { recursive: true, force: true }),
  };
}

/** Whose program runs there: root's with everything writable, or another user's with nothing but `data`. */
export type RootUse = 'whole' | 'read-only';

const user = 65_532;

/** @throws Error where this user may not mount, or there is no `chroot` */
export function openRoot(file: string, use: RootUse): Place {
  const chroot = ['/usr/sbin/chroot', '/usr/bin/chroot'].find((path) => existsSync(path));
  if (chroot === undefined) throw new Error('Cannot try a root folder: there is no chroot');
  const root = mkdtempSync(join(tmpdir(), 'quietzone-root-'));
  chmodSync(root, 0o755);
  const mounted: string[] = [];
  const mount = (path: string, ...options: string[]): void => {
    execFileSync('mount', [...options, path], { stdio: 'pipe' });
    mounted.unshift(path);
  };
  const close = (): void => {
    for (const path of mounted.splice(0)) execFileSync('umount', ['--lazy', path]);
    rmSync(root, { recursive: true, force: true });
  };
  const first = use === 'whole' ? [root] : [`--userspec=${user}:${user}`, root];
  try {
    const libraries = fillRoot(root, file);
    if (use === 'read-only') {
      mkdirSync(join(root, 'data'));
      execFileSync(file, ['unpack', join(root, 'usr/lib/quietzone/runtime')], { env: {} });
      mount(root, '--bind', root);
      execFileSync('mount', ['-o', 'remount,bind,ro', root], { stdio: 'pipe' });
      mount(join(root, 'data'), '-t', 'tmpfs', '-o', `uid=${user},mode=700`, 'tmpfs');
    }
    for (const name of kernelFolders) mount(join(root, name), '--bind', `/${name}`);
    return {
      name: `a root folder with the file, ${libraries} libraries, /proc and /dev`,
      folder: root,
      seenAs: '/',
      start: (args, env) => spawn(chroot, [...first, '/quietzone', ...args], { env, stdio }),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** What the program needs of the kernel. */
const kernelFolders = ['proc', 'dev'];

/** @returns how many libraries are in it */
function fillRoot(root: string, file: string): number {
  const libraries = librariesOf(file);
  for (const path of libraries) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    copyFileSync(path, join(root, path));
  }
  for (const name of kernelFolders) mkdirSync(join(root, name));
  copyFileSync(file, join(root, 'quietzone'));
  return libraries.length;
}

/** Paths of the shared libraries of this machine that the file and its native files need, and theirs. */
function librariesOf(file: string): string[] {
  const unpacked = mkdtempSync(join(tmpdir(), 'quietzone-unpacked-'));
  try {
    execFileSync(file, ['unpack', unpacked], { env: {}, stdio: 'pipe' });
    const natives = globSync('**/*.{node,so,so.*}', { cwd: unpacked });
    const paths = [file, ...natives.map((path) => join(unpacked, path))];
    const text = execFileSync('ldd', paths, { encoding: 'utf8' });
    const found = [...text.matchAll(/\s(\/\S+) \(/g)].map(([, path = '']) => path);
    return [...new Set(found)].filter((path) => !path.startsWith(unpacked));
  } finally {
    rmSync(unpacked, { recursive: true, force: true });
  }
}
