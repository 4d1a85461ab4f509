/**
 * The read side of the link table, one for each redirect thread: no locks, no waiting, no
 * allocation on the warm path.
 *
 * An entry that a look-up returned stays as it is until `leave()`: `enter()` publishes the current
 * epoch and the writer reuses no memory that was in use in that epoch or later until every reader
 * has left it (`quarantine.ts`). `Atomics.store` is sequentially consistent, so the epoch is visible
 * before the first slot is read. Between `enter` and `leave` lies one turn of the event loop, never
 * an `await`.
 *
 * An entry's words are read without `Atomics`, which V8 calls as a function (25 to 40 ns each, eight of
 * them a redirect): the slot that led to it was stored after it was complete, aligned words never tear,
 * and the words that change later (the gone bit, the slots) are loaded anew by every `find`.
 */
import { Finder, wordOf } from './finder.ts';
import {
  CONTROL,
  ENTRY,
  expiryWord,
  type LinkState,
  type LinkTableMemory,
  limitWord,
  readerWord,
  SHAPE,
  targetBytes,
  TARGET_BYTES_MAX,
  targetWord,
} from './layout.ts';

const HIGH_WORD = 2 ** 32;

export class LinkReader {
  readonly #control: Int32Array;
  readonly #finder: Finder;
  readonly #epochWord: number;
  /** The entry looked at last: where it is and what it says, loaded once a look-up. */
  #handle = 0;
  #words: Int32Array = new Int32Array();
  #at = 0;
  #shape = 0;
  readonly #location = new Int32Array(TARGET_BYTES_MAX / Int32Array.BYTES_PER_ELEMENT);
  /** Views of the first n bytes of `#location`, by n. */
  readonly #views: (Uint8Array | undefined)[] = Array.from<undefined>({
    length: TARGET_BYTES_MAX + 1,
  });

  /** A restarted thread takes its old index again, which also ends the epoch its predecessor died in. */
  constructor(memory: LinkTableMemory, readerIndex: number) {
    this.#control = new Int32Array(memory.control);
    const readersMax = this.#control[CONTROL.readersMax]!;
    if (!Number.isInteger(readerIndex) || readerIndex < 0 || readerIndex >= readersMax) {
      throw new Error(`Cannot read links: reader ${readerIndex}, expected 0 to ${readersMax - 1}`);
    }
    this.#finder = new Finder(memory);
    this.#epochWord = readerWord(readerIndex);
    this.leave();
  }

  /** Begins a turn. */
  enter(): void {
    const control = this.#control;
    Atomics.store(control, this.#epochWord, Atomics.load(control, CONTROL.epoch));
  }

  /** Ends a turn: handles and locations found in it are no longer valid. */
  leave(): void {
    Atomics.store(this.#control, this.#epochWord, 0);
  }

  /**
   * Finds the code that `path` holds from `from` to its end, in any case; of a code that is not
   * there but looks generated, I and L are read as 1 and O as 0.
   * @returns a handle > 0, or 0 when there is no such code
   */
  find(path: string, from: number): number {
    const handle = this.#finder.find(path, from);
    if (handle !== 0) this.#select(handle);
    return handle;
  }

  state(handle: number): LinkState {
    this.#look(handle);
    return (this.#shape & SHAPE.gone) === 0 ? 'live' : 'gone';
  }

  codeNo(handle: number): number {
    this.#look(handle);
    return this.#words[this.#at + ENTRY.codeNo]! >>> 0;
  }

  workspaceNo(handle: number): number {
    this.#look(handle);
    return this.#words[this.#at + ENTRY.workspaceNo]! >>> 0;
  }

  /** Epoch milliseconds, 0 = never. */
  expiresAtMs(handle: number): number {
    this.#look(handle);
    if ((this.#shape & SHAPE.expires) === 0) return 0;
    const at = this.#at + expiryWord(this.#shape);
    return this.#words[at + 1]! * HIGH_WORD + (this.#words[at]! >>> 0);
  }

  /** Scans that a limited code has left; -1 = no limit, 0 also when it is gone. */
  scansLeft(handle: number): number {
    this.#look(handle);
    if ((this.#shape & SHAPE.gone) !== 0) return 0;
    if ((this.#shape & SHAPE.limited) === 0) return -1;
    const cell = this.#limitCell();
    return Math.max(0, Atomics.load(this.#finder.chunkOf(cell), wordOf(cell)));
  }

  /** Uses one of a limited code's scans; true when there was one, or when there is no limit. */
  takeScan(handle: number): boolean {
    this.#look(handle);
    if ((this.#shape & SHAPE.gone) !== 0) return false;
    if ((this.#shape & SHAPE.limited) === 0) return true;
    const cell = this.#limitCell();
    const words = this.#finder.chunkOf(cell);
    const at = wordOf(cell);
    let left = Atomics.load(words, at);
    while (left > 0) {
      const seen = Atomics.compareExchange(words, at, left, left - 1);
      if (seen === left) return true;
      left = seen;
    }
    return false;
  }

  /**
   * The target's bytes, for a `Location` header: copied by words into one place, so that a redirect
   * allocates nothing however many codes are in use. Valid until the next call; empty for a tombstone.
   */
  location(handle: number): Uint8Array {
    this.#look(handle);
    const length = targetBytes(this.#shape);
    const from = this.#at + targetWord(this.#shape);
    const words = this.#words;
    const copy = this.#location;
    const count = (length + 3) >>> 2;
    for (let i = 0; i < count; i += 1) copy[i] = words[from + i]!;
    return (this.#views[length] ??= new Uint8Array(copy.buffer, 0, length));
  }

  #limitCell(): number {
    return this.#words[this.#at + limitWord(this.#shape)]! >>> 0;
  }

  #look(handle: number): void {
    if (handle !== this.#handle) this.#select(handle);
  }

  #select(handle: number): void {
    this.#handle = handle;
    this.#words = this.#finder.chunkOf(handle);
    this.#at = wordOf(handle);
    this.#shape = this.#words[this.#at + ENTRY.shape]!;
  }
}
