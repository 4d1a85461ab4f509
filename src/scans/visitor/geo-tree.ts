/**
 * Look-ups in one mmdb file: a binary tree over address bits, whose leaves point at records.
 *
 * A walk takes as many steps as the network's prefix is long (≤ 32, ≤ 128), whatever the file holds; bytes outside the
 * file read as 0. A file that is read in pages (geo-bytes.ts) and is written over in place is opened anew, and knows
 * nothing until it is whole.
 */
import type { GeoBytes } from './geo-bytes.ts';
import { type Layout, readLayout, recordOf, separatorBytes } from './mmdb-layout.ts';
import { decodeRecord } from './mmdb-record.ts';
import { Recent } from './recent.ts';

/** Records remembered: 32,768 places take about 4 MB. */
const recordsKept = 32_768;

export class GeoTree<Value> {
  readonly #file: GeoBytes;
  readonly #parse: (record: unknown) => Value;
  readonly #unknown: Value;
  readonly holdsIpv6: boolean;
  #layout: Layout | undefined;
  #ipv4Start = 0;
  #values = new Recent<number, Value>(recordsKept);

  private constructor(file: GeoBytes, layout: Layout, parse: (record: unknown) => Value) {
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
  static open<Value>(file: GeoBytes, parse: (record: unknown) => Value): GeoTree<Value> {
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
    if (!ipv4 && !layout.holdsIpv6) return this.#unknown;
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
      start = recordOf(this.#file, layout.recordBits, start, 0);
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
      const side = (address[at + (bit >>> 3)]! >>> (7 - (bit & 7))) & 1;
      node = recordOf(this.#file, layout.recordBits, node, side);
    }
    return node;
  }

  #decode({ nodes, treeBytes }: Layout, record: number): unknown {
    try {
      return decodeRecord(this.#file, treeBytes + separatorBytes, treeBytes + record - nodes);
    } catch {
      // A broken data section: this place is unknown, the file's others may not be.
      return null;
    }
  }
}
