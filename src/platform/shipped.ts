/**
 * What comes along with the program: version, default settings, thread entries, texts, geo data, the dashboard. The program
 * runs in three ways:
 *
 *   sources   tests: everything is in the sources and the packages; no dashboard
 *   bundle    a checkout (config/program.mjs): threads and dashboard are next to this code, the rest as for sources
 *   one file  `npm run build` (config/release): small files are next to this code, geo data in the file itself:
 *
 *   | node | code that lays out the runtime folder, pack.json | its files, compressed | places |
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import defaults from '../../config/default.json' with { type: 'json' };

/** The entry of each thread, from src. */
export const workers = {
  shard: 'engine/counting/shard.worker.ts',
  redirect: 'engine/redirect/redirect.worker.ts',
  render: 'product/images/render.worker.ts',
  attempt: 'webhooks/attempt/attempt.worker.ts',
  'target-request': 'product/watches/target-request.worker.ts',
  folder: 'app/commands/folder.worker.ts',
  'scan-transfer': 'cluster/scans/scan-transfer.worker.ts',
  'raw-query': 'engine/analytics/raw/raw-query.worker.ts',
};

/** A file, or a part of one: bytes from 0 to the end, if the bounds are absent. */
export interface FilePart {
  readonly path: string;
  readonly offset?: number;
  readonly size?: number;
}

/** A file of machine code that was built in, and the package that it was taken from. */
export interface NativeFile {
  readonly name: string;
  readonly package: string;
  readonly version: string;
  /** Hexadecimal, as all hashes here. */
  readonly sha256: string;
}

export interface PackPart {
  /** From its first byte to the end of the file. */
  readonly fromEnd: number;
  readonly size: number;
  readonly sha256: string;
}

export interface PackFile {
  /** Path in the runtime folder. */
  readonly name: string;
  readonly size: number;
  readonly mode: number;
  readonly sha256: string;
}

/** What the one file is made of: its asset pack.json. */
export interface Pack {
  /** The name of its runtime folder: 16 hexadecimal digits of the hash of `files`. */
  readonly id: string;
  readonly version: string;
  readonly commit: string;
  readonly target: string;
  /** Bytes of all files before compression. */
  readonly size: number;
  /** The native file whose loading shows whether the folder may hold programs. */
  readonly probe: string;
  readonly files: readonly PackFile[];
  /** `end`: the last bytes of the file, whatever they are part of. */
  readonly parts: Readonly<Record<'pack' | 'places' | 'end', PackPart>>;
  readonly natives: readonly NativeFile[];
}

/** The folder of the sources of a bundle, empty in the one file; the bundler puts it here (config/release/bundle.ts). */
declare const sourcesOfBundle: string | undefined;
const isBundled = typeof sourcesOfBundle === 'string';
const pack: Pack | undefined = isSea() ? JSON.parse(getAsset('pack.json', 'utf8')) : undefined;

/** The folder src. */
const sources = new URL((isBundled && sourcesOfBundle) || '..', import.meta.url);
const inSources = (path: string): URL => new URL(path, sources);
const inBundle = (name: string): URL => new URL(name, import.meta.url);
const load = createRequire(sources);
const { version }: { readonly version: string } = pack ?? load('../package.json');

/** Made by config/release/geo-files.ts. */
const geoTable = '../node_modules/.cache/quietzone-geo/places.geo';

function builtInTable({ parts }: Pack): FilePart {
  // The running file, even if another has replaced it.
  const path = existsSync('/proc/self/exe') ? '/proc/self/exe' : process.execPath;
  const { fromEnd, size } = parts.places;
  return { path, offset: statSync(path).size - fromEnd, size };
}

export const shipped = {
  version,
  /** Of the one file; empty in a checkout. */
  commit: pack?.commit ?? '',
  /** The platform of the one file, `linux-x64`; empty in a checkout. */
  target: pack?.target ?? '',
  command: pack ? 'quietzone' : 'npx quietzone',
  /** Where the one file has laid out its own files; undefined in a checkout. */
  runtimeFolder: pack && fileURLToPath(inBundle('.')),
  defaults: (): unknown => structuredClone(defaults),
  workerFile: (name: keyof typeof workers): URL =>
    isBundled ? inBundle(`${name}.worker.mjs`) : inSources(workers[name]),
  /** The table of the bundled places. It may be missing in a checkout, `npm ci --ignore-scripts`. */
  geoTable: (): FilePart =>
    pack ? builtInTable(pack) : { path: fileURLToPath(inSources(geoTable)) },
  /** Of src/api/docs: `guides/webhooks.md`, `page.js`. */
  text: (name: string): string =>
    readFileSync(pack ? inBundle(name) : inSources(`api/docs/${name}`), 'utf8'),
  decoder: (): Uint8Array =>
    readFileSync(
      pack ? inBundle('zxing_reader.wasm') : load.resolve('zxing-wasm/reader/zxing_reader.wasm'),
    ),
  /** The dashboard's files, serialized by v8; undefined for sources. */
  dashboard: (): Uint8Array | undefined =>
    isBundled ? readFileSync(inBundle('dashboard.bin')) : undefined,
  licenses: (): string =>
    pack
      ? readFileSync(inBundle('THIRD-PARTY.txt'), 'utf8')
      : 'Quietzone is MIT (LICENSE). Each package has its license in its folder in node_modules; README names those of the geo data.',
  /** Empty in a checkout. */
  natives: (): readonly NativeFile[] => pack?.natives ?? [],
};

export type Shipped = typeof shipped;
