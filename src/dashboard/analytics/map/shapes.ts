/**
 * Countries of the atlas as paths on a plane 960 wide, areas true (Equal Earth), without Antarctica. The edge of the map
 * is in the Bering Strait, where it cuts no country.
 */
import { geoArea, geoEqualEarth, geoPath, type GeoPath, type GeoGeometryObjects } from 'd3-geo';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import { lettersOf, smallPlaces } from './country-codes.ts';

export type Atlas = Topology<{
  readonly countries: GeometryCollection<{ readonly name: string }>;
}>;

export interface Shape {
  /** Two letters; undefined for a land that has none. */
  readonly key: string | undefined;
  readonly path: string;
  /** Its middle, of overseas parts without: parts of the plane's width and height. */
  readonly at: readonly [across: number, down: number];
}

export interface World {
  readonly viewBox: string;
  readonly lands: readonly Shape[];
  /** Each a path of no length, which a round line makes a dot. */
  readonly dots: readonly Shape[];
}

const width = 960;
/** Around it, for half a dot at its edge on a narrow screen. */
const margin = 12;
const antarctica = '010';
/** Kosovo has no number; the letters are those that addresses are known by. */
const kosovo = { name: 'Kosovo', letters: 'XK' };
/** Digits behind the point: tenths of a pixel. */
const digits = 1;

export function worldOf(atlas: Atlas): World {
  const { features } = feature(atlas, atlas.objects.countries);
  const shown = features.filter(({ id }) => id !== antarctica);
  const points = smallPlaces.map(({ point }) => point);
  const whole: GeoGeometryObjects = {
    type: 'GeometryCollection',
    geometries: [
      ...shown.map(({ geometry }) => geometry),
      { type: 'MultiPoint', coordinates: points },
    ],
  };
  const projection = geoEqualEarth().rotate([-11, 0]).fitWidth(width, whole);
  const path = geoPath(projection).digits(digits);
  const [[, top], [, bottom]] = path.bounds(whole);
  const [left, above] = [-margin, Math.floor(top) - margin];
  const [across, down] = [width + 2 * margin, Math.ceil(bottom - top) + 2 * margin];
  const partsOf = ([x, y]: readonly [number, number]): [number, number] => [
    (x - left) / across,
    (y - above) / down,
  ];
  return {
    viewBox: `${left} ${above} ${across} ${down}`,
    lands: shown.map((land) => ({
      key: land.properties.name === kosovo.name ? kosovo.letters : lettersOf.get(String(land.id)),
      path: path(land) ?? '',
      at: partsOf(middleOf(path, land.geometry)),
    })),
    dots: smallPlaces.map(({ key, point }) => {
      const [x, y] = projection(point) ?? [0, 0];
      return { key, path: `M${x.toFixed(digits)},${y.toFixed(digits)}h0`, at: partsOf([x, y]) };
    }),
  };
}

/** Of the largest part: a country with an overseas part would have its middle at sea. */
function middleOf(path: GeoPath, geometry: GeoGeometryObjects): [number, number] {
  if (geometry.type !== 'MultiPolygon') return path.centroid(geometry);
  const parts = geometry.coordinates.map(
    (coordinates) => ({ type: 'Polygon', coordinates }) as const,
  );
  return path.centroid(parts.toSorted((a, b) => geoArea(b) - geoArea(a))[0] ?? geometry);
}
