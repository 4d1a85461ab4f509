/** Geo data of tests and benches. */
import { geoTablePath, makeGeoFiles } from '../../../config/release/geo-files.ts';
import { Geo } from '../../../src/scans/visitor/geo/geo.ts';
import { Mmdb } from '../../../src/scans/visitor/geo/mmdb.ts';
import { makeTable } from '../../../src/scans/visitor/geo/table-maker.ts';
import { MemoryOutput } from '../../../src/scans/visitor/geo/table-output.ts';
import {
  openTable,
  type OpenTable,
  tableInMemory,
} from '../../../src/scans/visitor/geo/table-units.ts';
import type { GeoName } from '../../../src/shipped.ts';

/** The bundled places; their table is made where `npm ci` made none. */
export function openBundledGeo(): OpenTable {
  makeGeoFiles(() => undefined);
  return openTable({ path: geoTablePath('places') });
}

/** Places of these mmdb files, in memory. */
export function makeGeo(files: Partial<Record<GeoName, string>>): Geo {
  return new Geo(makeGeoTable(files));
}

export function makeGeoTable(files: Partial<Record<GeoName, string>>): OpenTable {
  const sources = Object.entries(files).map(([name, path]) => [name, Mmdb.open({ path })] as const);
  const output = new MemoryOutput();
  makeTable(Object.fromEntries(sources), output);
  for (const [, source] of sources) source.close();
  return tableInMemory(output.end());
}
