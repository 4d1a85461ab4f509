/**
 * Blocks of the arena, for the writer alone: a bump pointer and one free list for every block size.
 *
 * A freed block is used again for exactly its size before the arena grows, so the arena never holds
 * more than the sum, over the sizes, of the most blocks of that size that were in use at once:
 * endless changes of one code, or of a million, reach a plateau. Only when the arena is at its bound
 * are larger blocks split; that spends the large ones, but nothing is ever refused while a block
 * that is large enough is free. Blocks are not merged again: the sizes of targets hardly move.
 *
 * A free block's first word is the offset of the next one in its list. No block crosses the end of
 * the memory committed when it was made: a view that holds a block's first word holds all of it.
 */
import { Failure } from '../model/failure.ts';
import {
  blockUnitsMax,
  chunkUnitBits,
  chunkUnitMask,
  chunkUnits,
  unitBytes,
  viewArena,
} from './layout.ts';

/** Growth is the arena's own size within these: one 64 MiB step takes microseconds, pages come when touched. */
const growBytesMin = 1_048_576;
const growBytesMax = 67_108_864;

export class Arena {
  readonly #buffer: SharedArrayBuffer;
  #chunks: Int32Array[];
  /** The same chunks as bytes. */
  #chunkBytes: Buffer[];
  #committedUnits: number;
  /** Unit 0 is no block: offset 0 means none. */
  #tailUnits = 1;
  #freeUnits = 0;
  /** Heads of the free lists, by units. */
  readonly #heads = new Int32Array(blockUnitsMax + 1);

  constructor(buffer: SharedArrayBuffer) {
    this.#buffer = buffer;
    const { chunks, units } = viewArena(buffer, []);
    this.#chunks = chunks;
    this.#chunkBytes = asBytes(chunks);
    this.#committedUnits = units;
  }

  get committedBytes(): number {
    return this.#committedUnits * unitBytes;
  }

  /** Bytes that can be given out before the arena grows, in blocks of whatever size they have. */
  get freeBytes(): number {
    return (this.#freeUnits + this.#committedUnits - this.#tailUnits) * unitBytes;
  }

  /** The chunk that holds a block. */
  chunkOf(block: number): Int32Array {
    const chunk = this.#chunks[block >>> chunkUnitBits];
    if (chunk === undefined)
      throw new Error(`Cannot open block ${block}: arena of ${this.#committedUnits} units`);
    return chunk;
  }

  /** Writes ASCII from the block's word `word` on: half the cost of packing characters into words. */
  writeAscii(block: number, word: number, text: string): void {
    const bytes = this.#chunkBytes[block >>> chunkUnitBits];
    bytes?.write(text, (block & chunkUnitMask) * unitBytes + word * 4, text.length, 'latin1');
  }

  /** The same from bytes that are ASCII already. */
  writeBytes(block: number, word: number, from: Buffer, start: number, end: number): void {
    const bytes = this.#chunkBytes[block >>> chunkUnitBits];
    if (bytes !== undefined) {
      from.copy(bytes, (block & chunkUnitMask) * unitBytes + word * 4, start, end);
    }
  }

  /**
   * @returns offset of a block of so many units, contents undefined
   * @throws Failure `storage_full` when the arena is at its bound and no free block is large enough
   */
  allocate(units: number): number {
    if (this.#heads[units] !== 0) return this.#pop(units);
    if (this.#hasTail(units)) {
      const block = this.#tailUnits;
      this.#tailUnits += units;
      return block;
    }
    for (let larger = units + 1; larger <= blockUnitsMax; larger += 1) {
      if (this.#heads[larger] === 0) continue;
      const block = this.#pop(larger);
      this.release(block + units, larger - units);
      return block;
    }
    throw new Failure(
      'storage_full',
      `Cannot store the link: all ${this.#buffer.maxByteLength} bytes for links are in use`,
    );
  }

  /** Takes a block back that no reader can see any more. */
  release(block: number, units: number): void {
    this.chunkOf(block)[(block & chunkUnitMask) << 1] = this.#heads[units]!;
    this.#heads[units] = block;
    this.#freeUnits += units;
  }

  #pop(units: number): number {
    const block = this.#heads[units]! >>> 0;
    this.#heads[units] = this.chunkOf(block)[(block & chunkUnitMask) << 1]!;
    this.#freeUnits -= units;
    return block;
  }

  /** Makes sure that so many units lie behind the tail, in one chunk and in one piece. */
  #hasTail(units: number): boolean {
    if (this.#tailUnits + units <= this.#committedUnits) return true;
    if (!this.#grow()) return false;
    return this.#tailUnits + units <= this.#committedUnits;
  }

  #grow(): boolean {
    const bytes = this.committedBytes;
    const chunkBytes = chunkUnits * unitBytes;
    const step = Math.min(Math.max(bytes, growBytesMin), growBytesMax);
    // Ends on a chunk's border instead of crossing it, so the border is always an end of growth too.
    const border = (Math.floor(bytes / chunkBytes) + 1) * chunkBytes;
    const wanted = Math.min(bytes + step, border, this.#buffer.maxByteLength);
    if (wanted === bytes) return false;
    try {
      this.#buffer.grow(wanted);
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
    const rest = this.#committedUnits - this.#tailUnits;
    if (rest > 0) this.release(this.#tailUnits, rest);
    this.#tailUnits = this.#committedUnits;
    const { chunks, units } = viewArena(this.#buffer, this.#chunks);
    this.#chunks = chunks;
    this.#chunkBytes = asBytes(chunks);
    this.#committedUnits = units;
    return true;
  }
}

function asBytes(chunks: readonly Int32Array[]): Buffer[] {
  return chunks.map(({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength),
  );
}
