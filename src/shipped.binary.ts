/**
 * `shipped.ts` of the one file that `npm run build` makes (config/release): small files lie beside this code in the
 * runtime folder, geo data in the file itself, behind the program:
 *
 *   | node | code that lays out the runtime folder, pack.json | its files, compressed | places | countries |
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { getAsset } from 'node:sea';
import { fileURLToPath } from 'node:url';
import defaults from '../config/default.json' with { type: 'json' };
import type { FilePart, NativeFile, Shipped } from './shipped.ts';

/** Tables of geo data: of all places, and what is known of countries alone. */
export type GeoTableName = 'places' | 'countries';

/** Bytes at the end of the file. */
export interface PackPart {
  /** From its first byte to the end of the file. */
  readonly fromEnd: number;
  readonly size: number;
  /** Hexadecimal, as all hashes here. */
  readonly sha256: string;
}

export interface PackFile {
  /** Path in the runtime folder. */
  readonly name: string;
  readonly size: number;
  /** As of chmod, for its owner alone. */
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
  /** Bytes of all files, in the order of `files`, before compression. */
  readonly size: number;
  /** The native file that is loaded to see whether the folder may hold programs. */
  readonly probe: string;
  readonly files: readonly PackFile[];
  /** `end`: the last bytes of the file, whatever they are part of. */
  readonly parts: Readonly<Record<'pack' | GeoTableName | 'end', PackPart>>;
  readonly natives: readonly NativeFile[];
}

/** The file that runs, also where another has taken its place. */
const running = existsSync('/proc/self/exe') ? '/proc/self/exe' : process.execPath;

const pack: Pack = JSON.parse(getAsset('pack.json', 'utf8'));

function geoPart(name: GeoTableName): FilePart {
  const { fromEnd, size } = pack.parts[name];
  return { path: running, offset: statSync(running).size - fromEnd, size };
}

const beside = (name: string): URL => new URL(`./${name}`, import.meta.url);

export const shipped: Shipped = {
  version: pack.version,
  commit: pack.commit,
  target: pack.target,
  command: 'quietzone',
  runtimeFolder: fileURLToPath(beside('.')),
  defaults: () => structuredClone(defaults),
  workerFile: (name) => beside(`${name}.worker.mjs`),
  geoTable: () => geoPart('places'),
  geoFile: (name) => geoPart(name === 'countryFile' ? 'countries' : 'places'),
  geoCache: undefined,
  text: (name) => readFileSync(beside(name), 'utf8'),
  decoder: () => readFileSync(beside('zxing_reader.wasm')),
  dashboard: () => readFileSync(beside('dashboard.bin')),
  licences: () => readFileSync(beside('THIRD-PARTY.txt'), 'utf8'),
  natives: () => pack.natives,
};
