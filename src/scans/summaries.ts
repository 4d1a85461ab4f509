/**
 * Stores summaries of a code, a day and a month.
 *
 *   summary total, newest block, its newest day with the rollup and sketch of each piece: one value has all that a
 *           quiet code changes, so a checkpoint costs it one put
 *   day     a closed day: rollup and sketch of each piece (days/day.ts), one record each
 *   month   mask of its days, their sum and union: a year is read as 12 months and two edges
 *
 * A sketch of more than 64 visitors has chunks in a separate table. A day closes when a newer one begins. If scans of a
 * closed day come late (midnight, clock steps), it is loaded, counted and closed again: the month subtracts the day's old
 * rollup and adds the new one; the union of sketches is idempotent. A damaged month is rebuilt from its days; any other
 * damaged record is refused.
 */
import { partitionOf } from '../model/code.ts';
import { dayMs } from '../model/day.ts';
import { Sketch, type ChunkSource, sketchChunks } from '../model/sketch/sketch.ts';
import { dataDamaged, readOr } from '../model/failure.ts';
import {
  chunkKey,
  counterKindOf,
  monthSpan,
  pieceOf,
  readCheckpoints,
  spanKey,
  spanOf,
  type ScanStore,
} from '../store/scans/scans.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import {
  createDay,
  type Day,
  type Piece,
  type DayPiece,
  type Quarters,
  quartersPerDay,
} from './days/day.ts';
import { ChunkWalk, StoredPiece } from './days/stored-piece.ts';
import { ZoneCuts } from './days/zone-cuts.ts';
import { monthNamesFactor, Rollup } from './rollup.ts';
import type { CodeNo, WorkspaceNo } from '../model/numbers.ts';

const format = 1;
const writer = new ByteWriter();
/** For a summary's pieces, each written with its length. */
const pieceWriter = new ByteWriter();

export interface CodeSummary {
  readonly total: number;
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

/** Cities and referer hosts counted by name per code and day; the rest is `other`. */
export const namesPerDayMax = 100;

export class Summaries {
  readonly #store: ScanStore;
  readonly namesMax: number;
  readonly #cuts: ZoneCuts;

  /** @param cuts for shards; readers create no days */
  constructor(store: ScanStore, namesMax: number, cuts = new ZoneCuts()) {
    this.#store = store;
    this.namesMax = namesMax;
    this.#cuts = cuts;
  }

  emptyDay(day: number, workspaceNo: WorkspaceNo): Day {
    return createDay(day, this.#cuts.of(workspaceNo, day), this.namesMax);
  }

  /**
   * Freezes a counter, a code or a workspace's sums, with a damaged record: an actor cannot add to a record that it
   * cannot read. It writes nothing more, its numbers are refused, and all other counters continue. Call inside the
   * checkpoint's transaction, before the checkpoint moves.
   *
   *   actor meets damage --> frozen in memory --checkpoint--> row: the checkpoint that its records have
   *
   * Until that row is stored, the records and the blocks since are complete, except for the damaged record, which
   * refuses itself. From then on the records lack scans, so all of them are refused. The scans stay in their blocks
   * while raw scans are kept.
   */
  freeze(counter: CodeNo): void {
    if (this.isFrozen(counter)) return;
    const checkpoints = readCheckpoints(this.#store, counterKindOf(counter));
    this.#store.frozen.put(counter, checkpoints[partitionOf(counter)]!);
  }

  isFrozen(counter: CodeNo): boolean {
    return this.#store.frozen.has(counter);
  }

  /** @throws Failure data_damaged for a frozen counter */
  #summaryOf(codeNo: CodeNo): Uint8Array | undefined {
    const bytes = this.#store.summaries.get(codeNo);
    if (bytes !== undefined && this.isFrozen(codeNo)) {
      throw dataDamaged('The numbers of this code cannot be read');
    }
    return bytes;
  }

  summary(codeNo: CodeNo): CodeSummary | undefined {
    const bytes = this.#summaryOf(codeNo);
    if (bytes === undefined) return undefined;
    const reader = open(bytes);
    const total = reader.integer();
    const newestBlock = reader.integer();
    const stored = this.#piecesOfSummary(codeNo, bytes);
    const pieces = stored.map((piece) => piece.read(this.namesMax));
    return { total, newestBlock, newestDay: { day: stored[0].day, pieces } };
  }

  total(codeNo: CodeNo): number {
    const bytes = this.#summaryOf(codeNo);
    return bytes === undefined ? 0 : open(bytes).integer();
  }

  closedDay(codeNo: CodeNo, day: number): Day | undefined {
    const pieces: Piece[] = [];
    for (const piece of this.closedPieces(codeNo, day, day + 1)) {
      pieces.push(piece.read(this.namesMax));
    }
    return pieces.length === 0 ? undefined : { day, pieces };
  }

  /**
   * The stored pieces of the closed days of a range, in order, read in place: a piece is invalid once the next one is asked
   * for.
   * @param endDay excluded
   * @throws Failure data_damaged
   */
  *closedPieces(codeNo: CodeNo, fromDay: number, endDay: number): Generator<StoredPiece> {
    if (fromDay >= endDay) return;
    const { days } = this.#store;
    const chunks = new ChunkWalk(this.#store.chunks, codeNo, endDay);
    const walk = days.walkInPlace({
      start: spanKey(codeNo, fromDay),
      end: spanKey(codeNo, endDay),
    });
    try {
      for (let key = walk.next(); key !== undefined; key = walk.next()) {
        const { value } = walk;
        if (!days.isSound(key, value)) throw dataDamaged('A day is damaged on the disk');
        const reader = open(value.bytes, value.start, value.end);
        const dayPiece = { day: spanOf(key), index: pieceOf(key), ...readQuarters(reader) };
        yield new StoredPiece(dayPiece, reader, (index) =>
          chunks.find(dayPiece.day, chunkOfPiece(dayPiece, index)),
        );
      }
    } finally {
      walk.close();
      chunks.close();
    }
  }

  /** The stored months of a range, each as one piece without times. @throws Failure data_damaged */
  monthPieces(codeNo: CodeNo, firstMonth: number, endMonth: number): StoredPiece[] {
    const range = { start: spanKey(codeNo, firstMonth), end: spanKey(codeNo, endMonth) };
    return Array.from(this.#store.months.range(range), ({ key, value }) => {
      const month = spanOf(key);
      const day = firstDayOf(month);
      const endQuarter = (firstDayOf(month + 1) - day) * quartersPerDay;
      const reader = open(value);
      reader.integer();
      const dayPiece = { day, index: 0, fromQuarter: 0, endQuarter };
      return new StoredPiece(dayPiece, reader, this.#monthChunks(codeNo, month));
    });
  }

  /** The stored pieces of the summary's day, in order; undefined = no summary, so the code has no days either. */
  newestPieces(codeNo: CodeNo): readonly StoredPiece[] | undefined {
    const bytes = this.#summaryOf(codeNo);
    return bytes === undefined ? undefined : this.#piecesOfSummary(codeNo, bytes);
  }

  #piecesOfSummary(codeNo: CodeNo, bytes: Uint8Array): [StoredPiece, ...StoredPiece[]] {
    const reader = open(bytes);
    reader.integer();
    reader.integer();
    const day = reader.integer();
    const read = (index: number): StoredPiece =>
      this.#piece(codeNo, { day, index, ...readQuarters(reader) }, new ByteReader(reader.bytes()));
    const count = reader.byte();
    const first = read(0);
    return [first, ...Array.from({ length: count - 1 }, (_, at) => read(at + 1))];
  }

  #piece(codeNo: CodeNo, dayPiece: DayPiece, stored: ByteReader): StoredPiece {
    return new StoredPiece(dayPiece, stored, (index) =>
      this.#chunk(chunkKey(codeNo, dayPiece.day, chunkOfPiece(dayPiece, index))),
    );
  }

