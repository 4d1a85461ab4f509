/**
 * The program as plain JavaScript: eight entries that share their chunks, all in one flat folder.
 *
 *   main, one for each thread entry, chunks that they share, and the thread entry of Piscina
 *
 * Native files, and the one package whose code does not survive renaming, are redirected by plugins. Spaces and comments
 * are left out: V8 keeps the text of what it runs, at two bytes a character if any is beyond Latin-1, as some are in
 * comments. That saves the main thread 3 MB. Names stay: a stack trace tells functions, and with
 * NODE_OPTIONS=--enable-source-maps lines of the sources.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type BuildOptions, type Metafile, type OnLoadResult, type Plugin } from 'esbuild';
import { bundleDashboard } from '../../src/http/dashboard/dashboard-build.ts';
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

/** What CommonJS packages find in a module's scope; its imports have names that no package uses. */
const banner = `import { createRequire as bannerRequireOf } from 'node:module';
import { fileURLToPath as bannerPathOf } from 'node:url';
const require = bannerRequireOf(import.meta.url), __filename = bannerPathOf(import.meta.url), __dirname = bannerPathOf(new URL('.', import.meta.url));`;

/** @throws Error of the bundler, or where a package is not as it was when its plugin was written */
export async function bundleProgram(options: BundleOptions): Promise<Bundle> {
  const { root } = options;
  const common: BuildOptions & { write: false; metafile: true } = {
    absWorkingDir: root,
    // Nothing is written there: paths in source maps are relative to it.
    outdir: 'dist/runtime',
    bundle: true,
    // Names of packages stand in the output as they lie in this folder, wherever a link leads.
    preserveSymlinks: true,
    write: false,
    metafile: true,
    platform: 'node',
    target: 'node22',
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [shippedPlugin(root), nativePlugin(options)],
  };
  const program = await build({
    ...common,
    entryPoints: {
      main: 'src/main.ts',
      'shard.worker': 'src/scans/shard.worker.ts',
      'redirect.worker': 'src/http/redirect.worker.ts',
      'render.worker': 'src/images/render.worker.ts',
      'attempt.worker': 'src/webhooks/attempt/attempt.worker.ts',
      'target-request.worker': 'src/webhooks/attempt/target-request.worker.ts',
      'geo.worker': 'src/scans/visitor/geo/table.worker.ts',
      'hold.worker': 'src/engine/opening/hold.worker.ts',
      'scan-transfer.worker': 'src/cluster/scans/scan-transfer.worker.ts',
      'core-copy.worker': 'src/cluster/copy/core-copy.worker.ts',
      'raw-query.worker': 'src/scans/query/raw/raw-query.worker.ts',
    },
    outExtension: { '.js': '.mjs' },
    entryNames: '[name]',
    chunkNames: 'chunk-[hash]',
    splitting: true,
    format: 'esm',
    sourcemap: 'linked',
    sourcesContent: false,
    banner: { js: banner },
    // Builds the dashboard in a checkout; the one file brings it.
    external: ['esbuild'],
  });
  // Piscina starts the file of this name beside its own code.
  const piscina = await build({
    ...common,
    entryPoints: { worker: 'node_modules/piscina/dist/worker.js' },
    format: 'cjs',
  });
  refuseDirectEval(root, program.metafile);
  refuseNamesOfCommonJs(program.metafile);
  const outputs = [...program.outputFiles, ...piscina.outputFiles];
  const inputs = [program, piscina].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  return {
    files: new Map(outputs.map(({ path, contents }) => [path.split('/').at(-1) ?? path, contents])),
    inputs: [...new Set(inputs)].sort(),
  };
}

/** The first code of the one file, CommonJS as its main script must be. */
export async function bundleBoot(root: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['config/release/boot.ts'],
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node22',
    format: 'cjs',
    legalComments: 'none',
    logLevel: 'warning',
  });
  const [boot] = outputFiles;
  if (boot === undefined) throw new Error('Cannot bundle config/release/boot.ts');
  return boot.contents;
}

/** What comes along with the program is elsewhere in the one file. */
const shippedPlugin = (root: string): Plugin => ({
  name: 'shipped',
  setup(bundler) {
    const path = join(root, 'src/shipped.binary.ts');
    bundler.onResolve({ filter: /\/shipped\.ts$/ }, () => ({ path }));
  },
});

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

/** A direct eval sees variables by their names, which a bundled ES module does not keep. */
function refuseDirectEval(root: string, { inputs }: Metafile): void {
  for (const [path, { format }] of Object.entries(inputs)) {
    if (format !== 'esm' || path.includes(':')) continue;
    const code = readFileSync(join(root, path), 'utf8').replaceAll(/\/\/.*|\/\*[^]*?\*\//g, '');
    if (/(?<![.\w'])eval\s*\(/.test(code)) {
      throw new Error(`Cannot bundle ${path}: it has a direct eval, expected none in an ES module`);
    }
  }
}

/**
 * A chunk of a CommonJS package has a default export alone: names that a source takes of its `import()` would be
 * undefined in the bundle, and there in the sources.
 */
function refuseNamesOfCommonJs({ inputs }: Metafile): void {
  for (const [path, { imports }] of Object.entries(inputs)) {
    if (!path.startsWith('src/')) continue;
    const found = imports.find(
      (one) => one.kind === 'dynamic-import' && inputs[one.path]?.format === 'cjs',
    );
    if (found === undefined) continue;
    throw new Error(
      `Cannot bundle ${path}: it has an import() of ${found.path}, a CommonJS module, expected one of a source that imports it`,
    );
  }
}

/** Paths of what the dashboard is made of, from the project's root. */
export async function dashboardSources(): Promise<string[]> {
  const { metafile } = await bundleDashboard();
  return Object.keys(metafile.inputs).map((path) => join('src/dashboard', path));
}
