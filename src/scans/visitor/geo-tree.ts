/**
 * One mmdb file: a binary tree over address bits, whose leaves point at records.
 *
 *     node       two records of 24, 28 or 32 bits: left for a 0 bit, right for a 1 bit
 *     < nodes    the next node        = nodes   nothing known        > nodes   a data record
 *
 *     | tree | 16 zero bytes | records | marker | metadata: node_count, record_size, ip_version |
 *
 * A file for both families keeps IPv4 under 96 zero bits. A walk takes as many steps as the network's
 * prefix is long (≤ 32, ≤ 128), whatever the file holds; bytes outside the file read as 0. A file that is read
 * in pages (geo-bytes.ts) and is written over in place is opened anew, and knows nothing until it is whole.
 */
import type { GeoBytes } from './geo-bytes.ts';
import { decodeRecord } from './mmdb-record.ts';
import { Recent } from './recent.ts';

/** A decoded record, of a shape that the file's maker chose. */
export type GeoRecord = unknown;

/** Records remembered: 32,768 places take about 4 MB. */
const recordsKept = 32_768;
const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
/** The format's bound on the metadata at the end of the file. */
const metadataBytesMax = 131_072;
const separatorBytes = 16;

interface Layout {
  readonly nodes: number;
  readonly recordBits: number;
  readonly treeBytes: number;
  readonly holdsIpv6: boolean;
}

export class GeoTree<Value> {
  readonly #file: GeoBytes;
  readonly #parse: (record: GeoRecord) => Value;
  readonly #unknown: Value;
  readonly holdsIpv6: boolean;
  #layout: Layout | undefined;
  #ipv4Start = 0;
  #values = new Recent<number, Value>(recordsKept);

  private constructor(file: GeoBytes, layout: Layout, parse: (record: GeoRecord) => Value) {
    this.#file = file;
    this.#parse = parse;
    this.#unknown = parse(null);
    this.holdsIpv6 = layout.holdsIpv6;
    this.#use(layout);
  }

  /**
   * @param parse makes what is kept of a record; gets null where the file knows nothing
   * @throws Error when the file is no mmdb file
   */
  static open<Value>(file: GeoBytes, parse: (record: GeoRecord) => Value): GeoTree<Value> {
    return new GeoTree(file, readLayout(file), parse);
  }

  /** What the file holds for the 16 address bytes at `at`. */
  find(address: Uint8Array, at: number, ipv4: boolean): Value {
    const { reads } = this.#file;
    try {
      const value = this.#find(address, at, ipv4);
      if (this.#file.reads === reads || !this.#file.hasChanged) return value;
      this.#reopen();
    } catch {
      // The file cannot be read: this place is unknown, the next may not be.
    }
    return this.#unknown;
  }

  #find(address: Uint8Array, at: number, ipv4: boolean): Value {
    const layout = this.#layout;
    if (layout === undefined) {
      if (this.#file.hasChanged) this.#reopen();
      return this.#unknown;
    }
    const record = ipv4
      ? this.#walk(layout, address, at + 12, 32, this.#ipv4Start)
      : this.#walk(layout, address, at, 128, 0);
    const known = this.#values.find(record);
    if (known !== undefined) return known;
    const value = record > layout.nodes ? this.#parse(this.#decode(layout, record)) : this.#unknown;
    this.#values.keep(record, value);
    return value;
  }

  #use(layout: Layout): void {
    let start = 0;
    for (let bit = 0; layout.holdsIpv6 && bit < 96 && start < layout.nodes; bit++)
      start = this.#next(layout, start, 0);
    this.#ipv4Start = start;
    this.#layout = layout;
  }

  #reopen(): void {
    this.#layout = undefined;
    this.#values = new Recent(recordsKept);
    this.#file.restart();
    const layout = readLayout(this.#file);
    if (layout.holdsIpv6 === this.holdsIpv6) this.#use(layout);
  }

  #walk(layout: Layout, address: Uint8Array, at: number, bits: number, start: number): number {
    let node = start;
    for (let bit = 0; bit < bits && node < layout.nodes; bit++) {
      node = this.#next(layout, node, (address[at + (bit >>> 3)]! >>> (7 - (bit & 7))) & 1);
    }
    return node;
  }

  #next({ recordBits }: Layout, node: number, bit: number): number {
    const { bytes } = this.#file;
    if (recordBits === 24) {
      const from = this.#file.locate(node * 6 + bit * 3);
      return (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!;
    }
    if (recordBits === 28) {
      const start = this.#file.locate(node * 7);
      const from = start + bit * 4;
      const middle = bytes[start + 3]!;
      const top = bit === 0 ? middle >>> 4 : middle & 15;
      return (top << 24) | (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!;
    }
    const from = this.#file.locate(node * 8 + bit * 4);
    const low = (bytes[from + 1]! << 16) | (bytes[from + 2]! << 8) | bytes[from + 3]!;
    return ((bytes[from]! << 24) | low) >>> 0;
  }

  #decode({ nodes, treeBytes }: Layout, record: number): GeoRecord {
    try {
      return decodeRecord(this.#file, treeBytes + separatorBytes, treeBytes + record - nodes);
    } catch {
      // A broken data section: this place is unknown, the file's others may not be.
      return null;
    }
  }
}

/** @throws Error saying what is wrong with the file */
function readLayout(file: GeoBytes): Layout {
  const metadata = decodeMetadata(file);
  const number = (name: string): number => {
    const value: unknown =
      typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, name) : undefined;
    if (typeof value !== 'number') throw new Error(`its metadata has no ${name}`);
    return value;
  };
  const nodes = number('node_count');
  const recordBits = number('record_size');
  if (![24, 28, 32].includes(recordBits)) throw new Error(`its records have ${recordBits} bits`);
  const treeBytes = (nodes * recordBits) / 4;
  if (treeBytes + separatorBytes > file.size) {
    throw new Error(`its search tree takes ${treeBytes} of ${file.size} bytes`);
  }
  return { nodes, recordBits, treeBytes, holdsIpv6: number('ip_version') === 6 };
}

function decodeMetadata(file: GeoBytes): unknown {
  for (let at = file.size - marker.length; at >= Math.max(0, file.size - metadataBytesMax); at--) {
    if (!marker.every((byte, index) => file.bytes[file.locate(at + index)] === byte)) continue;
    const from = at + marker.length;
    return decodeRecord(file, from, from);
  }
  throw new Error('it has no metadata, expected an mmdb file');
}
