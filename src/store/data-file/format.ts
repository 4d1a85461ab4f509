/**
 * The format of a data file: LMDB, data version 2, as lmdb-js writes it.
 *
 *   file      | meta 0 | meta 1 | page 2 | page 3 | …            pages of 4,096 bytes (16,384 on some machines)
 *
 *   page      | number u64 | transaction u64 | - u16 | kind u16 | lower u16 | upper u16 | body |
 *   branch,   | offset u16 of each node, in the order of keys |  free  | nodes |      offsets count from the body
 *   leaf                                                     lower    upper
 *   overflow  lower and upper are one u32, the number of pages; the value fills them without further headers
 *
 *   node      | low u16 | high u16 | flags u16 | key bytes u16 | key | value |
 *             branch: low, high and flags are the child's number; leaf: low and high are the bytes of the value
 *             a large value is in overflow pages; its node has | number u64 | transaction u64 | pages u64 |
 *
 *   meta      | magic u32 | version u32 | - u64 | map bytes u64 | free list | tables | last page u64 | transaction u64 | boot i64 |
 *   tree      | page bytes u32 | flags u16 | depth u16 | branch pages u64 | leaf pages u64 | overflow pages u64 | entries u64 | root u64 |
 *             the tree `tables` holds one tree record for each table, by name
 *
 * Transaction n writes meta page n modulo 2. lmdb-js adds a third copy, without magic and version, in the middle of
 * page 0: the newest transaction that has reached the disk. After a reboot it goes back to that one.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

export const headerBytes = 24;
export const nodeBytes = 8;
export const treeBytes = 48;
export const overflowBytes = 24;
export const metaBytes = headerBytes + 144;

export const pageKinds = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;
/** LMDB uses the upper bits in memory and may leave them set. */
const pageKindMask = 0x1fff;
export const nodeFlags = { overflow: 1, tree: 2 } as const;
/** Keys are numbers in the machine's byte order. */
export const integerKeys = 0x08;
/** In addition to `integerKeys`: lmdb-js may store versions of values. */
export const treeFlagsKnown = integerKeys | 0x100;
const unsynced = 0x1000;

/** The root of an empty tree: 2^64 - 1, rounded to a double. */
export const noPage = 2 ** 64;
const magic = 0xbeefc0de;
const version = 2;
/** Both meta pages of the largest page size. */
const startBytes = 65_536 + metaBytes;
const metaReadsMax = 3;

export interface TreeRecord {
  readonly flags: number;
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  readonly root: number;
}

export interface Meta {
  readonly pageBytes: number;
  readonly isSynced: boolean;
  readonly freeList: TreeRecord;
  readonly tables: TreeRecord;
  readonly lastPage: number;
  readonly transaction: number;
  readonly boot: bigint;
  /** The part that a copy of the same transaction repeats. */
  readonly content: Buffer;
}

export const readU16 = (bytes: Uint8Array, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8);

export const readU32 = (bytes: Uint8Array, at: number): number =>
  (readU16(bytes, at) | (readU16(bytes, at + 2) << 16)) >>> 0;

/** Exact up to 2^53: a sound file has no larger number, except `noPage`. */
export const readU64 = (bytes: Uint8Array, at: number): number =>
  readU32(bytes, at) + readU32(bytes, at + 4) * 2 ** 32;

export const kindOf = (page: Uint8Array, at = 0): number => readU16(page, at + 18) & pageKindMask;

export function readTree(bytes: Uint8Array, at: number): TreeRecord {
  return {
    flags: readU16(bytes, at + 4),
    depth: readU16(bytes, at + 6),
    branchPages: readU64(bytes, at + 8),
    leafPages: readU64(bytes, at + 16),
    overflowPages: readU64(bytes, at + 24),
    entries: readU64(bytes, at + 32),
    root: readU64(bytes, at + 40),
  };
}

