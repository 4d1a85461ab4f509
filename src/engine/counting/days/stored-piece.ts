/** A stored piece of a day, read as far as a query needs: scans, counts, names, which are the larger part, scanners. */
import { dayMs, quarterMs } from '../../../model/day.ts';
import { type ChunkSource, Sketch } from '../../../model/sketch/sketch.ts';
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

  /** @param sketch undefined = skip scanners, which are most of the cost */
  addTo(rollup: Rollup, sketch: Sketch | undefined): void {
    const reader = this.#stored.rest();
    rollup.addStored(reader);
    sketch?.mergeParts(...this.#scanners(reader));
  }

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
