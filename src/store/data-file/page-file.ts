/**
 * Reads pages of a data file in pieces of up to 1 MiB: many wanted pages that lie close together are one read.
 * Bound: one buffer, however large the file.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const pieceBytes = 1_048_576;
/** Unwanted pages between two wanted ones that are rather read than skipped. */
const gapPagesMax = 1;

/** @param at where the page begins in `bytes`, which are reused after the call */
export type OnPage = (bytes: Buffer, at: number, page: number, index: number) => void;

export class PageFile {
  readonly #descriptor: number;
  readonly #piece = Buffer.allocUnsafe(pieceBytes);
  readonly pageBytes: number;
  readonly bytes: number;
  bytesRead = 0;

  private constructor(descriptor: number, pageBytes: number) {
    this.#descriptor = descriptor;
    this.pageBytes = pageBytes;
    this.bytes = fstatSync(descriptor).size;
  }

  /** @throws Error of the system */
  static open(path: string, pageBytes: number): PageFile {
    return new PageFile(openSync(path, 'r'), pageBytes);
  }

  /** Whole pages in the file. */
  get pages(): number {
    return Math.floor(this.bytes / this.pageBytes);
  }

  /**
   * Hands over the pages with these numbers, which are below `pages`, in ascending order.
   * @param wanted ascending
   */
  read(wanted: ArrayLike<number>, onPage: OnPage): void {
    const { pageBytes } = this;
    const pagesMax = pieceBytes / pageBytes;
    for (let from = 0; from < wanted.length;) {
      const first = wanted[from]!;
      let to = from + 1;
      while (to < wanted.length) {
        const page = wanted[to]!;
        if (page - wanted[to - 1]! > gapPagesMax || page - first >= pagesMax) break;
        to++;
      }
      const count = wanted[to - 1]! - first + 1;
      this.#fill(first * pageBytes, count * pageBytes);
      for (let index = from; index < to; index++) {
        onPage(this.#piece, (wanted[index]! - first) * pageBytes, wanted[index]!, index);
      }
      from = to;
    }
  }

  /** A copy of some bytes. @throws Error where the file ends before them */
  copy(from: number, bytes: number): Buffer {
    const copy = Buffer.allocUnsafe(bytes);
    this.#readInto(copy, from, bytes);
    return copy;
  }

  /** The same into a buffer of the caller's. */
  copyInto(target: Buffer, from: number): void {
    this.#readInto(target, from, target.length);
  }

  #fill(from: number, bytes: number): void {
    this.#readInto(this.#piece, from, bytes);
  }

  #readInto(target: Buffer, from: number, bytes: number): void {
    let done = 0;
    while (done < bytes) {
      const read = readSync(this.#descriptor, target, done, bytes - done, from + done);
      // It was cut since it was opened: what is missing reads as zeros, which are no page.
      if (read === 0) {
        target.fill(0, done, bytes);
        break;
      }
      done += read;
    }
    this.bytesRead += bytes;
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
