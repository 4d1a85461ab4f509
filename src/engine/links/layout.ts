/// <reference lib="es2024.sharedmemory" />
/**
 * The memory of the link table: three shared buffers that one writer (the control thread) fills and all
 * redirect threads read without a lock.
 *
 *   control  fixed   hash seed, newest generation, epochs: a 64-byte line for each word that changes
 *   slots    grows   generations of open addressing, each twice as large as the previous one, end to end
 *   arena    grows   entries, addressed in units of 8 bytes by an unsigned 32-bit number (32 GiB)
 *
 *   slots buffer   | gen 0 | gen 1         | gen 2                         | ...
 *   a slot         | tag: 32-bit keyed hash | entry: unit offset, 0 = empty |      8 bytes
 *   a line         8 slots = 64 bytes; a probe starts anywhere in its line, wraps around, then takes the next line
 *
 *   an entry       word 0    codeNo
 *                  word 1    workspaceNo
 *                  word 2    shape: key bytes (7 bits) | target bytes (14) | expires | limited | tombstone | damaged | routed
 *                  word 3..  key, upper case, padded with zeros to 4
 *                  ..        target, padded to 4
 *                  ..        expires: epoch ms, low and high word        (only with the bit)
 *                  ..        limited: unit offset of the counter cell    (only with the bit)
 *                  ..        routed: unit offset of the program          (only with the bit)
 *                  padded to 8 bytes
 *
 *   a program      where the code leads (routes/program-layout.ts); it belongs to one entry
 *   a zone cell    the clock of a time zone, for programs (zone-cells.ts)
 *
 * A visible entry never changes, except for the bits tombstone and damaged. A new target gets a new entry, and the
 * slot's offset is swapped; both entries point at the same counter cell. A deleted entry keeps header and key forever
 * and frees the rest. An entry with a damaged record is a tombstone with a second bit, which only a refusal checks.
 *
 * One word, `newest * 2 + migrating`, says which generations exist, and their sizes and offsets follow from it. So a
 * reader learns the layout in one load and never sees half of a change.
 *
 * Cost of an entry with an 8-character key: 20 bytes + target + padding, and 10.7 to 21.3 bytes of slots. Outgrown
 * generations stay unused; together they are smaller than the newest one. Words are little-endian.
 */
import { randomBytes } from 'node:crypto';
import type { LinkState } from '../../model/code.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import { programBytesMax } from '../routes/program-layout.ts';

export interface LinkTableMemory {
  readonly control: SharedArrayBuffer;
  readonly slots: SharedArrayBuffer;
  readonly arena: SharedArrayBuffer;
}

/** The address space that the service reserves: enough for 64 million codes at the worst moment of growth. */
export const addressSpace = { slotBytesMax: 2 ** 31, arenaBytesMax: 2 ** 34 } as const;

export interface LinkTableOptions {
  /** 8 KiB to 8 GiB. */
  readonly slotBytesMax: number;
  /** 64 KiB to 32 GiB. */
  readonly arenaBytesMax: number;
  /** Threads that read: reader indexes 0 to `readersMax - 1`. */
  readonly readersMax: number;
  /** Codes at the start, tombstones included: the initial size of the table. */
  readonly linksExpected: number;
}

export interface Link {
  /** Short code: 1 to 64 ASCII letters, digits, `-`, `_` and inner `/`, in any case. */
  readonly key: string;
  readonly codeNo: CodeNo;
  readonly workspaceNo: WorkspaceNo;
  /** Normalized href: printable ASCII, at most 8192 bytes. */
  readonly target: string;
  /** Epoch milliseconds; 0 = never. */
  readonly expiresAtMs: number;
  /** -1 = no limit, `keepScansLeft` = unchanged, otherwise the number of scans left. */
  readonly scansLeft: number;
  readonly state: LinkState;
  /** Absent = the link always leads to its target. */
  readonly program?: Uint8Array | undefined;
}

/** `Link.scansLeft` of a change that leaves the counter alone. */
export const keepScansLeft = -2;

export const keyBytesMax = 64;
export const targetBytesMax = 8_192;

/** Words of control memory. The constants share a line, each other word has its own. */
export const controlWord = {
  hashSeedLow: 0,
  hashSeedHigh: 1,
  firstGenerationBits: 2,
  readersMax: 3,
  writerAttached: 4,
  generations: 16,
  epoch: 32,
  firstReader: 48,
} as const;

/** 64 bytes: on a shared line, readers that publish their epochs would slow each other down. */
const lineWords = 16;

/** The control word in which a reader publishes its epoch, 0 = idle. */
export function readerWord(readerIndex: number): number {
  return controlWord.firstReader + readerIndex * lineWords;
}

export const entryWord = { codeNo: 0, workspaceNo: 1, shape: 2, key: 3 } as const;

export const shapeBit = {
  keyBytesMask: 0x7f,
  targetShift: 7,
  targetMask: 0x3fff,
  expires: 1 << 21,
  limited: 1 << 22,
  tombstone: 1 << 23,
  damaged: 1 << 24,
  routed: 1 << 25,
} as const;
/** With any of these bits, the target alone does not decide the answer. */
export const conditional =
  shapeBit.expires | shapeBit.limited | shapeBit.tombstone | shapeBit.routed;

