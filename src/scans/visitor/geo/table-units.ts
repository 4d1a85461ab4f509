/**
 * Opens tables of places (table-layout.ts), and reads their units as they are needed.
 *
 * The control thread opens the file and reads its directory. A unit is read by the thread that needs it first, checked,
 * and put behind those that were read before, in memory that all threads share: 1.3 MB at the start, and then what the
 * visitors' networks take. Reading takes some µs once (a `pread` of 400 bytes), and longer only where the disk is slow.
 *
 *     memory   | words of units | as large as the file: only its directory is used | units that were read, up to twice all |
 *
 *     entry of the directory   offset in the file -> `flagRead` + offset in memory, less the unit's header, which is left out
 *                                                 -> 0, a place that is nowhere, where the unit is damaged
 *
 * Two threads may read a unit at once: both keep it, and one is used. The entry is written last. A file that an update
 * replaces stays open as it was.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { FilePart } from '../../../shipped.ts';
import {
  decodeHeader,
  directoryWords,
  firstsOfIpv4,
  type Header,
  headerWords,
  flagRead,
  flagUnit,
  offsetMask,
  unitHeaderWords,
} from './table-layout.ts';

/** An open table, to be posted to threads as it is. */
export interface OpenTable {
  readonly header: Header;
  readonly memory: SharedArrayBuffer;
  /** May be read by many threads; belongs to who opened it. Undefined: the memory has all of it. */
  readonly descriptor: number | undefined;
  /** Of the table in the file, in bytes. */
  readonly offset: number;
}

/** More than most units have. */
const firstReadBytes = 4_096;

/**
 * Opens a table and reads its directory.
 * @throws Error of the system, or saying what is wrong with the file
 */
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

/** The same of one that was made in memory. @throws Error saying what is wrong with it */
export function tableInMemory(memory: SharedArrayBuffer): OpenTable {
  const header = decodeHeader(new Uint32Array(memory, 0, headerWords), memory.byteLength);
  const words = new Uint32Array(memory, header.directory * 4);
  const firsts = firstsOfIpv4 + header.ipv6Entries;
  for (let at = 0; at < words.length - 1; at++) {
    const isPlaces = at >= firsts + header.ipv6Entries;
    const isEntry = (at < firstsOfIpv4 || at >= firsts) && words[at]! >= flagUnit;
    if (isPlaces || isEntry) words[at] = words[at]! | flagRead;
  }
  return { header, memory, descriptor: undefined, offset: 0 };
}

/** When no thread looks anything up any more. */
export function closeTable({ descriptor }: OpenTable): void {
  if (descriptor !== undefined) closeSync(descriptor);
}

function readFully(descriptor: number, into: Uint8Array, from: number): void {
  for (let at = 0; at < into.length;) {
    const count = readSync(descriptor, into, at, into.length - at, from + at);
    if (count === 0) throw new Error(`the file ended after ${at} of ${into.length} bytes`);
    at += count;
  }
}

/**
 * Reads the whole file.
 * @throws Error of the system, or saying what is wrong with the file
 */
export function checkTable(part: FilePart): void {
  const table = openTable(part);
  try {
    const reader = new UnitReader(table);
    for (let unit = headerWords; unit < table.header.directory;) {
      const words = reader.check(unit);
      if (words === 0) throw new Error('it is damaged');
      unit += words;
    }
  } finally {
    closeTable(table);
  }
}

/** Reads units: one for each thread. */
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

  /**
   * Where the unit of an entry is in memory, now; 0 where it cannot be read.
   * @param at of the entry
   */
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

  /** Words of the unit in the file, 0 when it is damaged. @throws Error when the file cannot be read */
  check(unit: number): number {
    const { descriptor, offset, header } = this.#table;
    const wordsMax = header.directory - unit;
    if (descriptor === undefined || unit < headerWords || wordsMax <= unitHeaderWords) return 0;
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
