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
 * Locations are views over the arena, kept in a direct-mapped cache: 8192 views, about 1 MB of heap a
 * thread. A view is a window on a place, not a copy: it is right for every entry of that place and
 * shape. A miss makes a new view (about 100 ns and some garbage).
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
  targetWord,
  UNIT_BYTES,
} from './layout.ts';

/** 2^13 views. */
const VIEW_BITS = 13;
const HIGH_WORD = 2 ** 32;

export class LinkReader {
  readonly #control: Int32Array;
  readonly #arena: SharedArrayBuffer;
  readonly #finder: Finder;
  readonly #epochWord: number;
  readonly #views: Uint8Array[];
  readonly #viewHandles = new Int32Array(2 ** VIEW_BITS);
  readonly #viewShapes = new Int32Array(2 ** VIEW_BITS);

  /** A restarted thread takes its old index again, which also ends the epoch its predecessor died in. */
  constructor(memory: LinkTableMemory, readerIndex: number) {
    this.#control = new Int32Array(memory.control);
    const readersMax = this.#control[CONTROL.readersMax]!;
    if (!Number.isInteger(readerIndex) || readerIndex < 0 || readerIndex >= readersMax) {
      throw new Error(`Cannot read links: reader ${readerIndex}, expected 0 to ${readersMax - 1}`);
    }
    this.#arena = memory.arena;
    this.#finder = new Finder(memory);
    this.#epochWord = readerWord(readerIndex);
    this.#views = Array.from({ length: 2 ** VIEW_BITS }, () => nothing);
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
    return this.#finder.find(path, from);
  }

  state(handle: number): LinkState {
    return (this.#shape(handle) & SHAPE.gone) === 0 ? 'live' : 'gone';
  }

  codeNo(handle: number): number {
    return this.#finder.chunkOf(handle)[wordOf(handle) + ENTRY.codeNo]! >>> 0;
  }

  workspaceNo(handle: number): number {
    return this.#finder.chunkOf(handle)[wordOf(handle) + ENTRY.workspaceNo]! >>> 0;
  }

  /** Epoch milliseconds, 0 = never. */
  expiresAtMs(handle: number): number {
    const shape = this.#shape(handle);
    if ((shape & SHAPE.expires) === 0) return 0;
    const words = this.#finder.chunkOf(handle);
    const at = wordOf(handle) + expiryWord(shape);
    return words[at + 1]! * HIGH_WORD + (words[at]! >>> 0);
  }

  /** Scans that a limited code has left; -1 = no limit, 0 for a tombstone: its counter cell is freed. */
  scansLeft(handle: number): number {
    const shape = this.#shape(handle);
    if ((shape & SHAPE.gone) !== 0) return 0;
    if ((shape & SHAPE.limited) === 0) return -1;
    const cell = this.#finder.chunkOf(handle)[wordOf(handle) + limitWord(shape)]! >>> 0;
    return Math.max(0, Atomics.load(this.#finder.chunkOf(cell), wordOf(cell)));
  }

  /** Uses one of a limited code's scans; true when there was one, or when there is no limit. */
  takeScan(handle: number): boolean {
    const shape = this.#shape(handle);
    if ((shape & SHAPE.limited) === 0) return (shape & SHAPE.gone) === 0;
    if ((shape & SHAPE.gone) !== 0) return false;
    const cell = this.#finder.chunkOf(handle)[wordOf(handle) + limitWord(shape)]! >>> 0;
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

  /** The target's bytes, for a `Location` header; valid until `leave()`. Empty for a tombstone. */
  location(handle: number): Uint8Array {
    const shape = this.#shape(handle) & ~SHAPE.gone;
    const place = Math.imul(handle, 0x9e3779b1) >>> (32 - VIEW_BITS);
    if (this.#viewHandles[place] === (handle | 0) && this.#viewShapes[place] === shape) {
      return this.#views[place]!;
    }
    const begin = handle * UNIT_BYTES + targetWord(shape) * 4;
    const view = new Uint8Array(this.#arena, begin, targetBytes(shape));
    this.#viewHandles[place] = handle;
    this.#viewShapes[place] = shape;
    this.#views[place] = view;
    return view;
  }

  #shape(handle: number): number {
    return Atomics.load(this.#finder.chunkOf(handle), wordOf(handle) + ENTRY.shape);
  }
}

const nothing = new Uint8Array(0);
