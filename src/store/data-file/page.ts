/**
 * Checks one branch or leaf page: that its header and every node lie where LMDB puts them, and that its keys
 * ascend. Allocates nothing for a node: a leaf of 40 nodes takes about a microsecond.
 */
import {
  headerBytes,
  integerKeys,
  nodeBytes,
  nodeFlags,
  overflowBytes,
  pageKindMask,
  pageKinds,
  readU16,
  readU32,
  readU64,
} from './format.ts';

export interface Expected {
  readonly kind: (typeof pageKinds)['branch' | 'leaf'];
  readonly pageBytes: number;
  /** The newest transaction of the snapshot. */
  readonly transaction: number;
  /** Of the tree. */
  readonly flags: number;
  /** Leaf nodes may be records of trees. */
  readonly hasTrees: boolean;
}

/** @returns why the page is not what it should be */
export function pageFault(
  bytes: Uint8Array,
  at: number,
  page: number,
  expected: Expected,
): string | undefined {
  const number = readU64(bytes, at);
  if (number !== page) {
    return isEmpty(bytes, at, expected.pageBytes) ? 'is all zeros' : 'has the number of another';
  }
  const kind = readU16(bytes, at + 18) & pageKindMask;
  if (kind !== expected.kind) return `is of kind ${kind}, expected ${expected.kind}`;
  if (readU64(bytes, at + 8) > expected.transaction) return 'is newer than the whole file';
  const lower = readU16(bytes, at + 20);
  const upper = readU16(bytes, at + 22);
  const bodyBytes = expected.pageBytes - headerBytes;
  const nodesMin = expected.kind === pageKinds.branch ? 2 : 1;
  if (lower % 2 !== 0 || lower > upper || upper > bodyBytes || lower / 2 < nodesMin) {
    return `has no sound bounds: ${lower} and ${upper}`;
  }
  return nodesFault(bytes, at, expected);
}

function nodesFault(bytes: Uint8Array, at: number, expected: Expected): string | undefined {
  const isLeaf = expected.kind === pageKinds.leaf;
  const base = at + headerBytes;
  const bodyBytes = expected.pageBytes - headerBytes;
  const upper = readU16(bytes, at + 22);
  const count = readU16(bytes, at + 20) / 2;
  const isInteger = (expected.flags & integerKeys) !== 0;
  let used = 0;
  let before = 0;
  for (let index = 0; index < count; index++) {
    const offset = readU16(bytes, base + 2 * index);
    if (offset % 2 !== 0 || offset < upper || offset + nodeBytes > bodyBytes) {
      return `has entry ${index} outside of itself`;
    }
    const node = base + offset;
    const keyBytes = readU16(bytes, node + 6);
    let size = nodeBytes + keyBytes;
    if (isLeaf) {
      const flags = readU16(bytes, node + 4);
      const isKnown =
        flags <= nodeFlags.overflow || (flags === nodeFlags.tree && expected.hasTrees);
      if (!isKnown) return `has entry ${index} of kind ${flags}`;
      size += flags === nodeFlags.overflow ? overflowBytes : readU32(bytes, node);
    }
    if (offset + size > bodyBytes) return `has entry ${index} that ends outside of itself`;
    used += size + (size % 2);
    // The first key of a branch stands for all below the second.
    if (index > (isLeaf ? 0 : 1) && compareNodes(bytes, before, bytes, node, isInteger) >= 0) {
      return `has entries ${index - 1} and ${index} in the wrong order`;
    }
    before = node;
  }
  return used === bodyBytes - upper ? undefined : 'has entries that overlap, or a gap between them';
}

/** Where the node with this index begins. */
export function nodeAt(bytes: Uint8Array, at: number, index: number): number {
  return at + headerBytes + readU16(bytes, at + headerBytes + 2 * index);
}

export const nodeCount = (bytes: Uint8Array, at: number): number => readU16(bytes, at + 20) / 2;

/** A branch node's child: 48 bits. */
export const childOf = (bytes: Uint8Array, node: number): number =>
  readU32(bytes, node) + readU16(bytes, node + 4) * 2 ** 32;

/** Orders the keys of two nodes as LMDB does. */
export function compareNodes(
  one: Uint8Array,
  oneNode: number,
  other: Uint8Array,
  otherNode: number,
  isInteger: boolean,
): number {
  const oneBytes = readU16(one, oneNode + 6);
  const otherBytes = readU16(other, otherNode + 6);
  const oneKey = oneNode + nodeBytes;
  const otherKey = otherNode + nodeBytes;
  const common = Math.min(oneBytes, otherBytes);
  if (isInteger) {
    for (let at = common - 1; at >= 0; at--) {
      const difference = one[oneKey + at]! - other[otherKey + at]!;
      if (difference !== 0) return difference;
    }
    return oneBytes - otherBytes;
  }
  for (let at = 0; at < common; at++) {
    const difference = one[oneKey + at]! - other[otherKey + at]!;
    if (difference !== 0) return difference;
  }
  return oneBytes - otherBytes;
}

function isEmpty(bytes: Uint8Array, at: number, pageBytes: number): boolean {
  for (let index = 0; index < pageBytes; index++) if (bytes[at + index] !== 0) return false;
  return true;
}
