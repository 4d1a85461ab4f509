/**
 * Makes the files of the dashboard from its sources.
 *
 *   src/dashboard/main.tsx --esbuild--> all pages, the chart, one style sheet   named by their content
 *     -> brotli and gzip, on the thread pool -> path -> file
 *
 * esbuild is a process of its own, half a second of one core: started before the service listens and ended before it
 * serves, because a spawn needs descriptors that a busy service may not have. It is loaded only when it is needed.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Metafile, OutputFile } from 'esbuild';
import { systemErrorCode } from '../../model/failure.ts';

/** In each encoding that a client may take. */
export interface DashboardFile {
  readonly identity: Uint8Array;
  readonly br: Uint8Array;
  readonly gzip: Uint8Array;
}

/** By the path of its address; the page itself, which has many addresses, stands under `pagePath`. */
export type DashboardBundle = ReadonlyMap<string, DashboardFile>;

export const assetPrefix = '/assets/';
export const pagePath = '/';

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const root = pathOf('../../dashboard/');
/** What a bundle is made of, beside its packages. */
const sourceFolders = [root, pathOf('../../model/')];
const builder = fileURLToPath(import.meta.url);
/** Names the version of every package; an installation may lack it. */
const lockFile = pathOf('../../../package-lock.json');
/** 9 of 11: 2 % larger than 11 in a quarter of its time. */
const brotliQuality = 9;
const keyDigits = 32;

/** The same for the same sources, packages and bundler: hexadecimal digits. */
export async function dashboardKey(): Promise<string> {
  const bundler = createRequire(import.meta.url).resolve('esbuild/package.json');
  const files = [builder, lockFile, bundler];
  for (const folder of sourceFolders) {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const names = entries.filter((entry) => entry.isFile());
    files.push(...names.map(({ parentPath, name }) => join(parentPath, name)).toSorted());
  }
  const hash = createHash('sha256');
  // One after the other: they are more than a process may have open at some places.
  for (const file of files) {
    const content = await readIfThere(file);
    // Lengths, because a line may move from the end of one file to the beginning of the next.
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest('hex').slice(0, keyDigits);
}

async function readIfThere(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return new Uint8Array();
    throw error;
  }
}

const entry = 'main.tsx';

/**
 * @param main the script of the page, relative to src/dashboard: a test may have its own
 * @throws Error of the bundler, or of the system where it cannot be started
 */
export async function buildDashboard(main = entry): Promise<DashboardBundle> {
  const { outputFiles, metafile } = await bundleDashboard(main);
  const contents = outputFiles.map((file) => [assetPath(file), file.contents] as const);
  const html = Buffer.from(await page(metafile, main));
  const all = [...contents, [pagePath, html] as const];
  return new Map(
    await Promise.all(all.map(async ([path, bytes]) => [path, await compress(bytes)] as const)),
  );
}

/** Paths in `metafile` are relative to src/dashboard. */
export async function bundleDashboard(main = entry): Promise<{
  outputFiles: OutputFile[];
  metafile: Metafile;
}> {
  const { build, stop } = await import('esbuild');
  try {
    return await build({
      absWorkingDir: root,
      entryPoints: [main, 'theme.ts', 'style/main.css'],
      outdir: 'assets',
      entryNames: '[name]-[hash]',
      chunkNames: '[name]-[hash]',
      bundle: true,
      // Hashes in names are of paths too: those below this folder, wherever a link leads.
      preserveSymlinks: true,
      splitting: true,
      format: 'esm',
      target: ['chrome111', 'firefox114', 'safari16.4'],
      jsx: 'automatic',
      jsxImportSource: 'preact',
      minify: true,
      metafile: true,
      write: false,
      logLevel: 'silent',
    });
  } finally {
    // Ends esbuild's process.
    await stop();
  }
}

const assetPath = (file: OutputFile): string =>
  assetPrefix + (file.path.split(/[\\/]/).at(-1) ?? '');

/** index.html with the names of this bundle; the imports of the first script are preloaded. */
async function page({ outputs }: Metafile, entry: string): Promise<string> {
  const template = await readFile(`${root}index.html`, 'utf8');
  const icon = await readFile(`${root}icon.svg`);
  const nameOf = (source: string): string => {
    const found = Object.entries(outputs).find(([, output]) => output.entryPoint === source);
    if (found === undefined) throw new Error(`Cannot find ${source} in the bundle`);
    return found[0];
  };
  const url = (name: string): string => `/${name}`;
  const main = nameOf(entry);
  const imported = (outputs[main]?.imports ?? []).filter(({ kind }) => kind === 'import-statement');
  const tags = [
    `<script src="${url(nameOf('theme.ts'))}"></script>`,
    `<link rel="stylesheet" href="${url(nameOf('style/main.css'))}">`,
    `<script type="module" src="${url(main)}"></script>`,
    ...imported.map(({ path }) => `<link rel="modulepreload" href="${url(path)}">`),
  ];
  return template
    .replace('{{icon}}', icon.toString('base64'))
    .replace('<!--assets-->', tags.join('\n'));
}

const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);

async function compress(identity: Uint8Array): Promise<DashboardFile> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
    [constants.BROTLI_PARAM_SIZE_HINT]: identity.byteLength,
  };
  const [br, zipped] = await Promise.all([
    brotli(identity, { params }),
    gzipped(identity, { level: 9 }),
  ]);
  return { identity, br, gzip: zipped };
}
