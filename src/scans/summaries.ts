/**
 * Summaries of a code, a day and a month, between memory and the store.
 *
 *   summary total, newest block, its newest day, rollup and sketch of each piece: one value holds all that a
 *           quiet code changes, so a checkpoint costs it one put
 *   day     a closed day: rollup and sketch of each piece (days/day.ts), in a record of its own
 *   month   mask of the days in it, their sum and union: a year is read as 12 months and two edges
 *
 * A sketch beyond 64 visitors lies in chunks of its own beside its record. A day closes when a newer one
 * begins. If scans of a closed day come late (midnight, clock steps), it is loaded, counted and closed
 * again: the month adds the new rollup and takes back the one it had; the sketches' union is idempotent.
 * A damaged month is rebuilt from its days; any other damaged record is refused.
 */
import { dayMs } from '../model/day.ts';
import { Sketch, type ChunkSource, sketchChunks } from '../model/sketch/sketch.ts';
import { dataDamaged, readOr } from '../model/failure.ts';
import {
  chunkKey,
  monthSpan,
  pieceOf,
  spanKey,
  spanOf,
  type ScanStore,
} from '../store/scans/scans.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import {
  createDay,
  type Day,
  type Piece,
  type Place,
  type Quarters,
  wholeDay,
} from './days/day.ts';
import { ChunkWalk } from './days/chunk-walk.ts';
import { StoredPiece } from './days/stored-piece.ts';
import { ZoneCuts } from './days/zone-cuts.ts';
import { FrozenCounters } from './frozen.ts';
import { monthNamesFactor, Rollup } from './rollup.ts';
import type { CodeNo, WorkspaceNo } from '../model/numbers.ts';

/** A whole day, or a month. */
const wholeFormat = 1;
/** A piece of a day; or a summary whose day has several. */
const piecesFormat = 2;
const writer = new ByteWriter();
/** Of a summary's pieces, each of which is written with its length. */
const pieceWriter = new ByteWriter();

export interface CodeSummary {
  readonly total: number;
  /** Sequence of the newest block with scans of this code; 0 = none. */
  readonly newestBlock: number;
  readonly newestDay: Day;
}

export interface Month {
  /** Bit n = the month's day n + 1 is in it. */
  readonly mask: number;
  readonly rollup: Rollup;
  readonly sketch: Sketch;
}

/** Months since January 1970, of a day number. */
export function monthOf(day: number): number {
  const date = new Date(day * dayMs);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}
const dayOfMonth = (day: number): number => new Date(day * dayMs).getUTCDate() - 1;
/** Day number of a month's first day. */
export const firstDayOf = (month: number): number =>
  Date.UTC(1970 + Math.floor(month / 12), month % 12, 1) / dayMs;

/** Undefined = only how often is asked, not who scanned. */
type MaybeSketch = Sketch | undefined;

/** Cities, and referer hosts, counted by name per code and day; the rest is `other`. */
export const namesPerDayMax = 100;

export class Summaries {
  readonly #store: ScanStore;
  readonly namesMax: number;
  readonly frozen: FrozenCounters;
  readonly #cuts: ZoneCuts;

  /** @param cuts of those who count; readers make no days */
  constructor(store: ScanStore, namesMax: number, cuts = new ZoneCuts()) {
    this.#store = store;
    this.namesMax = namesMax;
    this.frozen = new FrozenCounters(store);
    this.#cuts = cuts;
  }

  emptyDay(day: number, workspaceNo: WorkspaceNo): Day {
    return createDay(day, this.#cuts.of(workspaceNo, day), this.namesMax);
  }

  /** What is refused for one that is frozen. */
  #summaryOf(codeNo: CodeNo): Uint8Array | undefined {
    const bytes = this.#store.summaries.get(codeNo);
    if (bytes !== undefined) this.frozen.refuse(codeNo);
    return bytes;
  }

  summary(codeNo: CodeNo): CodeSummary | undefined {
    const bytes = this.#summaryOf(codeNo);
    if (bytes === undefined) return undefined;
    const { reader } = open(bytes);
    const total = reader.integer();
    const newestBlock = reader.integer();
    const stored = this.#piecesOfSummary(codeNo, bytes);
    const pieces = stored.map((piece) => piece.read(this.namesMax));
    return { total, newestBlock, newestDay: { day: stored[0].day, pieces } };
  }

  /** The lifetime total alone: the first number of the summary. */
  total(codeNo: CodeNo): number {
    const bytes = this.#summaryOf(codeNo);
    return bytes === undefined ? 0 : open(bytes).reader.integer();
  }

