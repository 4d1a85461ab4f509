/**
 * The read side of the link table, one per redirect thread: no locks, no waiting, no allocation when warm.
 *
 * An entry from a look-up stays valid until `leave()`: `enter()` publishes the current epoch, and the writer reuses no
 * memory of that epoch until every reader has left it (`quarantine.ts`). `Atomics.store` is sequentially consistent, so
 * the epoch is visible before the first slot is read. Between them lies one cycle of the event loop, never an `await`.
 *
 * An entry's words are read without `Atomics`, which V8 calls as a function (25 to 40 ns each). The entry was complete
 * before its slot was stored, words never tear, and every `find` reloads what changes later (the tombstone bit, the slots).
 */
import { Finder, wordOf } from './finder.ts';
import {
  conditional,
  controlWord,
  entryWord,
  expiryWord,
  type LinkTableMemory,
  limitWord,
  programWordOf,
  readerWord,
  shapeBit,
  targetBytes,
  targetBytesMax,
  targetWord,
} from './layout.ts';
import type { LinkState } from '../../model/code.ts';
import { wordRange } from '../routes/program-layout.ts';
import { ProgramReader } from '../routes/program-reader.ts';
import { localMinutesOf } from './zone-cells.ts';

export class LinkReader {
  readonly #control: Int32Array;
  readonly #finder: Finder;
  readonly #epochWord: number;
  readonly #program = new ProgramReader();
  #handle = 0;
  #words: Int32Array = new Int32Array();
  #at = 0;
  #shape = 0;

  /** A restarted thread reuses its index, which also ends the epoch in which its predecessor died. */
  constructor(memory: LinkTableMemory, readerIndex: number) {
    this.#control = new Int32Array(memory.control);
    const readersMax = this.#control[controlWord.readersMax]!;
    if (!Number.isInteger(readerIndex) || readerIndex < 0 || readerIndex >= readersMax) {
      throw new Error(`Cannot read links: reader ${readerIndex}, expected 0 to ${readersMax - 1}`);
    }
    this.#finder = new Finder(memory);
    this.#epochWord = readerWord(readerIndex);
    this.leave();
  }

  enter(): void {
    const control = this.#control;
    Atomics.store(control, this.#epochWord, Atomics.load(control, controlWord.epoch));
  }

  /** Ends the cycle and invalidates its handles. */
  leave(): void {
    Atomics.store(this.#control, this.#epochWord, 0);
  }

  /** A handle of the code in `path` from index `from`, or of its look-alike; 0 = none. */
  find(path: string, from: number): number {
    const handle = this.#finder.find(path, from);
    if (handle !== 0) this.#select(handle);
    return handle;
  }

  isPlain(handle: number): boolean {
    this.#open(handle);
    return (this.#shape & conditional) === 0;
  }

  state(handle: number): LinkState {
    this.#open(handle);
    if ((this.#shape & shapeBit.tombstone) === 0) return 'live';
    return (this.#shape & shapeBit.damaged) === 0 ? 'deleted' : 'damaged';
  }

  codeNo(handle: number): number {
    this.#open(handle);
    return this.#words[this.#at + entryWord.codeNo]! >>> 0;
  }

  workspaceNo(handle: number): number {
    this.#open(handle);
    return this.#words[this.#at + entryWord.workspaceNo]! >>> 0;
  }

  expiresAtMs(handle: number): number {
    this.#open(handle);
    if ((this.#shape & shapeBit.expires) === 0) return 0;
    const at = this.#at + expiryWord(this.#shape);
    return this.#words[at + 1]! * wordRange + (this.#words[at]! >>> 0);
  }

  /** Scans left; -1 = no limit, 0 also when the link is not live. */
  scansLeft(handle: number): number {
    this.#open(handle);
    if ((this.#shape & shapeBit.tombstone) !== 0) return 0;
    if ((this.#shape & shapeBit.limited) === 0) return -1;
    const cell = this.#limitCell();
    return Math.max(0, Atomics.load(this.#finder.chunkOf(cell), wordOf(cell)));
  }

  /** Takes one scan of a limited link; true also without a limit. */
  takeScan(handle: number): boolean {
    this.#open(handle);
    if ((this.#shape & shapeBit.tombstone) !== 0) return false;
    if ((this.#shape & shapeBit.limited) === 0) return true;
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

  /** Returns the scan that `takeScan` took in the same cycle. */
  returnScan(handle: number): void {
    this.#open(handle);
    const cell = this.#limitCell();
    Atomics.add(this.#finder.chunkOf(cell), wordOf(cell), 1);
  }

  /** The program of a live link, valid until the next call or `leave`; undefined without one. */
  program(handle: number): ProgramReader | undefined {
    this.#open(handle);
    if ((this.#shape & (shapeBit.tombstone | shapeBit.routed)) !== shapeBit.routed)
      return undefined;
    const program = this.#words[this.#at + programWordOf(this.#shape)]! >>> 0;
    this.#program.open(this.#finder.chunkOf(program), wordOf(program));
    return this.#program;
  }

  /** Local minutes since the epoch; NaN for an unknown zone. @param zone its cell, as in a program */
  localMinutes(zone: number, nowMs: number): number {
    if (zone === 0) return Number.NaN;
    const cell = zone >>> 0;
    return localMinutesOf(this.#finder.chunkOf(cell), wordOf(cell), nowMs);
  }

  /**
   * Copies the target into `words` at index `at`, by words: the last one may hold extra bytes.
   * @returns bytes of the target; 0 for a tombstone, at most `targetBytesMax`
   */
  copyTarget(handle: number, words: Int32Array, at: number): number {
    this.#open(handle);
    const length = targetBytes(this.#shape);
    const from = this.#at + targetWord(this.#shape);
    const source = this.#words;
    const count = (length + 3) >>> 2;
    for (let i = 0; i < count; i += 1) words[at + i] = source[from + i]!;
    return length;
  }

  target(handle: number): Uint8Array {
    const words = new Int32Array(targetBytesMax / Int32Array.BYTES_PER_ELEMENT);
    return new Uint8Array(words.buffer, 0, this.copyTarget(handle, words, 0));
  }

  #limitCell(): number {
    return this.#words[this.#at + limitWord(this.#shape)]! >>> 0;
  }

  #open(handle: number): void {
    if (handle !== this.#handle) this.#select(handle);
  }

  #select(handle: number): void {
    this.#handle = handle;
    this.#words = this.#finder.chunkOf(handle);
    this.#at = wordOf(handle);
    this.#shape = this.#words[this.#at + entryWord.shape]!;
  }
}
