/**
 * Writes an mmdb file (MaxMind DB format 2.0) of a tree and of records that are maps of texts.
 *
 *     | tree, parents first | 16 zero bytes | names of fields, records | marker | metadata |
 *
 * Nodes have 24 bits a side: numbers below 16.8 million, of which the largest bundled file needs 6.2. In a record, the name
 * of a field is a pointer to its text. Written by hand because npm has readers of the format only (mmdb-lib, maxmind).
 */
import { marker, separatorBytes } from '../../../src/scans/visitor/mmdb-layout.ts';
import { nothing } from './mmdb-nodes.ts';

export interface MmdbTree {
  /** Left and right of each node; numbers as in mmdb-nodes.ts. */
  readonly sides: Int32Array;
  /** A node, or a leaf: then every address has it. */
  readonly root: number;
}

export interface MmdbContent {
  readonly tree: MmdbTree;
  /** Fields with their texts, ≤ 28 of them. */
  readonly records: ReadonlyArray<Readonly<Record<string, string>>>;
  readonly ipVersion: 4 | 6;
  readonly databaseType: string;
  /** In seconds since 1970. */
  readonly buildEpoch: number;
  /** In English. */
  readonly description: string;
}

/** Numbers of the format's types; those from 8 on take a byte more. */
const types = { text: 2, uint16: 5, uint32: 6, map: 7, uint64: 9, array: 11 } as const;

const recordBits = 24;
const nodeBytes = recordBits / 4;

/** @throws Error when the tree is too large for the format */
export function writeMmdb(content: MmdbContent): Buffer {
  const { tree, records } = content;
  const data = encodeRecords(records);
  const order = orderNodes(tree);
  const count = order.nodes.length;
  const numberMax = count + separatorBytes + data.bytes.length;
  if (numberMax >= 2 ** recordBits) {
    throw new Error(
      `Cannot write ${numberMax} as a node's side, expected less than 2^${recordBits}`,
    );
  }
  const numberOf = (side: number): number => {
    if (side >= 0) return order.places[side]!;
    return side === nothing ? count : count + separatorBytes + data.offsets[-2 - side]!;
  };
  const nodes = Buffer.alloc(count * nodeBytes);
  for (let at = 0; at < count; at++) {
    const node = order.nodes[at]!;
    // A tree that is one leaf is written as a node with that leaf on both sides.
    const left = tree.root < 0 ? tree.root : tree.sides[node * 2]!;
    const right = tree.root < 0 ? tree.root : tree.sides[node * 2 + 1]!;
    nodes.writeUIntBE(numberOf(left), at * nodeBytes, recordBits / 8);
    nodes.writeUIntBE(numberOf(right), at * nodeBytes + nodeBytes / 2, recordBits / 8);
  }
  const metadata = encodeMap([
    ['binary_format_major_version', encodeUint(types.uint16, 2)],
    ['binary_format_minor_version', encodeUint(types.uint16, 0)],
    ['build_epoch', encodeUint(types.uint64, content.buildEpoch)],
    ['database_type', encodeText(content.databaseType)],
    ['description', encodeMap([['en', encodeText(content.description)]])],
    ['ip_version', encodeUint(types.uint16, content.ipVersion)],
    ['languages', Buffer.from([0, types.array - 7])],
    ['node_count', encodeUint(types.uint32, count)],
    ['record_size', encodeUint(types.uint16, recordBits)],
  ]);
  return Buffer.concat([nodes, Buffer.alloc(separatorBytes), data.bytes, marker, metadata]);
}

/** Nodes from the root down, the left subtree first; and each one's place in that order. */
function orderNodes({ sides, root }: MmdbTree): { nodes: Int32Array; places: Int32Array } {
  if (root < 0) return { nodes: new Int32Array(1), places: new Int32Array(1) };
  const nodes = new Int32Array(sides.length / 2);
  const places = new Int32Array(sides.length / 2).fill(-1);
  let count = 0;
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node < 0 || places[node] !== -1) continue;
    places[node] = count;
    nodes[count++] = node;
    open.push(sides[node * 2 + 1]!, sides[node * 2]!);
  }
  return { nodes: nodes.subarray(0, count), places };
}

function encodeRecords(records: MmdbContent['records']): { bytes: Buffer; offsets: number[] } {
  const chunks: Buffer[] = [];
  let size = 0;
  const append = (bytes: Buffer): number => {
    chunks.push(bytes);
    size += bytes.length;
    return size - bytes.length;
  };
  const names = new Map<string, Buffer>();
  for (const name of new Set(records.flatMap((record) => Object.keys(record)))) {
    names.set(name, encodePointer(append(encodeText(name))));
  }
  const offsets = records.map((record) => {
    const fields = Object.entries(record);
    const encoded = fields.flatMap(([name, text]) => [names.get(name)!, encodeText(text)]);
    return append(Buffer.concat([encodeHead(types.map, fields.length), ...encoded]));
  });
  return { bytes: Buffer.concat(chunks), offsets };
}

/** @param offset from the first byte after the separator, < 2,048: field names stand first */
function encodePointer(offset: number): Buffer {
  if (offset >= 2_048) throw new Error(`Cannot point at ${offset}, expected less than 2048`);
  return Buffer.from([0x20 | (offset >>> 8), offset & 0xff]);
}

/** @param size of the payload: bytes of a text, entries of a map; < 65,821 */
function encodeHead(type: number, size: number): Buffer {
  if (size < 29) return Buffer.from([(type << 5) | size]);
  if (size < 285) return Buffer.from([(type << 5) | 29, size - 29]);
  if (size >= 65_821) throw new Error(`Cannot write ${size} bytes, expected less than 65821`);
  return Buffer.from([(type << 5) | 30, (size - 285) >>> 8, (size - 285) & 0xff]);
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([encodeHead(types.text, bytes.length), bytes]);
}

function encodeMap(entries: ReadonlyArray<readonly [name: string, value: Buffer]>): Buffer {
  const encoded = entries.flatMap(([name, value]) => [encodeText(name), value]);
  return Buffer.concat([encodeHead(types.map, entries.length), ...encoded]);
}

function encodeUint(type: number, value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  const head = type > 7 ? [bytes.length, type - 7] : [(type << 5) | bytes.length];
  return Buffer.from([...head, ...bytes]);
}
