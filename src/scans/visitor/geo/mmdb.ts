/**
 * Networks of an mmdb file (MaxMind DB format 2.0), in the order of their addresses.
 *
 *     node       two records of 24, 28 or 32 bits: left for a 0 bit, right for a 1 bit
 *     < nodes    the next node        = nodes   nothing known        > nodes   a data record
 *
 *     | tree | 16 zero bytes | records | marker | metadata: node_count, record_size, ip_version |
 *
 * A file for both families keeps IPv4 under 96 zero bits. 2002::/16 and 2001::/32 may lead there once more.
 */
import type { FilePart } from '../../../shipped.ts';
import { FilePages } from './file-pages.ts';
import { decodeRecord } from './mmdb-record.ts';
import { families, type Family, type GeoSource, type Networks, SourceError } from './networks.ts';
import { flagSixToFour, flagTeredo } from './table-layout.ts';

const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
/** Zero bytes between tree and records. */
const separatorBytes = 16;
/** The format's bound on the metadata at the end of the file. */
const metadataBytesMax = 131_072;
/** Numbers of whose places are kept: networks beside each other often have one. */
const recordsKept = 65_536;
/** Of one family: the bundled files have 8.5 million. More are a file whose tree has loops. */
const networksMax = 2 ** 26;

export class Mmdb implements GeoSource {
  readonly #file: FilePages;
  readonly #recordBits: number;
  readonly #treeBytes: number;
  readonly nodes: number;
  readonly holdsIpv6: boolean;
  /** Node or record of all IPv4 addresses. */
  readonly ipv4: number;

  /** @throws Error of the system, or saying what is wrong with the file */
  static open(part: FilePart): Mmdb {
    const file = new FilePages(part);
    try {
      return new Mmdb(file);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  private constructor(file: FilePages) {
    const metadata = readMetadata(file);
    const number = (name: string): number => {
      const value: unknown =
        typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, name) : undefined;
      if (typeof value !== 'number') throw new Error(`its metadata has no ${name}`);
      return value;
    };
    this.#file = file;
    this.nodes = number('node_count');
    this.#recordBits = number('record_size');
    if (![24, 28, 32].includes(this.#recordBits))
      throw new Error(`its records have ${this.#recordBits} bits`);
    this.#treeBytes = (this.nodes * this.#recordBits) / 4;
    if (this.#treeBytes + separatorBytes > file.size) {
      throw new Error(`its search tree takes ${this.#treeBytes} of ${file.size} bytes`);
    }
    this.holdsIpv6 = number('ip_version') === 6;
    let ipv4 = 0;
    for (let bit = 0; this.holdsIpv6 && bit < 96; bit++) ipv4 = this.side(ipv4, 0);
    this.ipv4 = ipv4;
  }

  networks(family: Family, numberOf: (record: unknown) => number): Networks {
    const known = new Map<number, number>();
    return new MmdbNetworks(this, family, (record) => {
      let place = known.get(record);
      if (place === undefined) {
        place = numberOf(this.decode(record));
        if (known.size === recordsKept) known.clear();
        known.set(record, place);
      }
      return place;
    });
  }

  close(): void {
    this.#file.close();
  }

  /** Of a record of the tree: itself, of a node: what its side 0 = left or 1 = right says. */
  side(node: number, side: number): number {
    if (node >= this.nodes) return node;
    const file = this.#file;
    const { bytes } = file;
    if (this.#recordBits === 28) {
      const start = file.locate(node * 7);
      const from = start + side * 4;
      const middle = bytes[start + 3]!;
      const top = side === 0 ? middle >>> 4 : middle & 15;
      return (top << 24) | (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!;
    }
    if (this.#recordBits === 24) {
      const from = file.locate(node * 6 + side * 3);
      return (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!;
    }
    const from = file.locate(node * 8 + side * 4);
    return bytes.readUInt32BE(from);
  }

  /** What the file says of a record above `nodes`; null where it is damaged. */
  decode(record: number): unknown {
    try {
      const at = this.#treeBytes + record - this.nodes;
      return decodeRecord(this.#file, this.#treeBytes + separatorBytes, at);
    } catch {
      // This place is unknown, the file's others may not be.
      return null;
    }
  }
}

/** @throws Error when the file has none */
function readMetadata(file: FilePages): unknown {
  for (let at = file.size - marker.length; at >= Math.max(0, file.size - metadataBytesMax); at--) {
    if (file.bytes[file.locate(at)] !== marker[0]) continue;
    if (!marker.every((byte, index) => file.bytes[file.locate(at + index)] === byte)) continue;
    const from = at + marker.length;
    return decodeRecord(file, from, from);
  }
  throw new Error('it has no metadata, expected an mmdb file');
}

class MmdbNetworks implements Networks {
  readonly #file: Mmdb;
  readonly #placeOf: (record: number) => number;
  readonly #bitsMin: number;
  readonly #address = new Uint32Array(4);
  readonly last = new Uint32Array(4);
  /** Of each bit of the address, its node. */
  readonly #path = new Uint32Array(128);
  readonly #root: number;
  #bits = -1;
  #networks = 0;
  place = 0;
  aliases = 0;

  /** @param placeOf number of the place of a record above `nodes` */
  constructor(file: Mmdb, family: Family, placeOf: (record: number) => number) {
    this.#file = file;
    this.#placeOf = placeOf;
    const { first, bits } = families[family];
    this.#bitsMin = bits;
    this.#address[0] = first;
    const ipv6 = (): number => file.side(file.side(file.side(0, 0), 0), 1);
    this.#root = family === 4 ? file.ipv4 : file.holdsIpv6 ? ipv6() : file.nodes;
  }

  next(): boolean {
    try {
      return this.#next();
    } catch (error) {
      throw new SourceError(this.#file, error);
    }
  }

  #next(): boolean {
    if (++this.#networks > networksMax) throw new Error(`it has over ${networksMax} networks`);
    if (this.#bits === -1) {
      this.#bits = this.#bitsMin;
      this.#descend(this.#root);
      return true;
    }
    const address = this.#address;
    while (this.#bits > this.#bitsMin) {
      const bit = this.#bits - 1;
      const mask = (0x8000_0000 >>> (bit & 31)) >>> 0;
      const word = bit >>> 5;
      if ((address[word]! & mask) === 0) {
        address[word] = address[word]! | mask;
        this.#descend(this.#file.side(this.#path[bit]!, 1));
        return true;
      }
      address[word] = address[word]! ^ mask;
      this.#bits = bit;
    }
    return false;
  }

  /** To the first network of this node or record. */
  #descend(from: number): void {
    const file = this.#file;
    let node = from;
    while (node < file.nodes && this.#bits < 128 && !this.#isAlias(node)) {
      this.#path[this.#bits++] = node;
      node = file.side(node, 0);
    }
    this.place = node > file.nodes ? this.#placeOf(node) : 0;
    const bits = this.#bits;
    for (let word = 0; word < 4; word++) {
      const known = bits - word * 32;
      const rest = known >= 32 ? 0 : known <= 0 ? 0xffff_ffff : 0xffff_ffff >>> known;
      this.last[word] = this.#address[word]! | rest;
    }
  }

  #isAlias(node: number): boolean {
    if (node !== this.#file.ipv4) return false;
    const [first] = this.#address;
    const isOld = this.#bits === 16 && first === 0x2002_0000;
    const isTunnel = this.#bits === 32 && first === 0x2001_0000;
    this.aliases |= isOld ? flagSixToFour : isTunnel ? flagTeredo : 0;
    return isOld || isTunnel;
  }
}
