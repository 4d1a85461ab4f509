/**
 * Makes the tables of places that the service reads of the packages' files: run by `npm ci` and `npm install`.
 *
 *     originals -- makeTable --> <key>/<name>.geo   (the key: see src/shipped.ts)
 *
 * Two runs at once are harmless: a table has its name once it is whole. Where it cannot run, the first start of a service
 * makes its table.
 */
import { mkdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Mmdb } from '../../src/scans/visitor/geo/mmdb.ts';
import { deleteOthers, geoNames, isWhole } from '../../src/scans/visitor/geo/table-file.ts';
import { makeTable } from '../../src/scans/visitor/geo/table-maker.ts';
import { FileOutput } from '../../src/scans/visitor/geo/table-output.ts';
import type { GeoTableName } from '../../src/shipped.binary.ts';
import { geoTableFolder, originalGeoFile } from '../../src/shipped.ts';

export const geoTableNames: readonly GeoTableName[] = ['places', 'countries'];

export const geoTablePath = (name: GeoTableName): string => join(geoTableFolder(), `${name}.geo`);

/**
 * Makes the tables unless they are there and whole.
 * @param print gets one line a table
 * @throws Error when a package is missing or damaged, or the folder cannot be written
 */
export function makeGeoFiles(print: (line: string) => void): void {
  const folder = geoTableFolder();
  // Readable by other users; the table's own output would make it for its owner alone.
  mkdirSync(folder, { recursive: true });
  for (const name of geoTableNames) {
    const path = geoTablePath(name);
    if (isWhole(path)) continue;
    const started = performance.now();
    makeGeoTable(name, path);
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    print(`geo ${name}: ${(statSync(path).size / 1e6).toFixed(1)} MB in ${seconds} s`);
  }
  deleteOthers(
    folder,
    geoTableNames.map((name) => `${name}.geo`),
  );
  deleteOthers(dirname(folder), [basename(folder)]);
}

function makeGeoTable(name: GeoTableName, path: string): void {
  const files = name === 'countries' ? (['countryFile'] as const) : geoNames;
  const sources = files.map((file) => [file, Mmdb.open({ path: originalGeoFile(file) })] as const);
  const output = new FileOutput(path, 0o644);
  try {
    makeTable(Object.fromEntries(sources), output);
    output.end();
  } finally {
    output.discard();
    for (const [, source] of sources) source.close();
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
