/**
 * Chunks of the sketches of many days, or months, of one counter. They are asked for in the order of their keys, so they are found
 * by one walk through them: a third of the time of looking up each. It begins with the first that is asked for: of days with few
 * visitors there are none.
 */
import { dataDamaged } from '../../model/failure.ts';
import type { CodeNo } from '../../model/numbers.ts';
import type { ValueWalk } from '../../store/environment.ts';
import { chunkKey, indexOfChunk, type ScanStore, spanOf } from '../../store/scans/scans.ts';

export class ChunkWalk {
  readonly #chunks: ScanStore['chunks'];
  readonly #codeNo: CodeNo;
  readonly #endSpan: number;
  #walk: ValueWalk<Uint8Array> | undefined;
  /** Where the walk stands; undefined = at its end. */
  #key: Uint8Array | undefined;
  #place = -1;

  /** @param endSpan excluded */
  constructor(chunks: ScanStore['chunks'], codeNo: CodeNo, endSpan: number) {
    this.#chunks = chunks;
    this.#codeNo = codeNo;
    this.#endSpan = endSpan;
  }

  /**
   * A chunk behind those that were asked for before. It is where it stands: it is to be copied, or united, at once.
   * @throws Failure data_damaged
   */
  find(span: number, index: number): Uint8Array | undefined {
    const wanted = placeOf(span, index);
    const stoodAt = this.#place;
    const walk = (this.#walk ??= this.#begin(span, index));
    while (this.#place < wanted) {
      this.#key = walk.next();
      this.#place = this.#key === undefined ? Infinity : placeOfKey(this.#key);
    }
    if (this.#key === undefined || this.#place > wanted) return undefined;
    // Where it stood before, other reads have overwritten what it had read.
    const value = stoodAt === wanted ? this.#chunks.getInPlace(this.#key) : walk.value;
    if (value === undefined) return undefined;
    if (!this.#chunks.isSound(this.#key, value)) {
      throw dataDamaged('A chunk of a sketch is damaged');
    }
    return value.content;
  }

  #begin(span: number, index: number): ValueWalk<Uint8Array> {
    const start = chunkKey(this.#codeNo, span, index);
    return this.#chunks.walkInPlace({ start, end: chunkKey(this.#codeNo, this.#endSpan, 0) });
  }

  close(): void {
    this.#walk?.close();
  }
}

const placeOf = (span: number, index: number): number => (span << 8) | index;
const placeOfKey = (key: Uint8Array): number => placeOf(spanOf(key), indexOfChunk(key));
