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
 *                  word 2    shape: key bytes (7 bits) | target bytes (14) | expires | limited | gone
 *                  word 3..  key, upper case, padded with zeros to 4
 *                  ..        target, padded to 4
 *                  ..        expires: epoch ms, low and high word        (only when it expires)
 *                  ..        limited: unit offset of the counter cell    (only when it is limited)
 *                  padded to 8 bytes
 *
 * An entry never changes once a slot shows it, but for its gone bit. A change of target writes a new
 * entry and swaps the slot's offset; both entries point at the same counter cell, so no scan taken
 * meanwhile is lost. A deleted entry keeps header and key for ever and gives the rest back.
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
import { randomBytes as systemRandomBytes } from 'node:crypto';

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

export type LinkState = 'live' | 'gone';

export interface Link {
  /** Short code, ASCII letters, digits, `-` and `_`, 1 to 64; any case. */
  readonly key: string;
  readonly codeNo: number;
  readonly workspaceNo: number;
  /** Normalised href: printable ASCII, at most 8192 bytes. */
  readonly target: string;
  /** Epoch milliseconds; 0 = never. */
  readonly expiresAtMs: number;
  /** -1 = no limit, `KEEP_SCANS_LEFT` = as it is, otherwise the scans left from now on. */
  readonly scansLeft: number;
  readonly state: LinkState;
}

/** `Link.scansLeft` of a change that does not touch the limit: the counter goes on, exactly. */
export const KEEP_SCANS_LEFT = -2;

export const KEY_BYTES_MAX = 64;
export const TARGET_BYTES_MAX = 8_192;
/** A reader index is a line of control memory; more threads than this is a mistake. */
const READERS_MAX = 1_024;

