/** Geo data of tests and benches. */
import { makeGeoTable } from '../../../config/release/geo-files.ts';
import { type GeoFiles, type OpenGeo, openGeo } from '../../../src/engine/visitor/geo/geo-data.ts';
import type { GeoData } from '../../../src/engine/visitor/geo/geo.ts';
import { parseAddress } from '../../support/address.ts';

export const bundledFiles: GeoFiles = {
  countryFile: 'bundled',
  cityFileV4: 'bundled',
  cityFileV6: 'bundled',
};

/** The bundled places; their table is made where `npm ci` made none. */
export function openBundledGeo(): OpenGeo {
  makeGeoTable(() => undefined);
  return openGeo(bundledFiles);
}

/** Of these mmdb files. */
export function ownGeo(files: Partial<GeoFiles>): GeoData {
  const { data, warnings } = openGeo({ countryFile: '', cityFileV4: '', cityFileV6: '', ...files });
  if (warnings.length > 0) throw new Error(warnings.join('\n'));
  return data;
}

export type MmdbRecord = { readonly [name: string]: string | MmdbRecord };

/**
 * Writes small mmdb files (MaxMind DB file format 2.0), as an operator may have them: a tree of 24-, 28- or 32-bit
 * records over IPv4 or IPv6 networks, and records of nested maps of texts.
 * @param networks `address/bits`, none inside another
 * @param builtSeconds since the Unix epoch
 */
export function writeMmdb(
  ipVersion: 4 | 6,
  networks: ReadonlyArray<readonly [network: string, record: MmdbRecord]>,
  recordBits: 24 | 28 | 32 = 32,
  builtSeconds = 1,
): Buffer {
  const nodes: Array<[left: number, right: number]> = [[-1, -1]];
  const leaves: Array<{ node: number; side: 0 | 1; offset: number }> = [];
  const data: Buffer[] = [];
  let bytes = 0;
  for (const [network, record] of networks) {
    const [address = '', prefix = ''] = network.split('/');
    const [start, bits] = ipVersion === 4 ? [96, Number(prefix)] : [0, Number(prefix)];
    const encoded = encode(record);
    const { node, side } = descend(nodes, parseAddress(address), start, bits);
    leaves.push({ node, side, offset: bytes });
    data.push(encoded);
    bytes += encoded.length;
  }
  for (const { node, side, offset } of leaves) nodes[node]![side] = nodes.length + 16 + offset;
  const tree = Buffer.concat(
    nodes.map(([left, right]) => {
      const sides = [left, right].map((side) => (side === -1 ? nodes.length : side));
      return encodeNode(sides[0]!, sides[1]!, recordBits);
    }),
  );
  const metadata = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: builtSeconds,
    database_type: 'test',
    description: {},
    ip_version: ipVersion,
    languages: [],
    node_count: nodes.length,
    record_size: recordBits,
  };
  const mark = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
  return Buffer.concat([tree, Buffer.alloc(16), ...data, mark, encode(metadata)]);
}

/** Makes the nodes above a network. @returns the last of them, and the side where the network is */
function descend(
  nodes: Array<[left: number, right: number]>,
  address: Buffer,
  start: number,
  bits: number,
): { node: number; side: 0 | 1 } {
  let node = 0;
  for (let at = start; ; at++) {
    const side = ((address[at >> 3]! >> (7 - (at & 7))) & 1) === 0 ? 0 : 1;
    if (at === start + bits - 1) return { node, side };
    if (nodes[node]![side] === -1) nodes[node]![side] = nodes.push([-1, -1]) - 1;
    node = nodes[node]![side];
  }
}

/** Of 28 bits, the highest four of both share the byte in the middle. */
function encodeNode(left: number, right: number, recordBits: 24 | 28 | 32): Buffer {
  const hex = (value: number): string => value.toString(16).padStart(recordBits / 4, '0');
  if (recordBits !== 28) return Buffer.from(hex(left) + hex(right), 'hex');
  return Buffer.from(
    hex(left).slice(1) + hex(left)[0] + hex(right)[0] + hex(right).slice(1),
    'hex',
  );
}

/** Texts of up to 284 bytes, integers, empty lists, and maps of them. */
function encode(value: string | number | object): Buffer {
  if (typeof value === 'number') {
    const bytes = Buffer.from([0xc4, 0, 0, 0, 0]);
    bytes.writeUInt32BE(value, 1);
    return bytes;
  }
  if (typeof value === 'string') {
    const text = Buffer.from(value);
    const long = text.length < 29 ? [] : [text.length - 29];
    return Buffer.concat([Buffer.from([0x40 | Math.min(29, text.length), ...long]), text]);
  }
  if (Array.isArray(value)) return Buffer.from([0, 4]);
  const parts = Object.entries(value).map(([name, one]) => [encode(name), encode(one)]);
  return Buffer.concat([Buffer.from([0xe0 | parts.length]), ...parts.flat()]);
}
