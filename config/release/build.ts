/**
 * Makes the one file for each target and what goes with it, on any machine that has Node, npm and git:
 *
 *   npm run build [-- linux-x64 linux-arm64] [--out DIR] [--quick]
 *
 *   sources ─ bundle ─┐
 *   native files ─────┼─ pack ─ dist/<target>/quietzone ─ .zst, .deb, image, bill of materials ─ dist/SHA256SUMS
 *   dashboard, geo ───┘
 *
 *   bundle.ts           the program and its threads as JavaScript
 *   natives.ts          native files, from the packages that modules.ts finds; elf.ts reads the glibc that they need
 *   geo-files.ts        the geo data as a table; `npm ci` does that too, check-geo.ts compares it with the original
 *   pack.ts             all files of the runtime folder as one, with their SHA-256
 *   executable.ts       Node, the code that runs first, and the data behind it
 *   packages/           what is made of the executable; archive.ts has tar and ar, compress.ts zstd and gzip
 *
 * What the executable runs first: boot.ts, which lays its files out with runtime-folder.ts. A step of its own, for an
 * older glibc: lmdb.ts, with Debian's packages by debian-package.ts.
 *
 * The same commit gives the same bytes, in any folder. `--quick` makes the file alone, compressed little, to be tried.
 *
 *   UWS_NODE, LMDB_NODE                other native files (natives.ts)
 *   IMAGE_LIBRARIES or DEBIAN_MIRROR   where the image's shared libraries come from (packages/libraries.ts)
 *   COMMIT, SOURCE_DATE_EPOCH          where there is no repository
 */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serialize } from 'node:v8';
import { shipped } from '../../src/shipped.ts';
import { buildTime, imageLibraries, writeArtifacts } from './packages/artifacts.ts';
import { bundleBoot, bundleProgram } from './bundle.ts';
import { writeChecksums } from './packages/checksums.ts';
import { zstdLevels } from './compress.ts';
import { buildDashboard } from './dashboard.ts';
import { assertRuns, type Glibc } from './elf.ts';
import { makeExecutable } from './executable.ts';
import { geoPackages, makeGeoTable } from './geo-files.ts';
import { licencesText, thirdParty, type ThirdPartyPackage } from './packages/licences.ts';
import { modulesOf } from './modules.ts';
import {
  assertAddon,
  nativeNames,
  nativesOf,
  type NativeSource,
  type Target,
  targets,
} from './natives.ts';
import { makePack, modeOf, sha256 } from './pack.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const startedMs = performance.now();
const commitDigits = 12;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string' }, quick: { type: 'boolean' } },
});
const level = values.quick === true ? zstdLevels.quick : zstdLevels.full;

const report = (text: string): void => {
  process.stdout.write(`${((performance.now() - startedMs) / 1_000).toFixed(1)} s  ${text}\n`);
};

function targetsOf(names: readonly string[]): readonly Target[] {
  if (names.length === 0) return targets;
  return names.map((name) => {
    const found = targets.find((target) => target === name);
    if (found !== undefined) return found;
    throw new Error(`Cannot build ${name}, expected ${targets.join(' or ')}`);
  });
}

/** The full id: COMMIT, else that of the repository. */
function commitOf(): string {
  const { COMMIT: given = '' } = process.env;
  if (given !== '') return given;
  return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
}

/** The names that `shipped.text` takes. */
async function textNames(): Promise<string[]> {
  const guides = await readdir(join(root, 'src/api/docs/guides'));
  return ['page.js', ...guides.map((name) => `guides/${name}`)];
}

/** The oldest glibc that every native file runs on. @throws Error for a file that needs a newer one than it should */
async function checkFloor(
  target: Target,
  natives: readonly NativeSource[],
  node: string,
): Promise<Glibc> {
  const hasOwnLmdb = (process.env['LMDB_NODE'] ?? '') !== '';
  // The published lmdb alone needs more than 2.28.
  const glibc = hasOwnLmdb ? '2.28' : '2.34';
  for (const file of [node, ...natives.map((native) => native.file)]) {
    const bytes = await readFile(file);
    assertRuns(file, bytes, target, glibc);
    if (file !== node) assertAddon(file, bytes);
  }
  report(`every native file runs on glibc ${glibc}`);
  return glibc;
}

