/** The borders of countries at 1:110 million, which omits countries smaller than a dot. */
declare module 'world-atlas/countries-110m.json' {
  import type { GeometryCollection, Topology } from 'topojson-specification';
  const atlas: Topology<{ readonly countries: GeometryCollection<{ readonly name: string }> }>;
  export = atlas;
}
