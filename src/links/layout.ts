/// <reference lib="es2024.sharedmemory" />
/**
 * The link table's memory: three shared buffers that one writer (control thread) fills and every
 * redirect thread reads without a lock. This file is the map; nothing here runs per request.
 *
 *   control  fixed   hash seed, newest generation, epochs: a 64-byte line for each word that changes
 *   slots    grows   generations of open addressing, each twice the one before it, laid end to end
 *   arena    grows   entries, addressed in units of 8 bytes by an unsigned 32-bit number (32 GiB)
 *
 *   slots buffer   | gen 0 | gen 1         | gen 2                         | ...
 *   a slot         | tag: 32-bit keyed hash | entry: unit offset, 0 = empty |      8 bytes
 *   a line         8 slots = 64 bytes; a key starts anywhere in its line, goes round it, then on
 *
 *   an entry       word 0    codeNo
 *                  word 1    workspaceNo
 *                  word 2    shape: key bytes (7 bits) | target bytes (14) | expires | limited | tombstone | damaged | routed
 *                  word 3..  key, upper case, padded with zeros to 4
 *                  ..        target, padded to 4
 *                  ..        expires: epoch ms, low and high word        (only when it expires)
 *                  ..        limited: unit offset of the counter cell    (only when it is limited)
 *                  ..        routed: unit offset of the program          (only when it is routed)
 *                  padded to 8 bytes
 *
 *   a program      where the code leads, to whom, and when (routes/program-layout.ts); it belongs to one entry
 *   a zone's cell  what a program asks of a time zone (zone-cells.ts)
 *
 * An entry never changes once a slot shows it, but for tombstone and damaged. A change of target writes a new
 * entry, and a program of its own, and swaps the slot's offset; both entries point at the same counter cell, so no scan
 * taken meanwhile is lost. A deleted entry keeps header and key for ever and frees the rest. One whose record is damaged
 * is a tombstone with a further bit: the path of a redirect looks at the first alone, a refusal at both. A plain link,
 * which leads to its target and nothing else, is known by one mask of the shape (`conditional`).
 *
 * Which generations exist is one word, `newest * 2 + migrating`: sizes and places follow from it, so
 * a reader learns the whole layout in one load and can never see half of a change.
 *
 * Cost: 20 bytes + padding for an entry with an 8-character key and 10.7 to 21.3 bytes of slots.
 * Doubling leaves the smaller generations unused behind it (together less than the newest one: a
 * freed one can never hold the next), none when `linksExpected` was right.
 *
 * Words are little-endian, as on every platform Node 22 ships the redirect engine for.
 */
import { randomBytes } from 'node:crypto';
import type { LinkState } from '../model/code.ts';
import type { CodeNo, WorkspaceNo } from '../model/numbers.ts';
import { programBytesMax } from '../routes/program-layout.ts';

/** Posted to threads as it is. */
export interface LinkTableMemory {
  readonly control: SharedArrayBuffer;
  readonly slots: SharedArrayBuffer;
  readonly arena: SharedArrayBuffer;
}

/** What the service reserves, in bytes: for 64 million codes at the worst moment of growth. */
export const addressSpace = { slotBytesMax: 2 ** 31, arenaBytesMax: 2 ** 34 } as const;

export interface LinkTableOptions {
  /** Address space reserved for slots, bytes. */
  readonly slotBytesMax: number;
  /** Address space reserved for entries, bytes; at most 32 GiB. */
  readonly arenaBytesMax: number;
  /** Threads that read: reader indexes 0 to `readersMax - 1`. */
  readonly readersMax: number;
  /** Codes known at the start, tombstones included; the table begins big enough for them. */
  readonly linksExpected: number;
}

export interface Link {
  /** Short code, ASCII letters, digits, `-`, `_` and `/` between them, 1 to 64; any case. */
  readonly key: string;
  readonly codeNo: CodeNo;
  readonly workspaceNo: WorkspaceNo;
  /** Normalised href: printable ASCII, at most 8192 bytes. */
  readonly target: string;
  /** Epoch milliseconds; 0 = never. */
  readonly expiresAtMs: number;
  /** -1 = no limit, `keepScansLeft` = as it is, otherwise the scans left from now on. */
  readonly scansLeft: number;
  readonly state: LinkState;
  /** Absent = it leads to its target, always and for everyone. */
  readonly program?: Uint8Array | undefined;
}

/** `Link.scansLeft` of a change that does not touch the limit: the counter goes on, exactly. */
export const keepScansLeft = -2;

export const keyBytesMax = 64;
export const targetBytesMax = 8_192;
/** A reader index is a line of control memory; more threads than this is a mistake. */
const readersMost = 1_024;

/** Words of control memory. One line holds what never changes, each other word has its own. */
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

/** 64 bytes: readers that publish their epochs on a shared line would slow each other. */
const lineWords = 16;

/** The control word in which a reader publishes the epoch it is in, 0 = none. */
export function readerWord(readerIndex: number): number {
  return controlWord.firstReader + readerIndex * lineWords;
}

export const entryWord = { codeNo: 0, workspaceNo: 1, shape: 2, key: 3 } as const;