export const unitBytes = 8;
/** Views of the arena span 1 GiB, so that every index is a small integer; no entry crosses a border. */
export const chunkUnitBits = 27;
export const chunkUnits = 2 ** chunkUnitBits;
export const chunkUnitMask = chunkUnits - 1;
const arenaStartBytes = 1_048_576;

const generationBitsMin = 10;
const slotBytes = 8;
/** Line and start stay disjoint bits of a tag. */
const generationBitsMax = 29;
/** A generation this full gets a successor: above it, a miss costs a second cache line. */
export const slotLoadGrow = 0.75;
/** Limit without memory for a successor, then `storage_full`: a probe ends at an empty slot. */
export const slotLoadMax = 0.875;

export function targetWord(shape: number): number {
  return entryWord.key + (((shape & shapeBit.keyBytesMask) + 3) >>> 2);
}

export function targetBytes(shape: number): number {
  return (shape >>> shapeBit.targetShift) & shapeBit.targetMask;
}

/** First word after the target: the low word of the expiry, if the entry has one. */
export function expiryWord(shape: number): number {
  return targetWord(shape) + ((targetBytes(shape) + 3) >>> 2);
}

export function limitWord(shape: number): number {
  return expiryWord(shape) + ((shape & shapeBit.expires) === 0 ? 0 : 2);
}

export function programWordOf(shape: number): number {
  return limitWord(shape) + ((shape & shapeBit.limited) === 0 ? 0 : 1);
}

export function liveUnits(shape: number): number {
  return (programWordOf(shape) + ((shape & shapeBit.routed) === 0 ? 0 : 1) + 1) >>> 1;
}

/**
 * Units allocated for a program. They are rounded up to three significant bits, so that all programs share 50
 * block sizes and repeated edits of a program reuse its old blocks.
 */
export function programUnits(words: number): number {
  const units = (words + 1) >>> 1;
  const step = 2 ** Math.max(0, 29 - Math.clz32(units));
  return Math.ceil(units / step) * step;
}

export function tombstoneUnits(shape: number): number {
  return (targetWord(shape) + 1) >>> 1;
}

/** The largest block: 20,480 units, of a program. An entry has at most 1,036. */
export const blockUnitsMax = programUnits(programBytesMax / 4);

export function generationEndBytes(firstBits: number, generation: number): number {
  return 2 ** firstBits * (2 ** (generation + 1) - 1) * slotBytes;
}

/** A fixed-length view of a generation: a length-tracking view is 10 times slower. */
export function viewGeneration(
  slots: SharedArrayBuffer,
  firstBits: number,
  generation: number,
): Int32Array {
  const begin = 2 ** firstBits * (2 ** generation - 1) * slotBytes;
  return new Int32Array(slots, begin, 2 ** (firstBits + generation) * 2);
}

/** Fixed-length views of the current arena, one per GiB; reuses those of `before` with the same length. */
export function viewArena(
  arena: SharedArrayBuffer,
  before: readonly Int32Array[],
): { readonly chunks: Int32Array[]; readonly units: number } {
  const chunkBytes = chunkUnits * unitBytes;
  const bytes = arena.byteLength;
  const chunks: Int32Array[] = [];
  for (let begin = 0; begin < bytes; begin += chunkBytes) {
    const words = Math.min(chunkBytes, bytes - begin) / 4;
    const known = before[chunks.length];
    chunks.push(known?.length === words ? known : new Int32Array(arena, begin, words));
  }
  return { chunks, units: bytes / unitBytes };
}

function firstBitsFor(linksExpected: number, slotBytesMax: number): number {
  const fitting = Math.floor(Math.log2(slotBytesMax / slotBytes));
  const wanted = Math.ceil(Math.log2(Math.max(1, linksExpected / slotLoadGrow)));
  return Math.min(Math.max(wanted, generationBitsMin), fitting, generationBitsMax);
}

export function createLinkTableMemory(options: LinkTableOptions): LinkTableMemory {
  const { slotBytesMax, arenaBytesMax, readersMax, linksExpected } = options;
  const firstBits = firstBitsFor(linksExpected, slotBytesMax);
  const control = new SharedArrayBuffer((controlWord.firstReader + readersMax * lineWords) * 4);
  const words = new Int32Array(control);
  // With a known seed, users could choose slugs that collide.
  const seed = randomBytes(8);
  words[controlWord.hashSeedLow] = seed.readInt32LE(0);
  words[controlWord.hashSeedHigh] = seed.readInt32LE(4);
  words[controlWord.firstGenerationBits] = firstBits;
  words[controlWord.readersMax] = readersMax;
  words[controlWord.epoch] = 1;
  const wholeUnitsMax = Math.floor(arenaBytesMax / unitBytes) * unitBytes;
  return {
    control,
    slots: new SharedArrayBuffer(generationEndBytes(firstBits, 0), { maxByteLength: slotBytesMax }),
    arena: new SharedArrayBuffer(Math.min(arenaStartBytes, wholeUnitsMax), {
      maxByteLength: wholeUnitsMax,
    }),
  };
}
