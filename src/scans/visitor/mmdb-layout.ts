/**
 * The search tree of an mmdb file (MaxMind DB format 2.0) and what its metadata says of it.
 *
 *     node       two records of 24, 28 or 32 bits: left for a 0 bit, right for a 1 bit
 *     < nodes    the next node        = nodes   nothing known        > nodes   a data record
 *
 *     | tree | 16 zero bytes | records | marker | metadata: node_count, record_size, ip_version |
 *
 * A file for both families keeps IPv4 under 96 zero bits.
 */
import type { GeoBytes } from './geo-bytes.ts';
import { decodeRecord } from './mmdb-record.ts';

export const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
/** Zero bytes between tree and records. */
export const separatorBytes = 16;
/** The format's bound on the metadata at the end of the file. */
const metadataBytesMax = 131_072;

export interface Layout {
  readonly nodes: number;
  readonly recordBits: number;
  readonly treeBytes: number;
  readonly holdsIpv6: boolean;
}

/** @throws Error saying what is wrong with the file */
export function readLayout(file: GeoBytes): Layout {
  const metadata = readMetadata(file);
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

/** @throws Error when the file has none */
export function readMetadata(file: GeoBytes): unknown {
  for (let at = file.size - marker.length; at >= Math.max(0, file.size - metadataBytesMax); at--) {
    if (!marker.every((byte, index) => file.bytes[file.locate(at + index)] === byte)) continue;
    const from = at + marker.length;
    return decodeRecord(file, from, from);
  }
  throw new Error('it has no metadata, expected an mmdb file');
}

/** The record of a node's side: 0 = left, 1 = right. */
export function recordOf(file: GeoBytes, recordBits: number, node: number, side: number): number {
  const { bytes } = file;
  if (recordBits === 24) {
    const from = file.locate(node * 6 + side * 3);
    return (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!;
  }
  if (recordBits === 28) {
    const start = file.locate(node * 7);
    const from = start + side * 4;
    const middle = bytes[start + 3]!;
    const top = side === 0 ? middle >>> 4 : middle & 15;
    return (top << 24) | (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!;
  }
  const from = file.locate(node * 8 + side * 4);
  const low = (bytes[from + 1]! << 16) | (bytes[from + 2]! << 8) | bytes[from + 3]!;
  return ((bytes[from]! << 24) | low) >>> 0;
}
