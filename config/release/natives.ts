/**
 * The files of machine code of a target: where each is taken from, and its place in the runtime folder. sharp finds
 * libvips by a path relative to itself, so both keep the names that their packages have.
 *
 *   UWS_NODE=FILE    another build of uWebSockets.js, for Node's module version 127
 *   LMDB_NODE=FILE   another build of lmdb, such as the one that lmdb.ts makes for an older glibc
 */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const targets = ['linux-x64', 'linux-arm64'] as const;
export type Target = (typeof targets)[number];

export interface NativeSource {
  /** Path in the runtime folder. */
  readonly name: string;
  readonly file: string;
  /** Of its package in node_modules, or of the one that the given file replaces: its licenses hold for both. */
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
export function nativesOf(
  target: Target,
  modules: string,
  environment: Readonly<Record<string, string | undefined>>,
): NativeSource[] {
  const take = (name: string, from: string, path: string): NativeSource => {
    const file = join(modules, from, path);
    if (!existsSync(file))
      throw new Error(`Cannot find ${from}/${path}, expected it for ${target}`);
    return { name, file, ...packageAt(modules, from) };
  };
  const takeOrGiven = (
    name: string,
    variable: string,
    from: string,
    path: string,
  ): NativeSource => {
    const file = environment[variable];
    if (file === undefined || file === '') return take(name, from, path);
    return { name, file, folder: from, package: `given by ${variable}`, version: '' };
  };
  const uwsFile = `dist/bin/uws_${target.replace('-', '_')}_${moduleVersion}.node`;
  const lmdbFile = `node.abi${moduleVersion}.glibc.node`;
  const sharp = `@img/sharp-${target}`;
  const vips = `@img/sharp-libvips-${target}`;
  return [
    takeOrGiven(nativeNames.uws, 'UWS_NODE', 'uWebSockets.js', uwsFile),
    takeOrGiven(nativeNames.lmdb, 'LMDB_NODE', `@lmdb/lmdb-${target}`, lmdbFile),
    ...msgpackrOf(target, modules),
    ...filesOf(modules, sharp, '.node').map((file) => take(sharpName(target), sharp, file)),
    ...filesOf(modules, vips, '.so').map((file) =>
      take(`native/sharp-libvips-${target}/${file}`, vips, file),
    ),
  ];
}

/** @throws Error for a file that Node 22 would not load as an addon */
export function assertAddon(file: string): void {
  const registers = [`node_register_module_v${moduleVersion}`, 'napi_register_module_v1'];
  const bytes = readFileSync(file);
  if (file.includes('.so') || registers.some((name) => bytes.includes(name))) return;
  throw new Error(
    `Cannot build ${file} in, expected an addon for Node's module version ${moduleVersion}`,
  );
}

/** Published for glibc on x64 alone: elsewhere msgpackr runs without it. */
function msgpackrOf(target: Target, modules: string): NativeSource[] {
  const from = `@msgpackr-extract/msgpackr-extract-${target}`;
  const file = join(modules, from, 'node.napi.glibc.node');
  if (!existsSync(file)) return [];
  return [{ name: nativeNames.msgpackr, file, ...packageAt(modules, from) }];
}

/** Files of a package's folder lib, by a part of their name. */
function filesOf(modules: string, from: string, part: string): string[] {
  const names = readdirSync(join(modules, from, 'lib')).filter((name) => name.includes(part));
  if (names.length === 0) throw new Error(`Cannot find a ${part} file in ${from}/lib`);
  return names.sort().map((name) => `lib/${name}`);
}

function packageAt(
  modules: string,
  folder: string,
): Pick<NativeSource, 'folder' | 'package' | 'version'> {
  const manifest: unknown = JSON.parse(readFileSync(join(modules, folder, 'package.json'), 'utf8'));
  const text = (key: string): string => String(Reflect.get(Object(manifest), key));
  return { folder, package: text('name'), version: text('version') };
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
