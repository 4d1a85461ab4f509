/**
 * Countries of the atlas as paths on a plane 960 wide, equal-area (Equal Earth), without Antarctica. The map's edge is
 * in the Bering Strait, so that it does not cut a country.
 */
import { geoArea, geoEqualEarth, geoPath, type GeoPath, type GeoGeometryObjects } from 'd3-geo';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';

export type Atlas = Topology<{
  readonly countries: GeometryCollection<{ readonly name: string }>;
}>;

export interface Shape {
  /** Two letters; undefined for an area without a code. */
  readonly key: string | undefined;
  readonly path: string;
  /** Center without overseas parts, as fractions of the plane's width and height. */
  readonly at: readonly [across: number, down: number];
}

export interface World {
  readonly viewBox: string;
  readonly lands: readonly Shape[];
  /** Each a path of length 0, which a round line cap draws as a dot. */
  readonly dots: readonly Shape[];
}

/** Countries of the atlas, which numbers them as ISO 3166-1 does, and their two letters. */
const numbered =
  '004AF008AL010AQ012DZ024AO031AZ032AR036AU040AT044BS050BD051AM056BE064BT068BO070BA072BW076BR084BZ090SB096BN100BG' +
  '104MM108BI112BY116KH120CM124CA140CF144LK148TD152CL156CN158TW170CO178CG180CD188CR191HR192CU196CY203CZ204BJ208DK' +
  '214DO218EC222SV226GQ231ET232ER233EE238FK242FJ246FI250FR260TF262DJ266GA268GE270GM275PS276DE288GH300GR304GL320GT' +
  '324GN328GY332HT340HN348HU352IS356IN360ID364IR368IQ372IE376IL380IT384CI388JM392JP398KZ400JO404KE408KP410KR414KW' +
  '417KG418LA422LB426LS428LV430LR434LY440LT442LU450MG454MW458MY466ML478MR484MX496MN498MD499ME504MA508MZ512OM516NA' +
  '524NP528NL540NC548VU554NZ558NI562NE566NG578NO586PK591PA598PG600PY604PE608PH616PL620PT624GW626TL630PR634QA642RO' +
  '643RU646RW682SA686SN688RS694SL703SK704VN705SI706SO710ZA716ZW724ES728SS729SD732EH740SR748SZ752SE756CH760SY762TJ' +
  '764TH768TG780TT784AE788TN792TR795TM800UG804UA807MK818EG826GB834TZ840US854BF858UY860UZ862VE887YE894ZM';

/** Countries too small for the atlas: longitude and latitude of the center, or of the most populated island. */
const placed =
  'AD1.6,42.5 AG-61.8,17.1 AI-63.1,18.2 AS-170.7,-14.3 AW-70,12.5 AX20.1,60.2 BB-59.6,13.2 BH50.5,26.1 BL-62.8,17.9 ' +
  'BM-64.8,32.3 BQ-68.3,12.2 CC96.8,-12.2 CK-159.8,-21.2 CV-23.6,15.1 CW-69,12.2 CX105.7,-10.5 DM-61.4,15.4 ' +
  'FM158.2,6.9 FO-6.9,62.1 GD-61.7,12.2 GF-53,4 GG-2.5,49.5 GI-5.3,36.1 GP-61.6,16.3 GS-36,-54.7 GU144.8,13.4 ' +
  'HK114.1,22.4 IM-4.5,54.2 IO72.4,-7.3 JE-2.1,49.2 KI173,1.4 KM43.3,-11.7 KN-62.7,17.3 KY-81.3,19.3 LC-61,13.9 ' +
  'LI9.5,47.1 MC7.4,43.7 MF-63.1,18.1 MH171.2,7.1 MO113.6,22.2 MP145.7,15.2 MQ-61,14.6 MS-62.2,16.7 MT14.4,35.9 ' +
  'MU57.6,-20.3 MV73.5,4.2 NF168,-29 NR166.9,-0.5 NU-169.9,-19 PF-149.4,-17.6 PM-56.3,46.9 PN-130.1,-25.1 PW134.5,7.4 ' +
  'RE55.5,-21.1 SC55.5,-4.6 SG103.8,1.4 SH-5.7,-16 SJ15.6,78.2 SM12.4,43.9 ST6.7,0.3 SX-63.1,18 TC-72.2,21.8 ' +
  'TK-171.8,-9.2 TO-175.2,-21.1 TV179.2,-8.5 VA12.5,41.9 VC-61.2,13.2 VG-64.6,18.4 VI-64.9,18.3 WF-178.1,-14.3 ' +
  'WS-171.8,-13.8 YT45.2,-12.8';

/** Two letters by the number, `276` -> `DE`. */
export const lettersOf: ReadonlyMap<string, string> = new Map(
  (numbered.match(/\d{3}[A-Z]{2}/g) ?? []).map((entry) => [entry.slice(0, 3), entry.slice(3)]),
);

export const smallPlaces = placed.split(' ').map((entry) => {
  const [longitude = 0, latitude = 0] = entry.slice(2).split(',').map(Number);
  const point: [number, number] = [longitude, latitude];
  return { key: entry.slice(0, 2), point };
});

const width = 960;
/** Margin for half a dot at the edge on a narrow screen. */
const margin = 12;
const antarctica = '010';
/** Kosovo has no number; the geo data uses these letters. */
const kosovo = { name: 'Kosovo', letters: 'XK' };
/** Decimal digits: tenths of a pixel. */
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

/** The center of the largest part: overseas parts would move it into the sea. */
function middleOf(path: GeoPath, geometry: GeoGeometryObjects): [number, number] {
  if (geometry.type !== 'MultiPolygon') return path.centroid(geometry);
  const parts = geometry.coordinates.map(
    (coordinates) => ({ type: 'Polygon', coordinates }) as const,
  );
  return path.centroid(parts.toSorted((a, b) => geoArea(b) - geoArea(a))[0] ?? geometry);
}
