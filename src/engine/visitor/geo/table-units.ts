/**
 * Opens tables of places (table-layout.ts), and reads their units on demand.
 *
 * The control thread opens the file and reads its directory. The first thread that needs a unit reads and checks it, in some
 * µs, and appends it to memory that all threads share: 1.3 MB at the start, then what the visitors' networks take.
 *
 *     memory   | words of units | as large as the file: only its directory is used | units that were read, up to twice all |
 *
 *     entry of the directory   offset in the file -> `flagRead` + offset in memory, less the unit's header, which is left out
 *                                                 -> 0, a place that is nowhere, when the unit is damaged
 *
 * Two threads may read a unit at once: both store it, one copy is used. The entry is written last.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { FilePart } from '../../../platform/shipped.ts';
import {
  decodeHeader,
  directoryWords,
  type Header,
  headerWords,
  flagRead,
  flagUnit,
  offsetMask,
  unitHeaderWords,
} from './table-layout.ts';

export interface OpenTable {
  readonly header: Header;
  readonly memory: SharedArrayBuffer;
  /** Shared by threads; the thread that opened it closes it. */
  readonly descriptor: number;
  readonly offset: number;
}

/** More than most units have. */
const firstReadBytes = 4_096;

export function openTable({ path, offset = 0, size }: FilePart): OpenTable {
  const descriptor = openSync(path, 'r');
  try {
    const bytes = size ?? fstatSync(descriptor).size - offset;
    const found = new Uint32Array(headerWords);
    readFully(descriptor, new Uint8Array(found.buffer), offset);
    const header = decodeHeader(found, bytes);
    const memory = new SharedArrayBuffer(bytes + header.directory * 8);
    const directory = new Uint8Array(memory, header.directory * 4, directoryWords(header) * 4);
    readFully(descriptor, directory, offset + header.directory * 4);
    const crc = crc32(directory.subarray(0, -4), crc32(new Uint8Array(found.buffer)));
    const words = new Uint32Array(memory);
    if (crc !== words[header.words - 1]) throw new Error('its directory is damaged');
    words[0] = header.words;
    return { header, memory, descriptor, offset };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Call when no thread uses the table any more. */
export const closeTable = ({ descriptor }: OpenTable): void => closeSync(descriptor);

/** @throws Error of the system, or when the file is shorter */
export function readFully(descriptor: number, into: Uint8Array, from: number): void {
  for (let at = 0; at < into.length;) {
    const count = readSync(descriptor, into, at, into.length - at, from + at);
    if (count === 0) throw new Error(`the file ended after ${at} of ${into.length} bytes`);
    at += count;
  }
}

/** Reads the whole file. @returns its header @throws Error of the system, or saying what is wrong with the file */
export function checkTable(part: FilePart): Header {
  const table = openTable(part);
  try {
    const reader = new UnitReader(table);
    for (let unit = headerWords; unit < table.header.directory;) {
      const words = reader.check(unit);
      if (words === 0) throw new Error('it is damaged');
      unit += words;
    }
    return table.header;
  } finally {
    closeTable(table);
  }
}

export class UnitReader {
  readonly #table: OpenTable;
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  #buffer = new Uint8Array(firstReadBytes);

  constructor(table: OpenTable) {
    this.#table = table;
    this.#words = new Int32Array(table.memory);
    this.#bytes = new Uint8Array(table.memory);
  }

  /** Offset of an entry's unit in memory; 0 when it is unreadable. @param at index of the entry */
  locate(at: number): number {
    const entry = Atomics.load(this.#words, at);
    return (entry & flagRead) === 0 ? this.#read(at, entry & offsetMask) : entry & offsetMask;
  }

  #read(at: number, unit: number): number {
    try {
      const words = this.check(unit) - unitHeaderWords;
      if (words <= 0) {
        Atomics.store(this.#words, at, 0);
        return 0;
      }
      if (Atomics.load(this.#words, 0) + words > this.#words.length) return 0;
      const from = Atomics.add(this.#words, 0, words);
      if (from + words > this.#words.length) return 0;
      const end = (words + unitHeaderWords) * 4;
      this.#bytes.set(this.#buffer.subarray(unitHeaderWords * 4, end), from * 4);
      const found = from - unitHeaderWords;
      Atomics.store(this.#words, at, flagUnit | flagRead | found);
      return found;
    } catch {
      // The disk may be readable again for the next address.
      return 0;
    }
  }

  /** Words of the unit in the file, 0 = damaged. @throws Error when the file cannot be read */
  check(unit: number): number {
    const { descriptor, offset, header } = this.#table;
    const wordsMax = header.directory - unit;
    if (unit < headerWords || wordsMax <= unitHeaderWords) return 0;
    const first = Math.min(firstReadBytes, wordsMax * 4);
    readFully(descriptor, this.#buffer.subarray(0, first), offset + unit * 4);
    const [words = 0, crc] = new Uint32Array(this.#buffer.buffer, 0, unitHeaderWords);
    if (words <= unitHeaderWords || words > wordsMax) return 0;
    const bytes = words * 4;
    if (bytes > this.#buffer.length) {
      const larger = new Uint8Array(bytes);
      larger.set(this.#buffer.subarray(0, first));
      this.#buffer = larger;
    }
    if (bytes > first) {
      readFully(descriptor, this.#buffer.subarray(first, bytes), offset + unit * 4 + first);
    }
    const content = this.#buffer.subarray(unitHeaderWords * 4, bytes);
    return crc32(content) === crc ? words : 0;
  }
}
