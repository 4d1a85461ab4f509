/**
 * The bytes of a database of places, for the walk of its tree: either whole in shared memory, or in pages of the file.
 *
 *     locate(at) -> index into `bytes`, with the 8 bytes that follow it, until the next `locate`
 *
 * In memory a look-up costs nothing else. In pages a database takes 2 MB: what is not kept is one `pread` away
 * (1.5 µs from the page cache, which the system takes back under pressure; a disk read when it is cold), 3 to 4
 * of them for an address that was not seen recently. Page and slot go by number: a page has one slot.
 *
 *     | 4,096 bytes of the page | the next 8 |     a slot, so that no node is cut by the end of its page
 */
import { fstatSync, readSync } from 'node:fs';

export interface GeoBytes {
  readonly bytes: Uint8Array;
  /** Of the database. */
  readonly size: number;
  /** Reads of the file so far: with none in between, nothing can have changed. */
  readonly reads: number;
  /** Bytes outside the database are 0. @throws the system's error when the file cannot be read */
  locate(at: number): number;
  /** Written over, longer or shorter since the last `restart`: what was read must not be used. */
  readonly hasChanged: boolean;
  /** Starts anew with the file as it is now. */
  restart(): void;
}

/** The file as it was when it was opened. */
export class BytesInMemory implements GeoBytes {
  readonly bytes: Uint8Array;
  readonly reads = 0;
  readonly hasChanged = false;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get size(): number {
    return this.bytes.length;
  }

  locate(at: number): number {
    return at;
  }

  restart(): void {}
}

const pageBits = 12;
const pageBytes = 1 << pageBits;
const slotBytes = pageBytes + 8;
/** 2 MB, taken as pages are read; a power of two. */
const slots = 512;

/** A database in an open file, which may hold other things before and after it. */
export interface OpenPart {
  /** May be read by many threads; belongs to who opened it. */
  readonly descriptor: number;
  readonly offset: number;
  /** In bytes; undefined = to the end of the file, however long it becomes. */
  readonly size: number | undefined;
}

export class BytesInPages implements GeoBytes {
  readonly #part: OpenPart;
  readonly #pages = new Int32Array(slots).fill(-1);
  readonly bytes = new Uint8Array(slots * slotBytes);
  #modifiedMs = 0;
  #fileBytes = 0;
  size = 0;
  reads = 0;

  constructor(part: OpenPart) {
    this.#part = part;
    this.restart();
  }

  get hasChanged(): boolean {
    const { mtimeMs, size } = fstatSync(this.#part.descriptor);
    return mtimeMs !== this.#modifiedMs || size !== this.#fileBytes;
  }

  restart(): void {
    const { mtimeMs, size } = fstatSync(this.#part.descriptor);
    this.#modifiedMs = mtimeMs;
    this.#fileBytes = size;
    this.size = this.#part.size ?? size - this.#part.offset;
    this.#pages.fill(-1);
  }

  locate(at: number): number {
    const page = Math.floor(at / pageBytes);
    const slot = page & (slots - 1);
    if (this.#pages[slot] !== page) this.#read(page, slot);
    return slot * slotBytes + (at & (pageBytes - 1));
  }

  #read(page: number, slot: number): void {
    this.reads++;
    const from = slot * slotBytes;
    this.#pages[slot] = -1;
    const { descriptor, offset } = this.#part;
    const first = page * pageBytes;
    const wanted = Math.max(0, Math.min(slotBytes, this.size - first));
    let count = 0;
    while (count < wanted) {
      const at = offset + first + count;
      const read = readSync(descriptor, this.bytes, from + count, wanted - count, at);
      if (read === 0) break;
      count += read;
    }
    this.bytes.fill(0, from + count, from + slotBytes);
    this.#pages[slot] = page;
  }
}
