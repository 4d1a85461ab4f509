/**
 * A piece of a day as it is stored, read as far as a question needs: its scans are the first number, times stand before the
 * names, which are the larger part, and scanners come last.
 */
import { dayMs, hourMs, quarterMs } from '../../model/day.ts';
import { type ChunkSource, Sketch } from '../../model/sketch/sketch.ts';
import type { ByteReader } from '../bytes.ts';
import { Dimension, Rollup } from '../rollup.ts';
import { createPiece, type Piece, type Place, stretchOfQuarters } from './day.ts';

/** Scans of a stretch of time, epoch ms, the end excluded: a quarter of an hour, or an hour of days counted long ago. */
export type VisitTime = (fromMs: number, endMs: number, scans: number) => void;

/** Something that was counted in a stretch of time. */
export interface Timed {
  readonly fromMs: number;
  readonly endMs: number;
  readonly scans: number;
  /** By quarter, or by hour where it is not known better. */
  eachTime(visit: VisitTime): void;
}

export class StoredPiece implements Timed {
  readonly #place: Place;
  readonly fromMs: number;
  readonly endMs: number;
  readonly #stored: ByteReader;
  readonly #chunks: ChunkSource;

  /** @param stored from the rollup on */
  constructor(place: Place, stored: ByteReader, chunks: ChunkSource) {
    const { fromMs, endMs } = stretchOfQuarters(place.day, place);
    this.#place = place;
    this.fromMs = fromMs;
    this.endMs = endMs;
    this.#stored = stored;
    this.#chunks = chunks;
  }

  get day(): number {
    return this.#place.day;
  }

  get scans(): number {
    return this.#stored.rest().integer();
  }

  eachTime(visit: VisitTime): void {
    const startMs = this.day * dayMs;
    Rollup.eachTime(this.#stored.rest(), (dimension, value, count) => {
      const stepMs = dimension === Dimension.quarter ? quarterMs : hourMs;
      visit(startMs + value * stepMs, startMs + (value + 1) * stepMs, count);
    });
  }

  /** Without its names. */
  counts(): Rollup {
    return Rollup.readCounts(this.#stored.rest(), 0);
  }

  /**
   * The last that may be asked of it: chunks are read to where it stood.
   * @param sketch undefined = scanners are not asked for, which are most of the cost
   */
  addTo(rollup: Rollup, sketch: Sketch | undefined): void {
    const reader = this.#stored.rest();
    rollup.addStored(reader);
    sketch?.mergeParts(...this.#scanners(reader));
  }

  /** The last that may be asked of it, too. */
  read(namesMax: number): Piece {
    const reader = this.#stored.rest();
    const rollup = Rollup.read(reader, namesMax);
    return createPiece(this.#place, rollup, Sketch.fromParts(...this.#scanners(reader)));
  }

  /** Whether it has chunks, then what stands inline. */
  #scanners(reader: ByteReader): [inline: Uint8Array, chunks: ChunkSource] {
    const hasChunks = reader.byte() === 1;
    return [reader.bytes(), hasChunks ? this.#chunks : () => undefined];
  }
}