  closedDay(codeNo: CodeNo, day: number): Day | undefined {
    const pieces: Piece[] = [];
    this.eachClosedPiece(codeNo, day, day + 1, (piece) => pieces.push(piece.read(this.namesMax)));
    return pieces.length === 0 ? undefined : { day, pieces };
  }

  /**
   * Visits the stored pieces of the closed days of a range, in order: each where it stands, so that what is not asked of it costs
   * nothing. It is gone when the visit has ended.
   * @param endDay excluded
   * @returns how many there were
   * @throws Failure data_damaged
   */
  eachClosedPiece(
    codeNo: CodeNo,
    fromDay: number,
    endDay: number,
    visit: (piece: StoredPiece) => void,
  ): number {
    if (fromDay >= endDay) return 0;
    const { days } = this.#store;
    const chunks = new ChunkWalk(this.#store.chunks, codeNo, endDay);
    let count = 0;
    const range = { start: spanKey(codeNo, fromDay), end: spanKey(codeNo, endDay) };
    try {
      days.eachInPlace(range, (key, value) => {
        if (!days.isSound(key, value)) throw dataDamaged('A day is damaged on the disk');
        const { format, reader } = open(value.bytes, value.start, value.end);
        const quarters = format === piecesFormat ? readQuarters(reader) : wholeDay;
        const place = { day: spanOf(key), index: pieceOf(key), ...quarters };
        visit(
          new StoredPiece(place, reader, (index) =>
            chunks.find(place.day, chunkOfPiece(place, index)),
          ),
        );
        count++;
        return true;
      });
    } finally {
      chunks.close();
    }
    return count;
  }

  /** The stored pieces of the summary's day, in order; undefined when the code has no summary: then it has no days either. */
  newestPieces(codeNo: CodeNo): readonly StoredPiece[] | undefined {
    const bytes = this.#summaryOf(codeNo);
    return bytes === undefined ? undefined : this.#piecesOfSummary(codeNo, bytes);
  }

  #piecesOfSummary(codeNo: CodeNo, bytes: Uint8Array): [StoredPiece, ...StoredPiece[]] {
    const { format, reader } = open(bytes);
    reader.integer();
    reader.integer();
    const day = reader.integer();
    if (format === wholeFormat) {
      return [this.#piece(codeNo, { day, index: 0, ...wholeDay }, reader)];
    }
    const read = (index: number): StoredPiece =>
      this.#piece(codeNo, { day, index, ...readQuarters(reader) }, new ByteReader(reader.bytes()));
    const count = reader.byte();
    const first = read(0);
    return [first, ...Array.from({ length: count - 1 }, (_, at) => read(at + 1))];
  }

  #piece(codeNo: CodeNo, place: Place, stored: ByteReader): StoredPiece {
    return new StoredPiece(place, stored, (index) =>
      this.#chunk(chunkKey(codeNo, place.day, chunkOfPiece(place, index))),
    );
  }

  month(codeNo: CodeNo, month: number): Month | undefined {
    const bytes = this.#store.months.get(spanKey(codeNo, month));
    if (bytes === undefined) return undefined;
    const { reader } = open(bytes);
    const mask = reader.integer();
    const rollup = Rollup.read(reader, this.namesMax * monthNamesFactor);
    const hasChunks = reader.byte() === 1;
    const chunks = hasChunks ? this.#monthChunks(codeNo, month) : () => undefined;
    return { mask, rollup, sketch: Sketch.fromParts(reader.bytes(), chunks) };
  }

  /** Sequence of the newest block that the summary knows of; 0 = none. */
  newestBlock(codeNo: CodeNo): number {
    const bytes = this.#summaryOf(codeNo);
    if (bytes === undefined) return 0;
    const { reader } = open(bytes);
    reader.integer();
    return reader.integer();
  }

  /** Adds a stored month, its sketch straight from the bytes. */
  addMonth(
    codeNo: CodeNo,
    month: number,
    bytes: Uint8Array,
    rollup: Rollup,
    sketch: MaybeSketch,
  ): void {
    const { reader } = open(bytes);
    reader.integer();
    rollup.addStored(reader);
    if (sketch === undefined) return;
    const hasChunks = reader.byte() === 1;
    const chunks = hasChunks ? this.#monthChunks(codeNo, month) : () => undefined;
    sketch.mergeParts(reader.bytes(), chunks);
  }

  /** Scans of a stored month. */
  monthScans(bytes: Uint8Array): number {
    const { reader } = open(bytes);
    reader.integer();
    return reader.integer();
  }

