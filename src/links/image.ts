/**
 * The link table's bytes in a file, so that a start fills it as fast as a disk reads: 10 million links in a second
 * instead of ten.
 *
 *   sections   slots | arena up to its tail | free lists | blocks in quarantine | cells of zones | notes of slots |
 *              notes of shapes | limited codes | damaged codes                          each in pieces of 1 MiB
 *   head       numbers: magic, slot bits, hash seed, counts, the caller's number and token, bytes of each section,
 *              CRC-32 of each piece
 *   end        bytes of the head u32, CRC-32 of the head u32                            written last: 8 bytes
 *
 * All are words of this machine. The sections are what recording.ts describes: what changed while they were copied is put
 * back by the notes. Every piece is checked before the table is taken over; a fault of any kind leaves the table empty.
 * What a limited code has left is not in the image: its caller fills those anew. Which store the image belongs to is the
 * caller's to know, by `token`.
 *
 * The hash seed stays the same for as long as images are made of images: the file is its owner's alone.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import {
  blockUnitsMax,
  chunkUnitBits,
  chunkUnitMask,
  entryWord,
  generationBitsMax,
  generationEndBytes,
  type LinkTableMemory,
  type TableLayout,
  unitBytes,
  viewArena,
  viewGeneration,
} from './layout.ts';
import type { TableState } from './recording.ts';
import type { LinkWriter } from './writer.ts';

/** "QZLINK" and the version of everything here and in layout.ts. */
const imageMagic = 0x51_5a_4c_49_4e_4b * 16 + 2;
export const pieceBytes = 1_048_576;
export const endBytes = 8;
/** Of a head: pieces of 32 GiB. */
const headBytesMax = 2 ** 20;

export interface ImageHead extends TableLayout, Omit<TableState, 'heads' | 'waiting' | 'zones'> {
  /** Of the last change that is in it for certain. */
  readonly number: number;
  readonly token: number;
  /** Bytes, in their order. */
  readonly sections: readonly number[];
  readonly checksums: readonly number[];
}

const sectionCount = 9;
const numbersBefore = 12 + sectionCount;

export function encodeHead(head: ImageHead): Buffer {
  const { slotBits, hashSeedLow, hashSeedHigh, used, live, lostUnits } = head;
  const { tailUnits, arenaBytes, freeUnits, number, token, sections, checksums } = head;
  const counts = [used, live, lostUnits, tailUnits, arenaBytes, freeUnits, number, token];
  const numbers = [imageMagic, slotBits, hashSeedLow, hashSeedHigh, ...counts, ...sections];
  return Buffer.from(Float64Array.from([...numbers, ...checksums]).buffer);
}

/** @throws ImageFault */
function decodeHead(bytes: Buffer): ImageHead {
  const numbers = [...new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8)];
  const [magic, ...rest] = numbers.slice(0, numbersBefore);
  if (magic !== imageMagic) throw new ImageFault('it is of another version');
  if (numbers.length < numbersBefore) throw new ImageFault('it is cut short');
  const [slotBits = 0, hashSeedLow = 0, hashSeedHigh = 0, used = 0, live = 0, ...more] = rest;
  const [lostUnits = 0, tailUnits = 0, arenaBytes = 0, freeUnits = 0, number = 0, ...last] = more;
  const [token = 0, ...sections] = last;
  return {
    slotBits,
    hashSeedLow,
    hashSeedHigh,
    used,
    live,
    lostUnits,
    tailUnits,
    arenaBytes,
    freeUnits,
    number,
    token,
    sections,
    checksums: numbers.slice(numbersBefore),
  };
}

/** The image cannot be used; the message says why, as the end of a sentence. */
export class ImageFault extends Error {
  override readonly name = 'ImageFault';
}

/** Codes of which the table says too little. */
export interface ImageCodes {
  /** Those with a limit. */
  readonly limited: Int32Array;
  /** Those that are in the table as damaged. */
  readonly damaged: Int32Array;
}

interface LoadedImage extends ImageCodes {
  readonly state: TableState;
}

const emptyTable: TableState = {
  slotBits: 0,
  used: 0,
  live: 0,
  lostUnits: 0,
  tailUnits: 1,
  arenaBytes: 0,
  freeUnits: 0,
  heads: new Int32Array(blockUnitsMax + 1),
  waiting: new Int32Array(),
  zones: new Int32Array(),
};

export class ImageFile {
  readonly head: ImageHead;
  readonly #file: number;
  #at = 0;
  #piece = 0;

  private constructor(file: number, head: ImageHead) {
    this.#file = file;
    this.head = head;
  }

