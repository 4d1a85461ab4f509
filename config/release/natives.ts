/**
 * The files of machine code of a target: where each is taken from, and its place in the runtime folder. sharp finds
 * libvips by a path relative to itself, so both keep the names that their packages have.
 */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const targets = ['linux-x64', 'linux-arm64'] as const;
export type Target = (typeof targets)[number];

/** Names of a target at Debian, compilers and `readelf`. */
export const platforms: Readonly<
  Record<Target, { readonly debian: string; readonly triple: string; readonly machine: string }>
> = {
  'linux-x64': { debian: 'amd64', triple: 'x86_64-linux-gnu', machine: 'X86-64' },
  'linux-arm64': { debian: 'arm64', triple: 'aarch64-linux-gnu', machine: 'AArch64' },
};

export interface NativeSource {
  /** Path in the runtime folder. */
  readonly name: string;
  readonly file: string;
  /** Of its package in node_modules. */
  readonly folder: string;
  /** As it is published, which package.json may give another name here. */
  readonly package: string;
  readonly version: string;
}

/** Of Node 22, for which uWebSockets.js and lmdb are compiled. */
const moduleVersion = 127;
const keyDigits = 16;

export const nativeNames = {
  uws: 'native/uws.node',
  lmdb: 'native/lmdb.node',
  msgpackr: 'native/msgpackr-extract.node',
} as const;

export const sharpName = (target: Target): string => `native/sharp-${target}/lib/sharp.node`;

/**
 * @param modules a node_modules folder with the packages of the target
 * @throws Error where a file is missing
 */
export function nativesOf(target: Target, modules: string): NativeSource[] {
  const uws = `dist/bin/uws_${target.replace('-', '_')}_${moduleVersion}.node`;
  const lmdb = [`@lmdb/lmdb-${target}`, `node.abi${moduleVersion}.glibc.node`] as const;
  const msgpackr = [
    `@msgpackr-extract/msgpackr-extract-${target}`,
    'node.napi.glibc.node',
  ] as const;
  const sharp = `@img/sharp-${target}`;
  const vips = `@img/sharp-libvips-${target}`;
  const wanted: ReadonlyArray<readonly [name: string, folder: string, path: string]> = [
    [nativeNames.uws, 'uWebSockets.js', uws],
    [nativeNames.lmdb, ...lmdb],
    // Published for glibc on x64 alone: elsewhere msgpackr runs without it.
    ...(existsSync(join(modules, ...msgpackr))
      ? [[nativeNames.msgpackr, ...msgpackr] as const]
      : []),
    ...filesOf(modules, sharp, '.node').map((path) => [sharpName(target), sharp, path] as const),
    ...filesOf(modules, vips, '.so').map(
      (path) => [`native/sharp-libvips-${target}/${path}`, vips, path] as const,
    ),
  ];
  return wanted.map(([name, folder, path]) => {
    const file = join(modules, folder, path);
    if (!existsSync(file))
      throw new Error(`Cannot find ${folder}/${path}, expected it for ${target}`);
    const manifest: object = JSON.parse(
      readFileSync(join(modules, folder, 'package.json'), 'utf8'),
    );
    const text = (key: string): string => String(Reflect.get(manifest, key));
    return { name, folder, file, package: text('name'), version: text('version') };
  });
}

/** Files of a package's folder lib, by a part of their name. */
function filesOf(modules: string, from: string, part: string): string[] {
  const folder = join(modules, from, 'lib');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.includes(part)) : [];
  if (names.length === 0) throw new Error(`Cannot find a ${part} file in ${from}/lib`);
  return names.sort().map((name) => `lib/${name}`);
}

/** Returns a node_modules folder with the native packages of `target`, of the versions that are locked. */
export async function modulesOf(root: string, target: Target): Promise<string> {
  const own = join(root, 'node_modules');
  if (target === `${process.platform}-${process.arch}`) return own;
  const key = hash('sha256', readFileSync(join(root, 'package-lock.json')), 'hex');
  const folder = join(own, '.cache/quietzone-build', `${target}-${key.slice(0, keyDigits)}`);
  if (!existsSync(folder)) await install(root, target, folder);
  return join(folder, 'node_modules');
}

/** Runs none of the packages' scripts. */
async function install(root: string, target: Target, folder: string): Promise<void> {
  const draft = `${folder}.${process.pid}.new`;
  await mkdir(draft, { recursive: true });
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
      await cp(join(root, name), join(draft, name));
    }
    const [os = '', cpu = ''] = target.split('-');
    const only = ['--omit=dev', `--os=${os}`, `--cpu=${cpu}`, '--libc=glibc', '--ignore-scripts'];
    await promisify(execFile)('npm', ['ci', ...only], { cwd: draft });
    await rename(draft, folder);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
