/**
 * A stored piece of a day, read only as far as a query needs: first its scans, then counts, then names, which are the larger
 * part, and scanners last.
 */
import { dayMs, quarterMs } from '../../model/day.ts';
import { type ChunkSource, Sketch } from '../../model/sketch/sketch.ts';
import { dataDamaged } from '../../model/failure.ts';
import type { CodeNo } from '../../model/numbers.ts';
import type { ValueWalk } from '../../store/environment.ts';
import { chunkKey, indexOfChunk, type ScanStore, spanOf } from '../../store/scans/scans.ts';
import type { ByteReader } from '../bytes.ts';
import { Rollup } from '../rollup.ts';
import { createPiece, type Piece, type DayPiece, timesOfQuarters } from './day.ts';

/** Scans of the quarter of an hour that begins at a time, epoch ms. */
export type VisitQuarter = (fromMs: number, scans: number) => void;

export interface Timed {
  readonly fromMs: number;
  readonly endMs: number;
  readonly scans: number;
  eachQuarter(visit: VisitQuarter): void;
}

export class StoredPiece implements Timed {
  readonly #dayPiece: DayPiece;
  readonly fromMs: number;
  readonly endMs: number;
  readonly #stored: ByteReader;
  readonly #chunks: ChunkSource;

  /** @param stored starts at the rollup */
  constructor(dayPiece: DayPiece, stored: ByteReader, chunks: ChunkSource) {
    const { fromMs, endMs } = timesOfQuarters(dayPiece.day, dayPiece);
    this.#dayPiece = dayPiece;
    this.fromMs = fromMs;
    this.endMs = endMs;
    this.#stored = stored;
    this.#chunks = chunks;
  }

  get day(): number {
    return this.#dayPiece.day;
  }

  get scans(): number {
    return this.#stored.rest().integer();
  }

  eachQuarter(visit: VisitQuarter): void {
    const startMs = this.day * dayMs;
    Rollup.eachQuarter(this.#stored.rest(), (quarter, count) =>
      visit(startMs + quarter * quarterMs, count),
    );
  }

  /** Without its names. */
  counts(): Rollup {
    return Rollup.readCounts(this.#stored.rest(), 0);
  }

  /**
   * Call no other method afterwards: reading chunks overwrites the piece.
   * @param sketch undefined = skip scanners, which are most of the cost
   */
  addTo(rollup: Rollup, sketch: Sketch | undefined): void {
    const reader = this.#stored.rest();
    rollup.addStored(reader);
    sketch?.mergeParts(...this.#scanners(reader));
  }

  /** As for `addTo`: call no other method afterwards. */
  read(namesMax: number): Piece {
    const reader = this.#stored.rest();
    const rollup = Rollup.read(reader, namesMax);
    return createPiece(this.#dayPiece, rollup, Sketch.fromParts(...this.#scanners(reader)));
  }

  #scanners(reader: ByteReader): [inline: Uint8Array, chunks: ChunkSource] {
    const hasChunks = reader.byte() === 1;
    return [reader.bytes(), hasChunks ? this.#chunks : () => undefined];
  }
}

/**
 * Finds the sketch chunks of many days, or months, of one counter. Requests come in key order, so one walk serves them in a
 * third of the time of single look-ups. It starts with the first request: days with few visitors have no chunks.
 */
export class ChunkWalk {
  readonly #chunks: ScanStore['chunks'];
  readonly #codeNo: CodeNo;
  readonly #endSpan: number;
  #walk: ValueWalk<Uint8Array> | undefined;
  /** Current key; undefined = at the end. */
  #key: Uint8Array | undefined;
  #position = -1;

  /** @param endSpan excluded */
  constructor(chunks: ScanStore['chunks'], codeNo: CodeNo, endSpan: number) {
    this.#chunks = chunks;
    this.#codeNo = codeNo;
    this.#endSpan = endSpan;
  }

  /**
   * Finds a chunk after those asked for before. The result is a view: copy or unite it at once.
   * @throws Failure data_damaged
   */
  find(span: number, index: number): Uint8Array | undefined {
    const wanted = positionOf(span, index);
    const stoodAt = this.#position;
    const walk = (this.#walk ??= this.#begin(span, index));
    while (this.#position < wanted) {
      this.#key = walk.next();
      this.#position = this.#key === undefined ? Infinity : positionOfKey(this.#key);
    }
    if (this.#key === undefined || this.#position > wanted) return undefined;
    // Other reads have overwritten what an earlier call read.
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

const positionOf = (span: number, index: number): number => (span << 8) | index;
const positionOfKey = (key: Uint8Array): number => positionOf(spanOf(key), indexOfChunk(key));
