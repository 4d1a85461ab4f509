/**
 * Allocates blocks of the arena, for the writer alone: a bump pointer and one free list per block size.
 *
 * A freed block is reused for exactly its size before the arena grows, so the arena is bounded by the peak number of blocks
 * of each size. At its maximum it splits larger blocks. Blocks are never merged: the sizes of targets hardly change.
 *
 * The first word of a free block is the offset of the next one in its list. No block crosses the end of the memory that was
 * committed when it was made, so a view that holds its first word holds all of it.
 */
import { Failure } from '../../model/failure.ts';
import {
  blockUnitsMax,
  chunkUnitBits,
  chunkUnitMask,
  chunkUnits,
  unitBytes,
  viewArena,
} from './layout.ts';

/** The arena doubles, within these steps: one of 64 MiB takes microseconds, for pages come when touched. */
const growBytesMin = 1_048_576;
const growBytesMax = 67_108_864;

export class Arena {
  readonly #buffer: SharedArrayBuffer;
  #chunks: Int32Array[];
  #chunkBytes: Buffer[];
  #committedUnits: number;
  /** Offset 0 means none, so the first block is at 1. */
  #tailUnits = 1;
  #freeUnits = 0;
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

  get freeBytes(): number {
    return (this.#freeUnits + this.#committedUnits - this.#tailUnits) * unitBytes;
  }

  chunkOf(block: number): Int32Array {
    const chunk = this.#chunks[block >>> chunkUnitBits];
    if (chunk === undefined)
      throw new Error(`Cannot open block ${block}: arena of ${this.#committedUnits} units`);
    return chunk;
  }

  /** Writes ASCII at the block's word `word`: half the cost of packing characters into words. */
  writeAscii(block: number, word: number, text: string): void {
    const bytes = this.#chunkBytes[block >>> chunkUnitBits];
    bytes?.write(text, (block & chunkUnitMask) * unitBytes + word * 4, text.length, 'latin1');
  }

  writeBytes(block: number, word: number, from: Buffer, start: number, end: number): void {
    const bytes = this.#chunkBytes[block >>> chunkUnitBits];
    if (bytes !== undefined) {
      from.copy(bytes, (block & chunkUnitMask) * unitBytes + word * 4, start, end);
    }
  }

  /** @returns offset of a block with undefined contents @throws Failure `storage_full` */
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

  #hasTail(units: number): boolean {
    if (this.#tailUnits + units <= this.#committedUnits) return true;
    if (!this.#grow()) return false;
    return this.#tailUnits + units <= this.#committedUnits;
  }

  #grow(): boolean {
    const bytes = this.committedBytes;
    const chunkBytes = chunkUnits * unitBytes;
    const step = Math.min(Math.max(bytes, growBytesMin), growBytesMax);
    // Growth stops at a chunk's border, so no block crosses one.
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
