/**
 * The format of a data file: LMDB, data version 2, as lmdb-js writes it. Read with read(), never through a map: a
 * file that ends too early, or that names pages it does not have, ends a process that maps it without a word.
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
 *             a large value stands in overflow pages: | number u64 | transaction u64 | pages u64 | in its place
 *
 *   meta      | magic u32 | version u32 | - u64 | map bytes u64 | free list | tables | last page u64 | transaction u64 | boot i64 |
 *   tree      | page bytes u32 | flags u16 | depth u16 | branch pages u64 | leaf pages u64 | overflow pages u64 | entries u64 | root u64 |
 *             the tree `tables` holds one tree record for each table, by name
 *
 * Transaction n writes meta page n modulo 2. lmdb-js adds a third copy, without magic and version, in the middle of
 * page 0: of the newest transaction that has reached the disk. After another boot it goes back to that one.
 */
import { readFileSync } from 'node:fs';

export const headerBytes = 24;
export const nodeBytes = 8;
export const treeBytes = 48;
export const overflowBytes = 24;
/** Of a meta page, its header included. */
export const metaBytes = headerBytes + 144;

export const pageKinds = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;
/** Bits that LMDB uses in memory alone, and may leave behind. */
export const pageKindMask = 0x1fff;
export const nodeFlags = { overflow: 1, tree: 2 } as const;
/** Keys are numbers in the machine's byte order. */
export const integerKeys = 0x08;
/** Beside `integerKeys`: lmdb-js may keep versions of values. */
export const treeFlagsKnown = integerKeys | 0x100;
/** A transaction that may not have reached the disk. */
const unsynced = 0x1000;

/** 2^64 - 1, as a double: the root of an empty tree. */
export const noPage = 2 ** 64;
/** Deeper trees than LMDB's cursors can walk. */
export const depthMax = 32;
const magic = 0xbeefc0de;
const version = 2;

/** Something in a data file that LMDB does not write. */
export interface DataFileFault {
  readonly file: string;
  readonly page: number;
  /** A table's name, `free list` or `tables`; empty where the fault is no tree's. */
  readonly table: string;
  readonly text: string;
}

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
}

export const readU16 = (bytes: Uint8Array, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8);

export const readU32 = (bytes: Uint8Array, at: number): number =>
  (readU16(bytes, at) | (readU16(bytes, at + 2) << 16)) >>> 0;

/** Exact up to 2^53: no number of a sound file is larger, but `noPage`. */
export const readU64 = (bytes: Uint8Array, at: number): number =>
  readU32(bytes, at) + readU32(bytes, at + 4) * 2 ** 32;

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

/** @param at where the page begins, or half a page later for the third copy */
function readMeta(bytes: Buffer, at: number): Meta {
  const from = at + headerBytes;
  return {
    pageBytes: readU32(bytes, from + 24),
    isSynced: (readU16(bytes, from + 28) & unsynced) === 0,
    freeList: readTree(bytes, from + 24),
    tables: readTree(bytes, from + 72),
    lastPage: readU64(bytes, from + 120),
    transaction: readU64(bytes, from + 128),
    boot: bytes.readBigInt64LE(from + 136),
  };
}

/** What the two meta pages say, or why they cannot be believed. */
export type Metas =
  | { readonly meta: Meta; readonly fault: undefined }
  | { readonly meta: undefined; readonly fault: { readonly page: number; readonly text: string } };

/**
 * `first` = the one that LMDB picks when it opens a file that no process has open, which after another boot may not
 * be the newest; `newest` = of a file that is open, where LMDB asks for no boot. A boot is another one also between a
 * service and a command where a container hides the machine's boot id, as systemd-nspawn and LXC do.
 */
export type MetaChoice = 'first' | 'newest';

/**
 * Checks both meta pages and picks the one that LMDB reads.
 * @param start the first bytes of the file: both meta pages, or what there is of them
 */
