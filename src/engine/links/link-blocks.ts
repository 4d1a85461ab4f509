/**
 * The data that the link table loads: blocks of 16 links by code number. Reading 10 M small values one by one takes
 * three times as long (1.8 µs a link against 0.55). A block stays near 1.5 KB, so LMDB keeps it inside a page.
 *
 *   block   key codeNo >> 4, value: entries in order of slot
 *   entry   | slot u8 | flags u8 | keyBytes u8 | targetBytes u16 | workspaceNo u32 |
 *           | expiresAtMs f64 | scanLimit u32 | key | target | programBytes u32 | program |      little-endian
 *
 * flags: 1 = deleted (a tombstone without target); 3 = damaged: the code's record cannot be read, so its target is
 * lost (link-repair.ts); 4 = routed: the last two fields exist (routes/program-layout.ts). They make most blocks of
 * routed codes larger than a page; the largest entry has 2.6 MB. scanLimit 0xffffffff = none. expiresAtMs 0 = never.
 * Key and target are ASCII.
 */
import type { LinkState } from '../../model/code.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import { programBytesMax } from '../routes/program-layout.ts';

export interface StoredLink {
  readonly key: string;
  readonly codeNo: CodeNo;
  readonly workspaceNo: WorkspaceNo;
  readonly target: string;
  /** 0 = never. */
  readonly expiresAtMs: number;
  /** undefined = no limit. */
  readonly scanLimit: number | undefined;
  readonly state: LinkState;
  /** Rules of a live link; absent = it always leads to its target. */
  readonly program?: Uint8Array | undefined;
}

const slotBits = 4;
const slotMask = (1 << slotBits) - 1;
const headBytes = 21;
const flagsOf: Readonly<Record<LinkState, number>> = { live: 0, deleted: 1, damaged: 3 };
const flagRouted = 4;
const stateOf = (flags: number): LinkState =>
  (flags & 1) === 0
    ? 'live'
    : (flags & flagsOf.damaged) === flagsOf.damaged
      ? 'damaged'
      : 'deleted';
const noLimit = 0xffffffff;
const programHeadBytes = 4;
/** A block of 16 links with the longest keys, targets and programs: 2.7 MB. */
export const linkBlockBytesMax =
  (1 << slotBits) * (headBytes + 64 + 8_192 + programHeadBytes + programBytesMax);

export function linkBlockOf(codeNo: CodeNo): number {
  return codeNo >>> slotBits;
}

export function codesOfBlock(blockNo: number): CodeNo[] {
  return Array.from({ length: slotMask + 1 }, (_, slot) => blockNo * (slotMask + 1) + slot);
}

/** Returns the block with `link` inserted or replaced. */
export function withLink(block: Uint8Array | undefined, link: StoredLink): Uint8Array {
  const old = block === undefined ? Buffer.alloc(0) : asBuffer(block);
  const slot = link.codeNo & slotMask;
  let start = 0;
  while (start < old.length && (old[start] ?? 0) < slot) start += entryBytes(old, start);
  const end = start < old.length && old[start] === slot ? start + entryBytes(old, start) : start;
  return Buffer.concat([old.subarray(0, start), encodeLink(link), old.subarray(end)]);
}

export function linkIn(block: Uint8Array, codeNo: CodeNo): StoredLink | undefined {
  const bytes = asBuffer(block);
  const slot = codeNo & slotMask;
  for (let at = 0; at < bytes.length; at += entryBytes(bytes, at)) {
    if (bytes[at] === slot) return decodeLink(bytes, at, codeNo - slot);
  }
  return undefined;
}

export function linksIn(blockNo: number, block: Uint8Array): StoredLink[] {
  const bytes = asBuffer(block);
  const links: StoredLink[] = [];
  const firstNo = blockNo * (slotMask + 1);
  for (let at = 0; at < bytes.length; at += entryBytes(bytes, at)) {
    links.push(decodeLink(bytes, at, firstNo));
  }
  return links;
}

const targetEndOf = (bytes: Buffer, at: number): number =>
  at + headBytes + bytes[at + 2]! + bytes.readUInt16LE(at + 3);

function entryBytes(bytes: Buffer, at: number): number {
  const targetEnd = targetEndOf(bytes, at);
  if ((bytes[at + 1]! & flagRouted) === 0) return targetEnd - at;
  return targetEnd + programHeadBytes + bytes.readUInt32LE(targetEnd) - at;
}

function encodeLink(link: StoredLink): Buffer {
  const target = link.state === 'live' ? link.target : '';
  const program = link.state === 'live' ? link.program : undefined;
  const targetEnd = headBytes + link.key.length + target.length;
  const programBytes = program === undefined ? 0 : programHeadBytes + program.length;
  const entry = Buffer.allocUnsafe(targetEnd + programBytes);
  entry[0] = link.codeNo & slotMask;
  entry[1] = flagsOf[link.state] | (program === undefined ? 0 : flagRouted);
  entry[2] = link.key.length;
  entry.writeUInt16LE(target.length, 3);
  entry.writeUInt32LE(link.workspaceNo, 5);
  entry.writeDoubleLE(link.expiresAtMs, 9);
  entry.writeUInt32LE(link.scanLimit ?? noLimit, 17);
  entry.write(link.key, headBytes, 'latin1');
  entry.write(target, headBytes + link.key.length, 'latin1');
  if (program !== undefined) {
    entry.writeUInt32LE(program.length, targetEnd);
    entry.set(program, targetEnd + programHeadBytes);
  }
  return entry;
}

function decodeLink(bytes: Buffer, at: number, firstNo: number): StoredLink {
  const flags = bytes[at + 1]!;
  const keyEnd = at + headBytes + bytes[at + 2]!;
  const targetEnd = targetEndOf(bytes, at);
  const programStart = targetEnd + programHeadBytes;
  const isRouted = (flags & flagRouted) !== 0;
  const scanLimit = bytes.readUInt32LE(at + 17);
  return {
    key: bytes.toString('latin1', at + headBytes, keyEnd),
    codeNo: firstNo + bytes[at]!,
    workspaceNo: bytes.readUInt32LE(at + 5),
    target: bytes.toString('latin1', keyEnd, targetEnd),
    expiresAtMs: bytes.readDoubleLE(at + 9),
    scanLimit: scanLimit === noLimit ? undefined : scanLimit,
    state: stateOf(flags),
    // A copy, because the store owns the block's bytes.
    ...(isRouted && {
      program: Uint8Array.from(
        bytes.subarray(programStart, programStart + bytes.readUInt32LE(targetEnd)),
      ),
    }),
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
