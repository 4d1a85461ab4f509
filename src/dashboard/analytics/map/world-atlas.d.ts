/** The borders of countries: 110 m means 1:110 million, which leaves out what would be smaller than a dot. */
declare module 'world-atlas/countries-110m.json' {
  import type { GeometryCollection, Topology } from 'topojson-specification';
  const atlas: Topology<{ readonly countries: GeometryCollection<{ readonly name: string }> }>;
  export = atlas;
}