interface Source {
  readonly target: Target;
  readonly version: string;
  readonly modules: string;
  readonly natives: readonly NativeSource[];
}

/** Everything that lies in the runtime folder, by its path there, the packages that it is made of, and their licences. */
async function gather(source: Source): Promise<{
  files: Map<string, Uint8Array>;
  packages: ThirdPartyPackage[];
  licences: string;
}> {
  const { target, version, modules, natives } = source;
  const hasMsgpackrNative = natives.some(({ name }) => name === nativeNames.msgpackr);
  const program = await bundleProgram({ root, target, hasMsgpackrNative });
  report(`program bundled from ${program.inputs.length} files`);
  const files = new Map(program.files);
  for (const { name, file } of natives) files.set(name, await readFile(file));
  for (const name of await textNames()) files.set(name, Buffer.from(shipped.text(name)));
  files.set('zxing_reader.wasm', shipped.decoder());
  const dashboard = await buildDashboard();
  files.set('dashboard.bin', serialize(dashboard.files));
  const packages = thirdParty({
    root,
    modules,
    bundled: [...program.inputs, ...dashboard.inputs],
    packages: [
      ...natives.map(({ folder }) => folder),
      `node-${target}`,
      'zxing-wasm',
      ...geoPackages,
    ],
  });
  const licences = licencesText(version, packages);
  files.set('THIRD-PARTY.txt', Buffer.from(licences));
  return { files, packages, licences };
}

const withMode = ([name, content]: readonly [string, Uint8Array]) => ({
  name,
  mode: modeOf(name),
  content,
});

/** Of an earlier build. @throws Error where it holds anything else */
async function clear(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const names = await readdir(folder);
  const other = names.find((name) => !/^(quietzone([._-].*)?|THIRD-PARTY\.txt)$/.test(name));
  if (other !== undefined) {
    throw new Error(`Cannot build into ${folder}: it holds ${other}, expected an earlier build`);
  }
  for (const name of names) await rm(join(folder, name), { recursive: true });
}

/** Returns the paths of what was made. */
async function buildTarget(target: Target, folder: string): Promise<string[]> {
  report(target);
  await clear(folder);
  const modules = await modulesOf(root, target);
  const natives = nativesOf(target, modules, process.env);
  const node = join(modules, `node-${target}/bin/node`);
  const glibc = await checkFloor(target, natives, node);
  const { version } = shipped;
  const commit = commitOf();
  const { files, packages, licences } = await gather({ target, version, modules, natives });
  const places = await readFile(shipped.geoTable().path);
  const identity = { version, commit: commit.slice(0, commitDigits), target };
  const { pack, appended } = await makePack({ ...identity, files, natives, places, level });
  report(`${pack.files.length} files packed, ${megabytes(pack.size)}`);
  const file = join(folder, 'quietzone');
  await makeExecutable({ node, boot: await bundleBoot(root), pack, appended, file });
  const { size } = await stat(file);
  report(`${file}: ${megabytes(size)}, SHA-256 ${sha256(await readFile(file))}`);
  if (values.quick === true) return [file];
  const libraries = await imageLibraries(root, target, process.env);
  const time = buildTime(root, process.env);
  const made = await writeArtifacts({
    root,
    folder,
    target,
    version,
    commit,
    time,
    glibc,
    packages,
    licences,
    libraries,
    level,
    runtime: { id: pack.id, files: [...files].map(withMode) },
    natives: pack.natives,
  });
  report(`made ${made.join(', ')}`);
  return [file, ...made.map((name) => join(folder, name))];
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

async function buildAll(): Promise<void> {
  const chosen = targetsOf(positionals);
  makeGeoTable(report);
  const out = resolve(values.out ?? join(root, 'dist'));
  const made: string[] = [];
  for (const target of chosen) made.push(...(await buildTarget(target, join(out, target))));
  const names = made.map((path) => relative(out, path));
  await writeChecksums(out, names);
  report(`${join(out, 'SHA256SUMS')} names ${names.length} files`);
}

await buildAll().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
