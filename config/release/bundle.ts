/**
 * The program as plain JavaScript: entries that share their chunks, all in one flat folder.
 *
 *   main, one for each thread entry, chunks that they share, and the thread entry of Piscina
 *
 * Native files, and the one package whose code does not survive renaming, are redirected by plugins. Spaces and comments
 * are left out: V8 keeps the text of what it runs, at two bytes a character if any is beyond Latin-1, as some are in
 * comments. That saves the main thread 3 MB. Names stay: a stack trace names functions, and with
 * NODE_OPTIONS=--enable-source-maps lines of the sources.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { serialize } from 'node:v8';
import {
  build,
  type BuildOptions,
  type Metafile,
  type OnLoadResult,
  type Plugin,
  stop,
} from 'esbuild';
import { workers } from '../../src/platform/shipped.ts';
import { buildDashboard } from './dashboard.ts';
import { nativeNames, sharpName, type Target } from './natives.ts';

export interface Bundle {
  /** By name in the runtime folder. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Paths of all sources, from the project's root. */
  readonly inputs: readonly string[];
}

export interface BundleOptions {
  /** The project's folder. */
  readonly root: string;
  readonly target: Target;
  /** Whether msgpackr has a native part on this target. */
  readonly hasMsgpackrNative: boolean;
}

/** Names that CommonJS packages expect in a module's scope; its imports have names that no package uses. */
const banner = `import { createRequire as bannerRequireOf } from 'node:module';
import { fileURLToPath as bannerPathOf } from 'node:url';
const require = bannerRequireOf(import.meta.url), __filename = bannerPathOf(import.meta.url), __dirname = bannerPathOf(new URL('.', import.meta.url));`;

const threads = Object.entries(workers).map(([name, path]) => [`${name}.worker`, `src/${path}`]);

const nodeOptions = {
  bundle: true,
  platform: 'node',
  target: 'node22',
  legalComments: 'none',
} as const;

const moduleOptions = {
  entryPoints: { main: 'src/main.ts', ...Object.fromEntries(threads) },
  outExtension: { '.js': '.mjs' },
  entryNames: '[name]',
  chunkNames: 'chunk-[hash]',
  splitting: true,
  format: 'esm',
  banner: { js: banner },
} as const;

/** @throws Error of the bundler, or where a package is not as it was when its plugin was written */
export async function bundleProgram(options: BundleOptions): Promise<Bundle> {
  const { root } = options;
  const common: BuildOptions & { write: false; metafile: true } = {
    absWorkingDir: root,
    // Nothing is written there: paths in source maps are relative to it.
    outdir: 'dist/runtime',
    ...nodeOptions,
    // Names of packages are in the output as they lie in this folder, wherever a link leads.
    preserveSymlinks: true,
    write: false,
    metafile: true,
    minifyWhitespace: true,
    logLevel: 'warning',
    // Of src/platform/shipped.ts: there are no sources.
    define: { sourcesOfBundle: '""' },
    plugins: [nativePlugin(options)],
  };
  const program = await build({
    ...common,
    ...moduleOptions,
    sourcemap: 'linked',
    sourcesContent: false,
  });
  // Piscina starts the file of this name next to its own code.
  const piscina = await build({
    ...common,
    entryPoints: { worker: 'node_modules/piscina/dist/worker.js' },
    format: 'cjs',
  });
  refuseSilentChanges(root, program.metafile);
  const outputs = [...program.outputFiles, ...piscina.outputFiles];
  const inputs = [program, piscina].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  return {
    files: new Map(outputs.map(({ path, contents }) => [path.split('/').at(-1) ?? path, contents])),
    inputs: [...new Set(inputs)].sort(),
  };
}

/** They have native code, or start threads from their own files: a checkout loads them from node_modules. */
const packagesOfCheckout = ['uWebSockets.js', 'lmdb', 'msgpackr', 'sharp', 'piscina'];

/**
 * The program and the dashboard as `npm start` runs them: written into `folder`, which is below node_modules.
 * @param isDev whether the dashboard's pages reload themselves
 * @throws Error of the bundler, or of the system
 */