export function pickMeta(start: Buffer, choice: MetaChoice, boot: bigint = bootOf()): Metas {
  const fault = (page: number, text: string): Metas => ({ meta: undefined, fault: { page, text } });
  if (start.length < metaBytes) return fault(0, `has ${start.length} bytes, expected a meta page`);
  const { pageBytes } = readMeta(start, 0);
  const isPower = (pageBytes & (pageBytes - 1)) === 0;
  if (readU32(start, headerBytes) !== magic) return fault(0, 'is no meta page of a data file');
  if (!isPower || pageBytes < 512 || pageBytes > 65_536) {
    return fault(0, `says that pages have ${pageBytes} bytes`);
  }
  for (const page of [0, 1]) {
    const at = page * pageBytes;
    if (start.length < at + metaBytes) return fault(page, 'is beyond the end of the file');
    const text = metaFault(start, at, page, pageBytes);
    if (text !== undefined) return fault(page, text);
  }
  const [even, odd] = [readMeta(start, 0), readMeta(start, pageBytes)];
  const synced = readMeta(start, pageBytes / 2);
  const newest = Math.max(even.transaction, odd.transaction);
  if (synced.transaction > newest) {
    return fault(0, `has transaction ${synced.transaction} on the disk, ${newest} is the newest`);
  }
  for (const meta of [even, odd]) {
    const isSame = synced.transaction === 0 || synced.transaction !== meta.transaction;
    if (!isSame && !isCopy(meta, synced)) return fault(0, 'has two copies that are not the same');
  }
  // What a loss of power left of two meta pages need not follow each other.
  const gap = Math.abs(even.transaction - odd.transaction);
  if (gap > 1 && even.boot === boot && odd.boot === boot) {
    return fault(0, `has transaction ${even.transaction}, page 1 ${odd.transaction}`);
  }
  // The order is that of mdb_env_pick_meta: in another one an even page, at rest, loses to the odd one before it.
  const transaction =
    choice === 'newest' ? newest : newer(newer(even, odd, boot), synced, boot).transaction;
  const meta = [even, odd].find((one) => one.transaction === transaction) ?? synced;
  if (meta.pageBytes !== pageBytes) return fault(0, 'has a copy with pages of another size');
  return { meta, fault: undefined };
}

/** The copy of a transaction on the disk has all but the flag that it is. */
function isCopy(meta: Meta, copy: Meta): boolean {
  const essence = ({ pageBytes, freeList, tables, lastPage }: Meta): string =>
    JSON.stringify([
      pageBytes,
      { ...freeList, flags: freeList.flags & ~unsynced },
      tables,
      lastPage,
    ]);
  return essence(meta) === essence(copy);
}

function metaFault(start: Buffer, at: number, page: number, pageBytes: number): string | undefined {
  const kind = readU16(start, at + 18) & pageKindMask;
  const found = readU32(start, at + headerBytes + 4) & 0xffff;
  const meta = readMeta(start, at);
  if (readU64(start, at) !== page) return 'has the number of another page';
  if (kind !== pageKinds.meta || readU32(start, at + headerBytes) !== magic) {
    return 'is no meta page of a data file';
  }
  if (found !== version) return `has data version ${found}, expected ${version}`;
  if (meta.pageBytes !== pageBytes) return `says that pages have ${meta.pageBytes} bytes`;
  if (meta.transaction > 0 && meta.transaction % 2 !== page) {
    return `has transaction ${meta.transaction}, which belongs into the other meta page`;
  }
  return undefined;
}

/** As mdb_pick_meta of liblmdb does with MDB_PREVSNAPSHOT, which lmdb-js opens with. */
function newer(one: Meta, other: Meta, boot: bigint): Meta {
  if (other.transaction === 0) return one;
  const newest = one.transaction >= other.transaction ? one : other;
  if (newest.isSynced || (newest.boot !== 0n && newest.boot === boot)) return newest;
  return one.transaction > other.transaction ? other : one;
}

/** The id of this boot as lmdb-js reads it: the hexadecimal digits before the first dash; 0 where the machine has no such id. */
function bootOf(): bigint {
  try {
    const [digits] = readFileSync('/proc/sys/kernel/random/boot_id', 'ascii').trim().split('-');
    return BigInt(`0x${digits}`);
  } catch {
    return 0n;
  }
}
