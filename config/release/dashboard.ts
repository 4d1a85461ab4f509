/**
 * Makes the files of the dashboard from its sources, for the one file and for a checkout (bundle.ts):
 *
 *   src/dashboard/main.tsx --esbuild--> all pages, the chart, one style sheet   named by their content
 *     -> brotli and gzip, on the thread pool -> path -> file
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build, type BuildOptions, type Metafile, type OutputFile } from 'esbuild';
import {
  assetPrefix,
  type DashboardBundle,
  type DashboardFile,
  pagePath,
} from '../../src/api/server/dashboard-files.ts';

const root = fileURLToPath(new URL('../../src/dashboard/', import.meta.url));
/** 9 of 11: 2 % larger than 11 in a quarter of its time. */
const brotliQuality = 9;
const entry = 'main.tsx';
const reload = '../../config/reload.js';

const buildOptions = {
  absWorkingDir: root,
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
} as const satisfies BuildOptions;

export interface Dashboard {
  /** Sorted by path. */
  readonly files: DashboardBundle;
  /** Paths of all sources, from the project's root. */
  readonly inputs: readonly string[];
}

export interface DashboardOptions {
  /** The script of the page, relative to src/dashboard. */
  readonly main?: string;
  /** Whether the page reloads itself when it has changed. */
  readonly isDev?: boolean;
}

/** @throws Error of the bundler, or of the system where it cannot be started */
export async function buildDashboard(options: DashboardOptions = {}): Promise<Dashboard> {
  const { main = entry, isDev = false } = options;
  const scripts = isDev ? [main, reload] : [main];
  const entryPoints = [...scripts, 'theme.ts', 'style/main.css'];
  const { outputFiles, metafile } = await build({ ...buildOptions, entryPoints });
  const contents = outputFiles.map((file) => [assetPath(file), file.contents] as const);
  const html = Buffer.from(await page(metafile, scripts));
  const all = [...contents, [pagePath, html] as const].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    files: new Map(
      await Promise.all(all.map(async ([path, bytes]) => [path, await compress(bytes)] as const)),
    ),
    inputs: Object.keys(metafile.inputs).map((path) => join('src/dashboard', path)),
  };
}

const assetPath = (file: OutputFile): string =>
  assetPrefix + (file.path.split(/[\\/]/).at(-1) ?? '');

/** index.html with the names of this bundle; the imports of the first script are preloaded. */
async function page({ outputs }: Metafile, scripts: readonly string[]): Promise<string> {
  const template = await readFile(`${root}index.html`, 'utf8');
  const icon = await readFile(`${root}icon.svg`);
  const nameOf = (source: string): string => {
    const found = Object.entries(outputs).find(([, output]) => output.entryPoint === source);
    if (found === undefined) throw new Error(`Cannot find ${source} in the bundle`);
    return found[0];
  };
  const url = (name: string): string => `/${name}`;
  const mains = scripts.map(nameOf);
  const imported = mains
    .flatMap((main) => outputs[main]?.imports ?? [])
    .filter(({ kind }) => kind === 'import-statement');
  const tags = [
    `<script src="${url(nameOf('theme.ts'))}"></script>`,
    `<link rel="stylesheet" href="${url(nameOf('style/main.css'))}">`,
    ...mains.map((main) => `<script type="module" src="${url(main)}"></script>`),
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
