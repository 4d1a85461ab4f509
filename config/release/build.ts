/**
 * Makes the one file for each target and what goes with it, on any machine that has Node, npm and git:
 *
 *   npm run build [-- linux-x64 linux-arm64] [--out DIR] [--quick]
 *
 *   sources ─ bundle ─┐
 *   native files ─────┼─ pack ─ dist/<target>/quietzone ─ .zst, .deb, Dockerfile, bill of materials ─ dist/SHA256SUMS
 *   dashboard, geo ───┘
 *
 *   bundle.ts           the program and its threads as JavaScript
 *   natives.ts          native files, and the packages that they come from; glibc.ts checks what they need
 *   geo-files.ts        the geo data as a table; `npm ci` does that too
 *   pack.ts             all files of the runtime folder as one, with their SHA-256
 *   executable.ts       Node, the code that runs first, and the data behind it
 *   packages/           what is made of the executable
 *
 * The executable runs boot.ts first, which lays its files out with runtime-folder.ts.
 *
 * The same commit and the same `strip` give the same bytes, in any folder. Without `strip` the file keeps Node's symbols,
 * without `readelf` nothing checks the glibc it needs, without `dpkg-deb` there is no .deb. `--quick` makes the file
 * alone, compressed little, to be tried.
 */
import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serialize } from 'node:v8';
import { shipped } from '../../src/platform/shipped.ts';
import { bundleBoot, bundleProgram } from './bundle.ts';
import { buildDashboard } from './dashboard.ts';
import { makeExecutable } from './executable.ts';
import { geoPackages, makeGeoTable } from './geo-files.ts';
import { checkRuns, glibcMin } from './glibc.ts';
import {
  modulesOf,
  nativeNames,
  nativesOf,
  type NativeSource,
  type Target,
  targets,
} from './natives.ts';
import { makePack, sha256, zstd } from './pack.ts';
import { makeDeb } from './packages/deb.ts';
import { licensesText, thirdParty, type ThirdPartyPackage } from './packages/licenses.ts';
import { sbomText } from './packages/sbom.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const startedMs = performance.now();
const commitDigits = 12;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string' }, quick: { type: 'boolean' } },
});
const level = values.quick === true ? 3 : 19;

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

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

/** The names that `shipped.text` takes. */
async function textNames(): Promise<string[]> {
  const guides = await readdir(join(root, 'src/api/docs/guides'));
  return ['page.js', ...guides.map((name) => `guides/${name}`)];
}

/** @throws Error for a file that does not run on the oldest supported glibc */
function checkNatives(target: Target, natives: readonly NativeSource[], node: string): void {
  const files = natives.map(({ file }) => file);
  const isChecked = [node, ...files].every((file) => checkRuns(file, target));
  report(
    isChecked
      ? `every native file runs on glibc ${glibcMin}`
      : `NOT CHECKED that native files run on glibc ${glibcMin}: readelf is not installed`,
  );
}

interface Source {
  readonly target: Target;
  readonly version: string;
  readonly modules: string;
  readonly natives: readonly NativeSource[];
}

/** Everything that lies in the runtime folder, by its path there, the packages that it is made of, and their licenses. */
async function gather(source: Source): Promise<{
  files: Map<string, Uint8Array>;
  packages: ThirdPartyPackage[];
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
  files.set('THIRD-PARTY.txt', Buffer.from(licensesText(version, packages)));
  return { files, packages };
}

/** Of an earlier build. @throws Error where it holds anything else */
async function clear(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const names = await readdir(folder);
  const other = names.find(
    (name) => !/^(quietzone([._-].*)?|THIRD-PARTY\.txt|Dockerfile)$/.test(name),
  );
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
  const natives = nativesOf(target, modules);
  const node = join(modules, `node-${target}/bin/node`);
  checkNatives(target, natives, node);
  const { version } = shipped;
  const [commit = '', time] = git('show', '-s', '--format=%H %ct', 'HEAD').split(' ');
  const { files, packages } = await gather({ target, version, modules, natives });
  const places = await readFile(shipped.geoTable().path);
  const identity = { version, commit: commit.slice(0, commitDigits), target };
  const { pack, appended } = await makePack({ ...identity, files, natives, places, level });
  report(`${pack.files.length} files packed, ${megabytes(pack.size)}`);
  const file = join(folder, 'quietzone');
  const boot = await bundleBoot(root);
  const isStripped = await makeExecutable({ target, node, boot, pack, appended, file });
  if (!isStripped) report("NOT STRIPPED of Node's symbols: strip is not installed");
  const bytes = await readFile(file);
  report(`${file}: ${megabytes(bytes.length)}, SHA-256 ${sha256(bytes)}`);
  if (values.quick === true) return [file];
  await writeFile(join(folder, 'THIRD-PARTY.txt'), files.get('THIRD-PARTY.txt') ?? '');
  await writeFile(
    join(folder, 'quietzone.cdx.json'),
    sbomText(root, packages, new Date(Number(time) * 1_000)),
  );
  await writeFile(join(folder, 'quietzone.zst'), await zstd(bytes, level));
  await copyFile(join(root, 'config/release/packages/Dockerfile'), join(folder, 'Dockerfile'));
  const deb = makeDeb({ root, folder, version, target, time: Number(time) });
  report(deb === undefined ? 'NO .deb: dpkg-deb is not installed' : `made ${deb}`);
  const names = await readdir(folder);
  return names.map((name) => join(folder, name));
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

async function buildAll(): Promise<void> {
  const chosen = targetsOf(positionals);
  makeGeoTable(report);
  const out = resolve(values.out ?? join(root, 'dist'));
  const made: string[] = [];
  for (const target of chosen) made.push(...(await buildTarget(target, join(out, target))));
  const lines: string[] = [];
  for (const path of made.sort())
    lines.push(`${sha256(await readFile(path))}  ${relative(out, path)}\n`);
  await writeFile(join(out, 'SHA256SUMS'), lines.join(''));
  report(`${join(out, 'SHA256SUMS')} names ${made.length} files`);
}

await buildAll().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
