/**
 * Makes the slim geo files that the service reads instead of the packages' own: run by `npm ci` and `npm install`.
 *
 *     originals -- slimGeo --> new-<random>/ -- flush, rename --> <key>/   (the key: see src/shipped.ts)
 *
 * Two runs at once are harmless: the slower one finds the folder made, and deletes its own. Where it cannot run, the
 * service reads the originals: 142 MB in memory instead of 53.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { findSlimGeoFile, geoNames, originalGeoFile, slimGeoFolder } from '../../src/shipped.ts';
import { slimGeo } from './geo/slim-geo.ts';

/** Memory that the largest file takes. */
const bytesNeeded = 600e6;
/** A folder that is older was left by a process that died. */
const makingMsMax = 3_600_000;

/**
 * Makes the slim files unless they are there and whole.
 * @param print gets one line a file
 * @throws Error when a package is missing, damaged, memory is short, or the folder cannot be written
 */
export function makeGeoFiles(print: (line: string) => void): void {
  const folder = slimGeoFolder();
  if (areMade()) return;
  const available = process.availableMemory();
  if (available < bytesNeeded) {
    const wanted = `expected ${bytesNeeded / 1e6} MB`;
    throw new Error(`${Math.floor(available / 1e6)} MB of memory are free, ${wanted}`);
  }
  const cache = dirname(folder);
  mkdirSync(cache, { recursive: true });
  const made = join(cache, `new-${randomBytes(6).toString('hex')}`);
  mkdirSync(made);
  try {
    const sizes: Record<string, number> = {};
    for (const name of geoNames) {
      const started = performance.now();
      const original = readFileSync(originalGeoFile(name));
      const slim = slimGeo(original);
      writeFlushed(join(made, `${name}.mmdb`), slim);
      sizes[name] = slim.length;
      const seconds = ((performance.now() - started) / 1_000).toFixed(1);
      print(`geo ${name}: ${megabytes(original)} to ${megabytes(slim)} MB in ${seconds} s`);
    }
    writeFlushed(join(made, 'sizes.json'), Buffer.from(`${JSON.stringify(sizes)}\n`));
    if (areMade()) return;
    removeOld(cache);
    renameSync(made, folder);
  } catch (error) {
    if (!areMade()) throw error;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

const areMade = (): boolean => geoNames.every((name) => findSlimGeoFile(name) !== undefined);

/** What is not whole, and what other packages, another slimmer or a process that died have left. */
function removeOld(cache: string): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    const isNew = name.startsWith('new-') && Date.now() - statSync(path).mtimeMs < makingMsMax;
    if (!isNew) rmSync(path, { recursive: true, force: true });
  }
}

const megabytes = (bytes: Uint8Array): string => (bytes.length / 1e6).toFixed(1);

function writeFlushed(path: string, bytes: Uint8Array): void {
  const file = openSync(path, 'wx', 0o644);
  try {
    writeFileSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

if (import.meta.filename === process.argv[1]) {
  try {
    makeGeoFiles((line) => process.stdout.write(`${line}\n`));
  } catch (error) {
    const reason = String(error instanceof Error ? error.message : error).split('\n', 1)[0];
    process.stderr.write(`Cannot make the slim geo files: ${reason}; the packages' own are used\n`);
  }
}
