/**
 * Makes a small mmdb file of a large one, for the same look-ups: of each record it keeps what `parsePlace` reads, the
 * country and the city without its district.
 *
 *     original tree -- post-order walk --> place of each leaf -- join --> tree of distinct nodes -- mmdb-writer.ts --> file
 *
 * Two halves of a network with the same place become one leaf, two equal subtrees one node, and a record that names no
 * place "nothing known".
 *
 * Takes 4 to 7 s of a core for a bundled file of cities, a third of it for decoding 400,000 records, and 450 MB of memory.
 */
import { BytesInMemory } from '../../../src/scans/visitor/geo-bytes.ts';
import {
  type Layout,
  readLayout,
  readMetadata,
  recordOf,
  separatorBytes,
} from '../../../src/scans/visitor/mmdb-layout.ts';
import { decodeRecord } from '../../../src/scans/visitor/mmdb-record.ts';
import { nowhere, parsePlace, type Place } from '../../../src/scans/visitor/place.ts';
import { NodeSet, nothing } from './mmdb-nodes.ts';
import { writeMmdb } from './mmdb-writer.ts';

/** Share of a tree's nodes that the table holds at first; of the bundled files 0.34 to 0.6 stay. */
const sharedPart = 0.4;
/** Marks a node that the walk has not reached. */
const unmade = -(2 ** 31);

/**
 * @param bytes an mmdb file in one of the shapes that `parsePlace` reads
 * @returns an mmdb file whose look-ups give equal places
 * @throws Error when the file is damaged, or a city's name would be read otherwise from the result
 */
export function slimGeo(bytes: Uint8Array): Uint8Array {
  const file = new BytesInMemory(bytes);
  const layout = readLayout(file);
  const places = new PlaceList(file, layout);
  const nodes = new NodeSet(layout.nodes * sharedPart);
  const root = joinTree(file, layout, nodes, (record) => places.leafOf(record));
  const metadata = readMetadata(file);
  const original = (name: string): unknown => Reflect.get(Object(metadata), name);
  return writeMmdb({
    tree: { sides: nodes.sides, root },
    records: places.list.map(({ country, city }) =>
      city === '' ? { country_code: country } : { country_code: country, city },
    ),
    ipVersion: layout.holdsIpv6 ? 6 : 4,
    databaseType: String(original('database_type')),
    buildEpoch: Number(original('build_epoch')),
    description: 'Reduced by Quietzone to countries and to cities without districts',
  });
}

/** The distinct places of a file. */
class PlaceList {
  readonly list: Place[] = [];
  readonly #file: BytesInMemory;
  readonly #layout: Layout;
  readonly #byRecord = new Map<number, number>();
  readonly #byName = new Map<string, number>();

  constructor(file: BytesInMemory, layout: Layout) {
    this.#file = file;
    this.#layout = layout;
  }

  /** @param record above the number of nodes @returns `nothing`, or -2 - its place's index */
  leafOf(record: number): number {
    const known = this.#byRecord.get(record);
    if (known !== undefined) return known;
    const { nodes, treeBytes } = this.#layout;
    const at = treeBytes + record - nodes;
    const leaf = this.#leafAt(decodeRecord(this.#file, treeBytes + separatorBytes, at));
    this.#byRecord.set(record, leaf);
    return leaf;
  }

  #leafAt(record: unknown): number {
    const place = parsePlace(record);
    const { country, city } = place;
    if (country === nowhere.country && city === nowhere.city) return nothing;
    const name = country + city;
    let leaf = this.#byName.get(name);
    if (leaf === undefined) {
      const again = parsePlace({ country_code: country, city });
      if (again.country !== country || again.city !== city || !city.isWellFormed()) {
        throw new Error(`Cannot keep the city ${city}: it would be read as ${again.city}`);
      }
      leaf = -1 - this.list.push(place);
      this.#byName.set(name, leaf);
    }
    return leaf;
  }
}

/** @returns the root: a node of `joined`, or a leaf where the whole tree has one place */
function joinTree(
  file: BytesInMemory,
  { nodes, recordBits, holdsIpv6 }: Layout,
  joined: NodeSet,
  leafOf: (record: number) => number,
): number {
  const depthMax = holdsIpv6 ? 128 : 32;
  const made = new Int32Array(nodes).fill(unmade);
  /** Of each node from the root to where the walk is: its number, how many sides are done, and what became of them. */
  const path = new Uint32Array(depthMax);
  const sides = new Uint8Array(depthMax);
  const results = new Int32Array(depthMax * 2);
  let depth = 0;
  for (;;) {
    const side = sides[depth]!;
    let result: number;
    if (side === 2) {
      result = joined.join(results[depth * 2]!, results[depth * 2 + 1]!);
      made[path[depth]!] = result;
      if (depth-- === 0) return result;
    } else {
      const record = recordOf(file, recordBits, path[depth]!, side);
      if (record === nodes) result = nothing;
      else if (record > nodes) result = leafOf(record);
      else if (made[record] !== unmade) result = made[record]!;
      else {
        if (++depth === depthMax) throw new Error('its tree is deeper than an address is long');
        path[depth] = record;
        sides[depth] = 0;
        continue;
      }
    }
    const done = sides[depth]!;
    results[depth * 2 + done] = result;
    sides[depth] = done + 1;
  }
}
