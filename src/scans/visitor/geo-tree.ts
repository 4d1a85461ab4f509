/**
 * One mmdb file: a binary tree over address bits, whose leaves point at records.
 *
 *     node       two records of 24, 28 or 32 bits: left for a 0 bit, right for a 1 bit
 *     < nodes    the next node        = nodes   nothing known        > nodes   a data record
 *
 * A file for both families keeps IPv4 under 96 zero bits. A walk takes as many steps as the network's
 * prefix is long (≤ 32, ≤ 128), whatever the file holds; bytes outside the file read as 0.
 */
import { Reader } from 'maxmind';
import { Recent } from './recent.ts';

/** A decoded record, of a shape that the file's maker chose. */
export type GeoRecord = unknown;

/** Records remembered: 32,768 places take about 4 MB. */
const recordsKept = 32_768;

export class GeoTree<Value> {
  readonly #reader: Reader<object>;
  readonly #parse: (record: GeoRecord) => Value;
  readonly #bytes: Uint8Array;
  readonly #nodes: number;
  readonly #recordBits: number;
  readonly #ipv4Start: number;
  readonly holdsIpv6: boolean;
  readonly #values = new Recent<number, Value>(recordsKept);

  private constructor(
    reader: Reader<object>,
    bytes: Uint8Array,
    parse: (record: GeoRecord) => Value,
  ) {
    this.#reader = reader;
    this.#parse = parse;
    this.#bytes = bytes;
    this.#nodes = reader.metadata.nodeCount;
    this.#recordBits = reader.metadata.recordSize;
    this.holdsIpv6 = reader.metadata.ipVersion === 6;
    let start = 0;
    for (let bit = 0; this.holdsIpv6 && bit < 96 && start < this.#nodes; bit++)
      start = this.#next(start, 0);
    this.#ipv4Start = start;
  }

  /**
   * @param parse makes what is kept of a record; gets null where the file knows nothing
   * @throws Error when the bytes are no mmdb file
   */
  static open<Value>(data: SharedArrayBuffer, parse: (record: GeoRecord) => Value): GeoTree<Value> {
    const reader = new Reader<object>(Buffer.from(data));
    if (reader.metadata.searchTreeSize + 16 > data.byteLength) {
      throw new Error(
        `its search tree takes ${reader.metadata.searchTreeSize} of ${data.byteLength} bytes`,
      );
    }
    return new GeoTree(reader, new Uint8Array(data), parse);
  }

  /** What the file holds for the 16 address bytes at `at`. */
  find(address: Uint8Array, at: number, ipv4: boolean): Value {
    const record = ipv4
      ? this.#walk(address, at + 12, 32, this.#ipv4Start)
      : this.#walk(address, at, 128, 0);
    const known = this.#values.find(record);
    if (known !== undefined) return known;
    const value = this.#parse(record > this.#nodes ? this.#decode(address, at, ipv4) : null);
    this.#values.keep(record, value);
    return value;
  }

  #walk(address: Uint8Array, at: number, bits: number, start: number): number {
    let node = start;
    for (let bit = 0; bit < bits && node < this.#nodes; bit++) {
      node = this.#next(node, (address[at + (bit >>> 3)]! >>> (7 - (bit & 7))) & 1);
    }
    return node;
  }

  #next(node: number, bit: number): number {
    const bytes = this.#bytes;
    if (this.#recordBits === 24) {
      const from = node * 6 + bit * 3;
      return (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!;
    }
    if (this.#recordBits === 28) {
      const from = node * 7 + bit * 4;
      const middle = bytes[node * 7 + 3]!;
      const top = bit === 0 ? middle >>> 4 : middle & 15;
      return (top << 24) | (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!;
    }
    const from = node * 8 + bit * 4;
    const low = (bytes[from + 1]! << 16) | (bytes[from + 2]! << 8) | bytes[from + 3]!;
    return bytes[from]! * 16_777_216 + low;
  }

  /** Through the library, which wants text; 5–8 µs, once for each record in the cache. */
  #decode(address: Uint8Array, at: number, ipv4: boolean): GeoRecord {
    try {
      return this.#reader.get(ipv4 ? formatIpv4(address, at + 12) : formatIpv6(address, at));
    } catch {
      // A broken data section: this place is unknown, the file's others may not be.
      return null;
    }
  }
}

function formatIpv4(address: Uint8Array, at: number): string {
  return `${address[at]}.${address[at + 1]}.${address[at + 2]}.${address[at + 3]}`;
}

function formatIpv6(address: Uint8Array, at: number): string {
  const groups: string[] = [];
  for (let byte = at; byte < at + 16; byte += 2) {
    groups.push(((address[byte]! << 8) | address[byte + 1]!).toString(16));
  }
  return groups.join(':');
}