/** @param at the start of the page, or half a page later for the third copy */
function metaAt(bytes: Buffer, at: number): Meta {
  const from = at + headerBytes;
  const flags = readU16(bytes, from + 28);
  const content = Buffer.from(bytes.subarray(from + 24, from + 128));
  content.writeUInt16LE(flags & ~unsynced, 4);
  return {
    content,
    pageBytes: readU32(bytes, from + 24),
    isSynced: (flags & unsynced) === 0,
    freeList: readTree(bytes, from + 24),
    tables: readTree(bytes, from + 72),
    lastPage: readU64(bytes, from + 120),
    transaction: readU64(bytes, from + 128),
    boot: bytes.readBigInt64LE(from + 136),
  };
}

/**
 * `first` = the meta page that LMDB picks for a file that no process has open; after a reboot, or in a container with a boot
 * id of its own, it may not be the newest. `newest` = for an open file, where LMDB ignores the boot.
 */
export type MetaChoice = 'first' | 'newest';

/** The meta page that LMDB reads; undefined if one is damaged. @throws Error of the system */
export function readMeta(path: string, choice: MetaChoice = 'first'): Meta | undefined {
  const descriptor = openSync(path, 'r');
  try {
    const start = Buffer.alloc(startBytes);
    // A writer may be writing a meta page.
    for (let reads = 1; ; reads++) {
      const meta = pickMeta(
        start.subarray(0, readSync(descriptor, start, 0, startBytes, 0)),
        choice,
      );
      if (meta !== undefined || reads === metaReadsMax) return meta;
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Checks both meta pages and picks LMDB's. @param start the first bytes of the file; may be short */
export function pickMeta(start: Buffer, choice: MetaChoice): Meta | undefined {
  if (start.length < metaBytes) return undefined;
  const { pageBytes } = metaAt(start, 0);
  const isPower = (pageBytes & (pageBytes - 1)) === 0;
  if (!isPower || pageBytes < 512 || start.length < pageBytes + metaBytes) return undefined;
  const [even, odd] = [metaAt(start, 0), metaAt(start, pageBytes)];
  const synced = metaAt(start, pageBytes / 2);
  const boot = bootOf();
  const newest = Math.max(even.transaction, odd.transaction);
  // After a power loss the two meta pages need not be consecutive.
  const isInOrder =
    Math.abs(even.transaction - odd.transaction) <= 1 || even.boot !== boot || odd.boot !== boot;
  const isSound = [even, odd].every(
    (meta, page) =>
      isMeta(start, page * pageBytes, page) &&
      meta.pageBytes === pageBytes &&
      (meta.transaction === 0 || meta.transaction % 2 === page) &&
      (meta.transaction !== synced.transaction ||
        meta.transaction === 0 ||
        meta.content.equals(synced.content)),
  );
  if (!isSound || !isInOrder || synced.transaction > newest) return undefined;
  if (choice === 'newest') return even.transaction === newest ? even : odd;
  // The order of mdb_env_pick_meta. In another order an even page, at rest, loses to the preceding odd one.
  const picked = newer(newer(even, odd, boot), synced, boot);
  return picked.pageBytes === pageBytes ? picked : undefined;
}

function isMeta(start: Buffer, at: number, page: number): boolean {
  return (
    readU64(start, at) === page &&
    kindOf(start, at) === pageKinds.meta &&
    readU32(start, at + headerBytes) === magic &&
    readU16(start, at + headerBytes + 4) === version
  );
}

/** As mdb_pick_meta of liblmdb does with MDB_PREVSNAPSHOT, which lmdb-js opens with. */
function newer(one: Meta, other: Meta, boot: bigint): Meta {
  if (other.transaction === 0) return one;
  const newest = one.transaction >= other.transaction ? one : other;
  if (newest.isSynced || (newest.boot !== 0n && newest.boot === boot)) return newest;
  return one.transaction > other.transaction ? other : one;
}

/** The boot id as lmdb-js reads it: the hexadecimal digits before the first dash; 0 on a machine without one. */
function bootOf(): bigint {
  try {
    const [digits] = readFileSync('/proc/sys/kernel/random/boot_id', 'ascii').trim().split('-');
    return BigInt(`0x${digits}`);
  } catch {
    return 0n;
  }
}