  putSummary(codeNo: CodeNo, summary: CodeSummary): void {
    const { day, pieces } = summary.newestDay;
    const isWhole = pieces.length === 1;
    writer.begin(isWhole ? wholeFormat : piecesFormat);
    writer.integer(summary.total);
    writer.integer(summary.newestBlock);
    writer.integer(day);
    if (!isWhole) writer.byte(pieces.length);
    for (const piece of pieces) {
      if (isWhole) this.#writePiece(writer, codeNo, piece);
      else {
        pieceWriter.clear();
        this.#writePiece(pieceWriter, codeNo, piece);
        writeQuarters(piece);
        writer.bytes(pieceWriter.take());
      }
    }
    this.#store.summaries.put(codeNo, writer.take());
  }

  /** Writes a day that is no longer the newest, and brings its month up to date. */
  closeDay(codeNo: CodeNo, day: Day): void {
    const monthNumber = monthOf(day.day);
    const bit = 2 ** dayOfMonth(day.day);
    const month = this.#monthToChange(codeNo, monthNumber);
    const isKnown = Math.floor(month.mask / bit) % 2 === 1;
    const before = isKnown ? this.closedDay(codeNo, day.day) : undefined;
    for (const { rollup } of before?.pieces ?? []) month.rollup.merge(rollup, -1);
    for (const piece of day.pieces) {
      month.rollup.merge(piece.rollup);
      month.sketch.merge(piece.sketch);
      writer.begin(day.pieces.length === 1 ? wholeFormat : piecesFormat);
      if (day.pieces.length > 1) writeQuarters(piece);
      this.#writePiece(writer, codeNo, piece);
      this.#store.days.put(spanKey(codeNo, day.day, piece.index), writer.take());
    }
    writer.begin(wholeFormat);
    writer.integer(isKnown ? month.mask : month.mask + bit);
    month.rollup.write(writer);
    this.#writeSketch(writer, month.sketch, (index) =>
      chunkKey(codeNo, monthSpan(monthNumber), index),
    );
    this.#store.months.put(spanKey(codeNo, monthNumber), writer.take());
  }

  #monthToChange(codeNo: CodeNo, month: number): Month {
    const known = readOr(() => this.month(codeNo, month), undefined);
    return known ?? this.#monthOfDays(codeNo, month);
  }

  /** A month made of its closed days, as it was made first. */
  #monthOfDays(codeNo: CodeNo, month: number): Month {
    const rollup = new Rollup(this.namesMax * monthNamesFactor);
    const sketch = Sketch.empty();
    const days = new Set<number>();
    this.eachClosedPiece(codeNo, firstDayOf(month), firstDayOf(month + 1), (piece) => {
      piece.addTo(rollup, sketch);
      days.add(piece.day);
    });
    let mask = 0;
    for (const day of days) mask += 2 ** dayOfMonth(day);
    return { mask, rollup, sketch };
  }

  #monthChunks(codeNo: CodeNo, month: number): ChunkSource {
    return (index) => this.#chunk(chunkKey(codeNo, monthSpan(month), index));
  }

  /** Where it stands, for it is copied or united at once: a year has a thousand of 1 KB. */
  #chunk(key: Uint8Array): Uint8Array | undefined {
    const { chunks } = this.#store;
    const found = chunks.getInPlace(key);
    if (found === undefined) return undefined;
    if (!chunks.isSound(key, found)) throw dataDamaged('A chunk of a sketch is damaged');
    return found.content;
  }

  #writePiece(to: ByteWriter, codeNo: CodeNo, piece: Piece): void {
    piece.rollup.write(to);
    this.#writeSketch(to, piece.sketch, (index) =>
      chunkKey(codeNo, piece.day, chunkOfPiece(piece, index)),
    );
  }

  /** Writes the record's part, and the chunks that changed into their table. */
  #writeSketch(to: ByteWriter, sketch: Sketch, keyOf: (index: number) => Uint8Array): void {
    to.byte(sketch.isInline() ? 0 : 1);
    to.bytes(sketch.inlineBytes());
    for (const index of sketch.dirtyChunks()) {
      this.#store.chunks.put(keyOf(index), sketch.chunkBytes(index));
    }
  }
}

/** Which of a day's chunks it is. */
const chunkOfPiece = (piece: Place, index: number): number => piece.index * sketchChunks + index;

function writeQuarters({ fromQuarter, endQuarter }: Quarters): void {
  writer.byte(fromQuarter);
  writer.byte(endQuarter);
}

function readQuarters(reader: ByteReader): Quarters {
  return { fromQuarter: reader.byte(), endQuarter: reader.byte() };
}

function open(
  bytes: Uint8Array,
  start = 0,
  end = bytes.length,
): { readonly format: number; readonly reader: ByteReader } {
  const reader = new ByteReader(bytes, start, end);
  const format = reader.byte();
  if (format !== wholeFormat && format !== piecesFormat) {
    throw dataDamaged(`Cannot read summary: format ${format}, expected ${piecesFormat} at most`);
  }
  return { format, reader };
}
