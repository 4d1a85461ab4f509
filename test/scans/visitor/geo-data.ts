/** Geo data of tests and benches. */
import { makeGeoTable } from '../../../config/release/geo-files.ts';
import { type GeoFiles, type OpenGeo, openGeo } from '../../../src/scans/visitor/geo/geo-data.ts';
import type { GeoData } from '../../../src/scans/visitor/geo/geo.ts';

export const bundledFiles: GeoFiles = {
  countryFile: 'bundled',
  cityFileV4: 'bundled',
  cityFileV6: 'bundled',
};

/** The bundled places; their table is made where `npm ci` made none. */
export function openBundledGeo(): OpenGeo {
  makeGeoTable(() => undefined);
  return openGeo(bundledFiles);
}

/** Of these mmdb files. */
export function ownGeo(files: Partial<GeoFiles>): GeoData {
  const { data, warnings } = openGeo({ countryFile: '', cityFileV4: '', cityFileV6: '', ...files });
  if (warnings.length > 0) throw new Error(warnings.join('\n'));
  return data;
}
