/**
 * Makes the tables of places that the service reads of the packages' files: run by `npm ci` and `npm install`.
 *
 *     originals -- makeTable --> new-<random>/ -- flush, rename --> <key>/   (the key: see src/shipped.ts)
 *
 * Two runs at once are harmless: the slower one finds the folder made, and deletes its own. Where it cannot run, the
 * first start of a service makes its table.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Mmdb } from '../../src/scans/visitor/geo/mmdb.ts';
import { makeTable, type TableSources } from '../../src/scans/visitor/geo/table-maker.ts';
import { FileOutput } from '../../src/scans/visitor/geo/table-output.ts';
import { checkTable } from '../../src/scans/visitor/geo/table-units.ts';
import type { GeoTableName } from '../../src/shipped.binary.ts';
import { geoTableFolder, originalGeoFile } from '../../src/shipped.ts';

/** A folder that is older was left by a process that died. */
const makingMsMax = 3_600_000;

export const geoTableNames: readonly GeoTableName[] = ['places', 'countries'];

export const geoTablePath = (name: GeoTableName): string => join(geoTableFolder(), `${name}.geo`);

/**
 * Makes the tables unless they are there and whole.
 * @param print gets one line a table
 * @throws Error when a package is missing or damaged, or the folder cannot be written
 */
export function makeGeoFiles(print: (line: string) => void): void {
  const folder = geoTableFolder();
  if (areMade()) return;
  const cache = dirname(folder);
  mkdirSync(cache, { recursive: true });
  const made = join(cache, `new-${randomBytes(6).toString('hex')}`);
  mkdirSync(made);
  try {
    for (const name of geoTableNames) {
      const started = performance.now();
      const path = join(made, `${name}.geo`);
      makeGeoTable(name, path);
      const seconds = ((performance.now() - started) / 1_000).toFixed(1);
      print(`geo ${name}: ${(statSync(path).size / 1e6).toFixed(1)} MB in ${seconds} s`);
    }
    if (areMade()) return;
    removeOld(cache);
    renameSync(made, folder);
  } catch (error) {
    if (!areMade()) throw error;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function makeGeoTable(name: GeoTableName, path: string): void {
  const open = (of: Parameters<typeof originalGeoFile>[0]): Mmdb =>
    Mmdb.open({ path: originalGeoFile(of), offset: 0, size: undefined });
  const country = open('countryFile');
  const sources: TableSources =
    name === 'countries'
      ? { country, cityV4: undefined, cityV6: undefined }
      : { country, cityV4: open('cityFileV4'), cityV6: open('cityFileV6') };
  const output = new FileOutput(path, 0o644);
  try {
    makeTable(sources, output);
    output.end();
  } finally {
    output.discard();
    for (const source of Object.values(sources)) source?.close();
  }
}

const areMade = (): boolean => geoTableNames.every(isMade);

function isMade(name: GeoTableName): boolean {
  try {
    checkTable({ path: geoTablePath(name), offset: 0, size: undefined });
    return true;
  } catch {
    return false;
  }
}

/** What is not whole, and what other packages, another maker or a process that died have left. */
function removeOld(cache: string): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    const isNew = name.startsWith('new-') && Date.now() - statSync(path).mtimeMs < makingMsMax;
    if (!isNew) rmSync(path, { recursive: true, force: true });
  }
}

if (import.meta.filename === process.argv[1]) {
  try {
    makeGeoFiles((line) => process.stdout.write(`${line}\n`));
  } catch (error) {
    const reason = String(error instanceof Error ? error.message : error).split('\n', 1)[0];
    process.stderr.write(`Cannot make the geo tables: ${reason}; the first start makes them\n`);
  }
}
