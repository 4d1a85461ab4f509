/**
 * The bytes of a file, for reading here and there: pages of it that a direct-mapped cache keeps, so that the size of the
 * file does not matter.
 *
 *     locate(at) -> index into `bytes`, with the 8 bytes that follow it, until the next `locate`
 *
 *     | bytes of the page | the next 8 |     a slot, so that no number is cut by the end of its page
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { FilePart } from '../../../shipped.ts';

const pageBits = 14;
const pageBytes = 1 << pageBits;
const slotBytes = pageBytes + 8;
/** 4 MB, taken as pages are read; a power of two. */
const slots = 256;

export class FilePages {
  readonly #descriptor: number;
  readonly #offset: number;
  readonly #pages = new Int32Array(slots).fill(-1);
  readonly bytes = Buffer.alloc(slots * slotBytes);
  readonly size: number;

  /** @throws Error of the system */
  constructor({ path, offset = 0, size }: FilePart) {
    this.#descriptor = openSync(path, 'r');
    this.#offset = offset;
    this.size = size ?? fstatSync(this.#descriptor).size - offset;
  }

  /** Bytes outside the file are 0. @throws Error of the system */
  locate(at: number): number {
    const page = Math.floor(at / pageBytes);
    const slot = page & (slots - 1);
    if (this.#pages[slot] !== page) this.#read(page, slot);
    return slot * slotBytes + (at & (pageBytes - 1));
  }

  /** UTF-8. */
  text(at: number, size: number): string {
    if ((at & (pageBytes - 1)) + size <= pageBytes) {
      const from = this.locate(at);
      return this.bytes.toString('utf8', from, from + size);
    }
    const bytes = Buffer.from(Array.from({ length: size }, (_, index) => this.byte(at + index)));
    return bytes.toString('utf8');
  }

  byte(at: number): number {
    return this.bytes[this.locate(at)]!;
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #read(page: number, slot: number): void {
    const from = slot * slotBytes;
    this.#pages[slot] = -1;
    const first = page * pageBytes;
    const wanted = Math.max(0, Math.min(slotBytes, this.size - first));
    let count = 0;
    while (count < wanted) {
      const at = this.#offset + first + count;
      const read = readSync(this.#descriptor, this.bytes, from + count, wanted - count, at);
      if (read === 0) break;
      count += read;
    }
    this.bytes.fill(0, from + count, from + slotBytes);
    this.#pages[slot] = page;
  }
}