/** Fields of an entry's shape word. */
export const shapeBit = {
  keyBytesMask: 0x7f,
  targetShift: 7,
  targetMask: 0x3fff,
  expires: 1 << 21,
  limited: 1 << 22,
  tombstone: 1 << 23,
  /** Of a tombstone. */
  damaged: 1 << 24,
  routed: 1 << 25,
} as const;
/** Any of these: more is to be asked than the target. */
export const conditional =
  shapeBit.expires | shapeBit.limited | shapeBit.tombstone | shapeBit.routed;

export const unitBytes = 8;
/** Arena views span 1 GiB, so that every index is a small integer; no entry crosses a border. */
export const chunkUnitBits = 27;
export const chunkUnits = 2 ** chunkUnitBits;
export const chunkUnitMask = chunkUnits - 1;
/** Arena grows by its own size within these: small tables stay small, big ones grow rarely. */
const arenaStartBytes = 1_048_576;
const arenaBytesLeast = 65_536;
const arenaBytesMost = 2 ** 32 * unitBytes;

/** 1024 slots, 8 KiB: below it there is nothing to save. */
const generationBitsMin = 10;
const slotBytes = 8;
const slotBytesLeast = 2 ** generationBitsMin * slotBytes;
/** 8 GiB hold a generation of 2^29 slots and all before it; line and start stay disjoint bits of a tag. */
const slotBytesMost = 2 ** 30 * slotBytes;
const generationBitsMax = 29;
/** A generation this full gets a successor; fuller, a missing key costs its second cache line. */
export const slotLoadGrow = 0.75;
/** Without memory for a successor it fills this far; then `storage_full`. Searches need empty slots. */
export const slotLoadMax = 0.875;

/** Words of an entry's target begin here. */
export function targetWord(shape: number): number {
  return entryWord.key + (((shape & shapeBit.keyBytesMask) + 3) >>> 2);
}

export function targetBytes(shape: number): number {
  return (shape >>> shapeBit.targetShift) & shapeBit.targetMask;
}

/** The expiry's low word, if there is an expiry; otherwise the limit's, if there is a limit. */
export function expiryWord(shape: number): number {
  return targetWord(shape) + ((targetBytes(shape) + 3) >>> 2);
}

export function limitWord(shape: number): number {
  return expiryWord(shape) + ((shape & shapeBit.expires) === 0 ? 0 : 2);
}

export function programWordOf(shape: number): number {
  return limitWord(shape) + ((shape & shapeBit.limited) === 0 ? 0 : 1);
}

/** Units an entry of this shape was allocated with, if it is or were alive. */
export function liveUnits(shape: number): number {
  return (programWordOf(shape) + ((shape & shapeBit.routed) === 0 ? 0 : 1) + 1) >>> 1;
}

/**
 * Units a program of so many words is allocated with: rounded up to two binary digits behind the first, so that
 * programs of all lengths share 50 sizes of blocks, and one that is edited for ever finds its old blocks again.
 */
export function programUnits(words: number): number {
  const units = (words + 1) >>> 1;
  const step = 2 ** Math.max(0, 29 - Math.clz32(units));
  return Math.ceil(units / step) * step;
}

/** Units that the tombstone of an entry of this shape keeps. */
export function tombstoneUnits(shape: number): number {
  return (targetWord(shape) + 1) >>> 1;
}

/** The largest block that is ever asked for: 20,480 units, a program's. An entry has at most 1,036. */
export const blockUnitsMax = programUnits(programBytesMax / 4);

/** Byte just behind a generation: what the slots buffer must hold for it. */
export function generationEndBytes(firstBits: number, generation: number): number {
  return 2 ** firstBits * (2 ** (generation + 1) - 1) * slotBytes;
}

/** A fixed-length view of a generation: as fast as an ordinary array, length-tracking ones are 10 times slower. */
export function viewGeneration(
  slots: SharedArrayBuffer,
  firstBits: number,
  generation: number,
): Int32Array {
  const begin = 2 ** firstBits * (2 ** generation - 1) * slotBytes;
  return new Int32Array(slots, begin, 2 ** (firstBits + generation) * 2);
}

/** Fixed-length views of the arena as it is now, one for each begun GiB; keeps the full ones of `before`. */
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

/** Reserves the address space and makes an empty table. */
export function createLinkTableMemory(options: LinkTableOptions): LinkTableMemory {
  const { slotBytesMax, arenaBytesMax, readersMax, linksExpected } = options;
  if (readersMax < 1 || readersMax > readersMost) {
    throw new Error(
      `Cannot create a link table: ${readersMax} readers, expected 1 to ${readersMost}`,
    );
  }
  const slotsFit = slotBytesMax >= slotBytesLeast && slotBytesMax <= slotBytesMost;
  if (!slotsFit || arenaBytesMax < arenaBytesLeast || arenaBytesMax > arenaBytesMost) {
    throw new Error(
      `Cannot create a link table: ${slotBytesMax} bytes of slots, expected ${slotBytesLeast} to ${slotBytesMost}; ${arenaBytesMax} of arena, expected ${arenaBytesLeast} to ${arenaBytesMost}`,
    );
  }
  const firstBits = firstBitsFor(linksExpected, slotBytesMax);
  const control = new SharedArrayBuffer((controlWord.firstReader + readersMax * lineWords) * 4);
  const words = new Int32Array(control);
  // With a known seed users could choose slugs that collide.
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