  month(codeNo: CodeNo, month: number): Month | undefined {
    const bytes = this.#store.months.get(spanKey(codeNo, month));
    if (bytes === undefined) return undefined;
    const reader = open(bytes);
    const mask = reader.integer();
    const rollup = Rollup.read(reader, this.namesMax * monthNamesFactor);
    const hasChunks = reader.byte() === 1;
    const chunks = hasChunks ? this.#monthChunks(codeNo, month) : () => undefined;
    return { mask, rollup, sketch: Sketch.fromParts(reader.bytes(), chunks) };
  }

  newestBlock(codeNo: CodeNo): number {
    const bytes = this.#summaryOf(codeNo);
    if (bytes === undefined) return 0;
    const reader = open(bytes);
    reader.integer();
    return reader.integer();
  }

  putSummary(codeNo: CodeNo, summary: CodeSummary): void {
    const { day, pieces } = summary.newestDay;
    writer.begin(format);
    writer.integer(summary.total);
    writer.integer(summary.newestBlock);
    writer.integer(day);
    writer.byte(pieces.length);
    for (const piece of pieces) {
      pieceWriter.clear();
      this.#writePiece(pieceWriter, codeNo, piece);
      writeQuarters(piece);
      writer.bytes(pieceWriter.take());
    }
    this.#store.summaries.put(codeNo, writer.take());
  }

  /** Writes a day that is not the newest any more, and updates its month. */
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
      writer.begin(format);
      writeQuarters(piece);
      this.#writePiece(writer, codeNo, piece);
      this.#store.days.put(spanKey(codeNo, day.day, piece.index), writer.take());
    }
    writer.begin(format);
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

  #monthOfDays(codeNo: CodeNo, month: number): Month {
    const rollup = new Rollup(this.namesMax * monthNamesFactor);
    const sketch = Sketch.empty();
    const days = new Set<number>();
    for (const piece of this.closedPieces(codeNo, firstDayOf(month), firstDayOf(month + 1))) {
      piece.addTo(rollup, sketch);
      days.add(piece.day);
    }
    let mask = 0;
    for (const day of days) mask += 2 ** dayOfMonth(day);
    return { mask, rollup, sketch };
  }

  #monthChunks(codeNo: CodeNo, month: number): ChunkSource {
    return (index) => this.#chunk(chunkKey(codeNo, monthSpan(month), index));
  }

  /** Read in place, because it is copied or united at once: a year has a thousand of 1 KB. */
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

  #writeSketch(to: ByteWriter, sketch: Sketch, keyOf: (index: number) => Uint8Array): void {
    to.byte(sketch.isInline() ? 0 : 1);
    to.bytes(sketch.inlineBytes());
    for (const index of sketch.dirtyChunks()) {
      this.#store.chunks.put(keyOf(index), sketch.chunkBytes(index));
    }
  }
}

const chunkOfPiece = (piece: DayPiece, index: number): number => piece.index * sketchChunks + index;

function writeQuarters({ fromQuarter, endQuarter }: Quarters): void {
  writer.byte(fromQuarter);
  writer.byte(endQuarter);
}

function readQuarters(reader: ByteReader): Quarters {
  return { fromQuarter: reader.byte(), endQuarter: reader.byte() };
}

function open(bytes: Uint8Array, start = 0, end = bytes.length): ByteReader {
  const reader = new ByteReader(bytes, start, end);
  const found = reader.byte();
  if (found !== format)
    throw dataDamaged(`Cannot read summary: format ${found}, expected ${format}`);
  return reader;
}
