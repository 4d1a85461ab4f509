/**
 * Finds the entry of a key: the hot path of a redirect, shared by reader and writer. A hit touches two
 * cache lines: the slot line, and the entry's header and key. A miss touches slots only.
 *
 * Memory order. The writer completes entry and tag, then stores the slot's offset with `Atomics.store`. A finder loads
 * the generations word with `Atomics.load`, then the offset, then tag and entry. The offset is a plain load (V8 calls a
 * function for an atomic one, and a line holds eight): old or new, it leads to a complete entry. Tags never change, an
 * offset changes only from one entry of its key to the next, and slots are never emptied.
 *
 * While the table grows, the previous generation keeps all of its keys until the move ends: a key is in one of the two.
 * Every look-up loads the generations word, so one that begins after a change has returned sees that change.
 */
import { asMisread, FoldedKey } from './key.ts';
import {
  chunkUnitBits,
  chunkUnitMask,
  controlWord,
  entryWord,
  type LinkTableMemory,
  shapeBit,
  viewArena,
  viewGeneration,
} from './layout.ts';

export class Finder {
  readonly #memory: LinkTableMemory;
  readonly #control: Int32Array;
  readonly #firstBits: number;
  readonly #key: FoldedKey;
  #generations = -1;
  #newest: Int32Array;
  #older: Int32Array | undefined;
  #chunks: Int32Array[] = [];
  #arenaUnits = 0;

  constructor(memory: LinkTableMemory) {
    this.#memory = memory;
    this.#control = new Int32Array(memory.control);
    this.#firstBits = this.#control[controlWord.firstGenerationBits]!;
    this.#key = new FoldedKey(
      this.#control[controlWord.hashSeedLow]!,
      this.#control[controlWord.hashSeedHigh]!,
    );
    this.#newest = viewGeneration(memory.slots, this.#firstBits, 0);
    this.#openArena();
  }

  /** The key folded last, by `find` or by `findKey`. */
  get key(): FoldedKey {
    return this.#key;
  }

  /** The entry of the code in `path` from index `from`, or of its look-alike; 0 = none. */
  find(path: string, from: number): number {
    const key = this.#key;
    if (!key.fold(path, from)) return 0;
    const handle = this.#search();
    if (handle !== 0 || !key.mayBeMisread) return handle;
    key.fold(path, from, asMisread);
    return this.#search();
  }

  /** The entry of this key, in any case; 0 = none. @throws Error when it cannot be a key */
  findKey(key: string): number {
    if (!this.#key.fold(key, 0)) {
      throw new Error(
        `Cannot look up a link: key of ${key.length} characters, expected 1 to 64 of A-Z 0-9 - _ /`,
      );
    }
    return this.#search();
  }

  /** The chunk that holds an entry, whose words begin at `wordOf(handle)`. */
  chunkOf(handle: number): Int32Array {
    if (handle >>> 0 >= this.#arenaUnits) this.#openArena();
    const chunk = this.#chunks[handle >>> chunkUnitBits];
    if (chunk === undefined)
      throw new Error(`Cannot read a link: handle ${handle}, expected one that find returned`);
    return chunk;
  }

  #search(): number {
    const generations = Atomics.load(this.#control, controlWord.generations);
    if (generations !== this.#generations) this.#openSlots(generations);
    const handle = this.#probe(this.#newest);
    if (handle !== 0 || this.#older === undefined) return handle;
    return this.#probe(this.#older);
  }

  #probe(slots: Int32Array): number {
    const tag = this.#key.tag;
    const lineMask = (slots.length >>> 4) - 1;
    const start = tag >>> 29;
    let line = tag & lineMask;
    for (;;) {
      const base = line << 4;
      for (let i = start; i < start + 8; i += 1) {
        const at = base | ((i & 7) << 1);
        const offset = slots[at + 1]!;
        if (offset === 0) return 0;
        if (slots[at] === tag && this.#holdsKey(offset)) return offset >>> 0;
      }
      line = (line + 1) & lineMask;
    }
  }

  #holdsKey(offset: number): boolean {
    if (offset >>> 0 >= this.#arenaUnits) this.#openArena();
    const words = this.#chunks[offset >>> chunkUnitBits]!;
    const at = wordOf(offset);
    const key = this.#key;
    const length = key.length;
    if ((words[at + entryWord.shape]! & shapeBit.keyBytesMask) !== length) return false;
    const keyWords = key.words;
    const count = (length + 3) >>> 2;
    for (let i = 0; i < count; i += 1) {
      if (words[at + entryWord.key + i] !== keyWords[i]) return false;
    }
    return true;
  }

  #openSlots(generations: number): void {
    const { slots } = this.#memory;
    const newest = generations >>> 1;
    this.#newest = viewGeneration(slots, this.#firstBits, newest);
    this.#older =
      (generations & 1) === 0 ? undefined : viewGeneration(slots, this.#firstBits, newest - 1);
    this.#generations = generations;
  }

  #openArena(): void {
    const { chunks, units } = viewArena(this.#memory.arena, this.#chunks);
    this.#chunks = chunks;
    this.#arenaUnits = units;
  }
}

export function wordOf(handle: number): number {
  return (handle & chunkUnitMask) << 1;
}