export async function bundleCheckout(root: string, folder: string, isDev: boolean): Promise<void> {
  try {
    const program = build({
      absWorkingDir: root,
      outdir: folder,
      ...nodeOptions,
      minifyWhitespace: true,
      logLevel: 'silent',
      define: { sourcesOfBundle: JSON.stringify(pathToFileURL(join(root, 'src/')).href) },
      external: packagesOfCheckout,
      ...moduleOptions,
    });
    const [{ files }] = await Promise.all([buildDashboard({ isDev }), program]);
    writeFileSync(join(folder, 'dashboard.bin'), serialize(files));
  } finally {
    // Ends the bundler's process.
    await stop();
  }
}

/** The first code of the one file, CommonJS as its main script must be. */
export async function bundleBoot(root: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    ...nodeOptions,
    entryPoints: ['config/release/boot.ts'],
    write: false,
    format: 'cjs',
    logLevel: 'warning',
  });
  const [boot] = outputFiles;
  if (boot === undefined) throw new Error('Cannot bundle config/release/boot.ts');
  return boot.contents;
}

const nativePlugin = ({ root, target, hasMsgpackrNative }: BundleOptions): Plugin => ({
  name: 'natives',
  setup(bundler) {
    const edit = (filter: RegExp, change: (text: string) => string): void =>
      bundler.onLoad({ filter }, ({ path }) => script(change(readFileSync(path, 'utf8'))));
    const loadBeside = (name: string): string => `requireBeside(import.meta.url)('./${name}')`;
    const importOfRequire = `import { createRequire as requireBeside } from 'node:module';`;
    bundler.onResolve({ filter: /^\.\/native\/.*\.node$/ }, ({ path }) => ({
      path,
      external: true,
    }));
    // Piscina catches its absence; it would set the priority of a thread.
    bundler.onResolve({ filter: /^@napi-rs\/nice$/ }, ({ path }) => ({ path, external: true }));
    edit(
      /uWebSockets\.js\/dist\/uws\.mjs$/,
      () => `${importOfRequire}\nexport default ${loadBeside(nativeNames.uws)};`,
    );
    edit(/\/lmdb\/native\.js$/, (text) => {
      const imported = "import loadNAPI from 'node-gyp-build-optional-packages';";
      const called = replaced(text, 'loadNAPI(dirName)', loadBeside(nativeNames.lmdb));
      return replaced(called, imported, importOfRequire);
    });
    // Its reader is made by a direct eval that names a variable of its module: an ES module's would be renamed, and
    // reading a key of two parts would never end. In a CommonJS function nothing is renamed.
    const orderedBinary = join(root, 'node_modules/ordered-binary/dist/index.cjs');
    bundler.onResolve({ filter: /^ordered-binary$/ }, () => ({ path: orderedBinary }));
    edit(/\/msgpackr-extract\/index\.js$/, () =>
      hasMsgpackrNative
        ? `module.exports = require('./${nativeNames.msgpackr}');`
        : `throw new Error('not published for this platform');`,
    );
    edit(/\/sharp\/dist\/sharp\.mjs$/, (text) =>
      replaced(text, `"@img/sharp-${target}/sharp.node"`, `"./${sharpName(target)}"`),
    );
  },
});

const script = (contents: string): OnLoadResult => ({ contents, loader: 'js' });

function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`Cannot find ${from} in a package, expected it there`);
  return text.replaceAll(from, to);
}

/**
 * What a bundle changes without a word. A direct eval sees variables by their names, which an ES module does not keep. A chunk
 * of a CommonJS package has a default export alone: other names that a source takes of its `import()` would be undefined.
 */
function refuseSilentChanges(root: string, { inputs }: Metafile): void {
  for (const [path, { format, imports }] of Object.entries(inputs)) {
    const isModule = format === 'esm' && !path.includes(':');
    const code = isModule ? readFileSync(join(root, path), 'utf8') : '';
    if (/(?<![.\w'])eval\s*\(/.test(code.replaceAll(/\/\/.*|\/\*[^]*?\*\//g, ''))) {
      throw new Error(`Cannot bundle ${path}: it has a direct eval, expected none in an ES module`);
    }
    const found = imports.find(
      (one) => one.kind === 'dynamic-import' && inputs[one.path]?.format === 'cjs',
    );
    if (found === undefined || !path.startsWith('src/')) continue;
    throw new Error(
      `Cannot bundle ${path}: it has an import() of ${found.path}, a CommonJS module, expected one of a source that imports it`,
    );
  }
}