/** Words of control memory. One line holds what never changes, each other word has its own. */
export const CONTROL = {
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
const LINE_WORDS = 16;

/** The control word in which a reader publishes the epoch it is in, 0 = none. */
export function readerWord(readerIndex: number): number {
  return CONTROL.firstReader + readerIndex * LINE_WORDS;
}

export const ENTRY = { codeNo: 0, workspaceNo: 1, shape: 2, key: 3 } as const;

/** Fields of an entry's shape word. */
export const SHAPE = {
  keyBytesMask: 0x7f,
  targetShift: 7,
  targetMask: 0x3fff,
  expires: 1 << 21,
  limited: 1 << 22,
  gone: 1 << 23,
} as const;

export const UNIT_BYTES = 8;
/** Arena views span 1 GiB, so that every index is a small integer; no entry crosses a border. */
export const CHUNK_UNIT_BITS = 27;
export const CHUNK_UNITS = 2 ** CHUNK_UNIT_BITS;
export const CHUNK_UNIT_MASK = CHUNK_UNITS - 1;
/** Arena grows by its own size within these: small tables stay small, big ones grow rarely. */
const ARENA_START_BYTES = 1_048_576;
const ARENA_BYTES_MIN = 65_536;
const ARENA_BYTES_MAX = 2 ** 32 * UNIT_BYTES;

/** 1024 slots, 8 KiB: below it there is nothing to save. */
const GENERATION_BITS_MIN = 10;
const SLOT_BYTES = 8;
const SLOT_BYTES_MIN = 2 ** GENERATION_BITS_MIN * SLOT_BYTES;
/** 8 GiB hold a generation of 2^29 slots and all before it; line and start stay disjoint bits of a tag. */
const SLOT_BYTES_MAX = 2 ** 30 * SLOT_BYTES;
const GENERATION_BITS_MAX = 29;
/** A generation this full gets a successor; fuller, a missing key costs its second cache line. */
export const SLOT_LOAD_GROW = 0.75;
/** Without room for a successor it fills this far; then `storage_full`. Searches need empty slots. */
export const SLOT_LOAD_MAX = 0.875;

/** Words of an entry's target begin here. */
export function targetWord(shape: number): number {
  return ENTRY.key + (((shape & SHAPE.keyBytesMask) + 3) >>> 2);
}

export function targetBytes(shape: number): number {
  return (shape >>> SHAPE.targetShift) & SHAPE.targetMask;
}

/** The expiry's low word, if there is an expiry; otherwise the limit's, if there is a limit. */
export function expiryWord(shape: number): number {
  return targetWord(shape) + ((targetBytes(shape) + 3) >>> 2);
}

export function limitWord(shape: number): number {
  return expiryWord(shape) + ((shape & SHAPE.expires) === 0 ? 0 : 2);
}

/** Units an entry of this shape was allocated with, if it is or were alive. */
export function liveUnits(shape: number): number {
  return (limitWord(shape) + ((shape & SHAPE.limited) === 0 ? 0 : 1) + 1) >>> 1;
}

/** Units that are left of an entry of this shape once it is gone. */
export function goneUnits(shape: number): number {
  return (targetWord(shape) + 1) >>> 1;
}

/** The largest block that is ever asked for: 1035 units. */
export const BLOCK_UNITS_MAX = liveUnits(
  KEY_BYTES_MAX | (TARGET_BYTES_MAX << SHAPE.targetShift) | SHAPE.expires | SHAPE.limited,
);

/** Byte just behind a generation: what the slots buffer must hold for it. */
export function generationEndBytes(firstBits: number, generation: number): number {
  return 2 ** firstBits * (2 ** (generation + 1) - 1) * SLOT_BYTES;
}

/** A fixed-length view of a generation: as fast as an ordinary array, length-tracking ones are 10 times slower. */
export function viewGeneration(
  slots: SharedArrayBuffer,
  firstBits: number,
  generation: number,
): Int32Array {
  const begin = 2 ** firstBits * (2 ** generation - 1) * SLOT_BYTES;
  return new Int32Array(slots, begin, 2 ** (firstBits + generation) * 2);
}

/** Fixed-length views of the arena as it is now, one for each begun GiB; keeps the full ones of `before`. */
export function viewArena(
  arena: SharedArrayBuffer,
  before: readonly Int32Array[],
): { readonly chunks: Int32Array[]; readonly units: number } {
  const chunkBytes = CHUNK_UNITS * UNIT_BYTES;
  const bytes = arena.byteLength;
  const chunks: Int32Array[] = [];
  for (let begin = 0; begin < bytes; begin += chunkBytes) {
    const words = Math.min(chunkBytes, bytes - begin) / 4;
    const known = before[chunks.length];
    chunks.push(known?.length === words ? known : new Int32Array(arena, begin, words));
  }
  return { chunks, units: bytes / UNIT_BYTES };
}

function firstBitsFor(linksExpected: number, slotBytesMax: number): number {
  const fitting = Math.floor(Math.log2(slotBytesMax / SLOT_BYTES));
  const wanted = Math.ceil(Math.log2(Math.max(1, linksExpected / SLOT_LOAD_GROW)));
  return Math.min(Math.max(wanted, GENERATION_BITS_MIN), fitting, GENERATION_BITS_MAX);
}

/**
 * Reserves the address space and makes an empty table.
 * @param randomBytes source of the hash seed: without it, whoever chooses slugs could choose collisions
 */
export function createLinkTableMemory(
  options: LinkTableOptions,
  randomBytes: (bytes: number) => Uint8Array = systemRandomBytes,
): LinkTableMemory {
  const { slotBytesMax, arenaBytesMax, readersMax, linksExpected } = options;
  if (readersMax < 1 || readersMax > READERS_MAX) {
    throw new Error(
      `Cannot create a link table: ${readersMax} readers, expected 1 to ${READERS_MAX}`,
    );
  }
  const slotsFit = slotBytesMax >= SLOT_BYTES_MIN && slotBytesMax <= SLOT_BYTES_MAX;
  if (!slotsFit || arenaBytesMax < ARENA_BYTES_MIN || arenaBytesMax > ARENA_BYTES_MAX) {
    throw new Error(
      `Cannot create a link table: ${slotBytesMax} bytes of slots, expected ${SLOT_BYTES_MIN} to ${SLOT_BYTES_MAX}; ${arenaBytesMax} of arena, expected ${ARENA_BYTES_MIN} to ${ARENA_BYTES_MAX}`,
    );
  }
  const firstBits = firstBitsFor(linksExpected, slotBytesMax);
  const control = new SharedArrayBuffer((CONTROL.firstReader + readersMax * LINE_WORDS) * 4);
  const words = new Int32Array(control);
  const seed = randomBytes(8);
  const seedView = new DataView(seed.buffer, seed.byteOffset, 8);
  words[CONTROL.hashSeedLow] = seedView.getInt32(0, true);
  words[CONTROL.hashSeedHigh] = seedView.getInt32(4, true);
  words[CONTROL.firstGenerationBits] = firstBits;
  words[CONTROL.readersMax] = readersMax;
  words[CONTROL.epoch] = 1;
  const wholeUnitsMax = Math.floor(arenaBytesMax / UNIT_BYTES) * UNIT_BYTES;
  return {
    control,
    slots: new SharedArrayBuffer(generationEndBytes(firstBits, 0), { maxByteLength: slotBytesMax }),
    arena: new SharedArrayBuffer(Math.min(ARENA_START_BYTES, wholeUnitsMax), {
      maxByteLength: wholeUnitsMax,
    }),
  };
}