  /** Reads its head. @throws ImageFault, Error of the system */
  static open(path: string): ImageFile {
    const file = openSync(path, 'r');
    try {
      return new ImageFile(file, readHead(file));
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  /**
   * Fills the empty table that was made for its layout; nobody may read it yet.
   * @throws ImageFault: the table is empty again
   */
  load(memory: LinkTableMemory, writer: LinkWriter): ImageCodes {
    const slots = viewGeneration(memory.slots, this.head.slotBits, 0);
    try {
      const { state, ...codes } = this.#load(memory, slots);
      writer.restore(state);
      return codes;
    } catch (error) {
      this.clear(memory, writer);
      throw error instanceof ImageFault ? error : new ImageFault(String(error));
    }
  }

  /** Empties the table again, if nothing was changed since. */
  clear(memory: LinkTableMemory, writer: LinkWriter): void {
    viewGeneration(memory.slots, this.head.slotBits, 0).fill(0);
    writer.restore(emptyTable);
  }

  #load(memory: LinkTableMemory, slots: Int32Array): LoadedImage {
    const { head } = this;
    const { arenaBytes, tailUnits } = head;
    const [slotBytes, tailBytes = 0, headBytes] = head.sections;
    const arenaFits = arenaBytes <= memory.arena.maxByteLength && tailBytes <= arenaBytes;
    const isWhole = slotBytes === slots.byteLength && tailBytes === tailUnits * unitBytes;
    if (!isWhole || !arenaFits || headBytes !== (blockUnitsMax + 1) * 4) {
      throw new ImageFault('it does not fit this table');
    }
    if (memory.arena.byteLength < arenaBytes) memory.arena.grow(arenaBytes);
    this.#fill(memory.slots, slots.byteOffset, slots.byteLength);
    this.#fill(memory.arena, 0, tailBytes);
    const [heads, waiting, zones, slotNotes, shapeNotes, limited, damaged] = head.sections
      .slice(2)
      .map((bytes) => this.#words(bytes));
    if (!heads || !waiting || !zones || !slotNotes || !shapeNotes || !limited || !damaged) {
      throw new ImageFault('it is cut short');
    }
    for (let at = slotNotes.length - 2; at >= 0; at -= 2)
      slots[slotNotes[at]!] = slotNotes[at + 1]!;
    const { chunks } = viewArena(memory.arena, []);
    for (let at = shapeNotes.length - 2; at >= 0; at -= 2) {
      const entry = shapeNotes[at]! >>> 0;
      const word = ((entry & chunkUnitMask) << 1) + entryWord.shape;
      chunks[entry >>> chunkUnitBits]![word] = shapeNotes[at + 1]!;
    }
    return { state: { ...head, heads, waiting, zones }, limited, damaged };
  }

  #words(bytes: number): Int32Array {
    const buffer = new ArrayBuffer(bytes);
    this.#fill(buffer, 0, bytes);
    return new Int32Array(buffer);
  }

  #fill(buffer: ArrayBuffer | SharedArrayBuffer, offset: number, bytes: number): void {
    for (let done = 0; done < bytes; done += pieceBytes) {
      const view = new Uint8Array(buffer, offset + done, Math.min(pieceBytes, bytes - done));
      const read = readSync(this.#file, view, 0, view.length, this.#at);
      if (read !== view.length) throw new ImageFault('it is cut short');
      if (crc32(view) !== this.head.checksums[this.#piece]) {
        throw new ImageFault(`piece ${this.#piece} of it is damaged`);
      }
      this.#at += view.length;
      this.#piece += 1;
    }
  }
}

function readHead(file: number): ImageHead {
  const { size } = fstatSync(file);
  const end = readBytes(file, size - endBytes, endBytes);
  const headBytes = end.readUInt32LE(0);
  if (headBytes > headBytesMax || headBytes % 8 !== 0) throw new ImageFault('its end is damaged');
  const bytes = readBytes(file, size - endBytes - headBytes, headBytes);
  if (crc32(bytes) !== end.readUInt32LE(4)) throw new ImageFault('its head is damaged');
  const head = decodeHead(bytes);
  const total = head.sections.reduce((sum, section) => sum + section, 0);
  if (total + headBytes + endBytes !== size) throw new ImageFault('it is cut short');
  return head;
}

function readBytes(file: number, at: number, count: number): Buffer {
  // Of its own, so that numbers in it are aligned.
  const bytes = Buffer.from(new ArrayBuffer(count));
  if (at < 0 || readSync(file, bytes, 0, count, at) !== count) {
    throw new ImageFault('it is cut short');
  }
  return bytes;
}

/** Whether a table of such slots can be reserved. */
export const fits = ({ slotBits }: TableLayout, slotBytesMax: number): boolean =>
  slotBits >= 1 && slotBits <= generationBitsMax && generationEndBytes(slotBits, 0) <= slotBytesMax;
