/** Geo data of tests and benches. */
import { geoTablePath, makeGeoFiles } from '../../../config/release/geo-files.ts';
import { Geo, type GeoData } from '../../../src/scans/visitor/geo/geo.ts';
import { Mmdb } from '../../../src/scans/visitor/geo/mmdb.ts';
import { makeTable } from '../../../src/scans/visitor/geo/table-maker.ts';
import { MemoryOutput } from '../../../src/scans/visitor/geo/table-output.ts';
import { openTable, tableInMemory } from '../../../src/scans/visitor/geo/table-units.ts';
import type { GeoName } from '../../../src/shipped.ts';

export const noGeo: GeoData = { table: undefined, warnings: [] };

/** The bundled places; their table is made where `npm ci` made none. */
export function openBundledGeo(): GeoData {
  makeGeoFiles(() => undefined);
  const path = geoTablePath('places');
  return { table: openTable({ path, offset: 0, size: undefined }), warnings: [] };
}

/** Places of these mmdb files, in memory. */
export function makeGeo(files: Partial<Record<GeoName, string>>): Geo {
  const open = (path: string | undefined) =>
    path === undefined ? undefined : Mmdb.open({ path, offset: 0, size: undefined });
  const [country, cityV4, cityV6] = [files.countryFile, files.cityFileV4, files.cityFileV6].map(
    open,
  );
  const output = new MemoryOutput();
  makeTable({ country, cityV4, cityV6 }, output);
  for (const source of [country, cityV4, cityV6]) source?.close();
  return new Geo({ table: tableInMemory(output.end()), warnings: [] });
}
