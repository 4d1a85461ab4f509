/**
 * Stores summaries of a code, a day and a month.
 *
 *   summary total, newest block, its newest day with the rollup and sketch of each piece: one value has all that a
 *           quiet code changes, so a checkpoint costs it one put
 *   day     a closed day: rollup and sketch of each piece (days/day.ts), one record each
 *   month   mask of its days, their sum and union: a year is read as 12 months and two edges
 *
 * A sketch of more than 64 visitors has chunks in a table of their own. A day closes when a newer one begins. For late scans
 * (midnight, clock steps) it is loaded, counted and closed again: the month subtracts its old rollup and adds the new one.
 * A damaged month is rebuilt from its days; any other damaged record is refused.
 */
import { partitionOf } from '../../model/code.ts';
import { dayMs } from '../../model/day.ts';
import { Sketch, sketchChunks } from '../../model/sketch/sketch.ts';
import { dataDamaged, readOr } from '../../model/failure.ts';
import {
  chunkKey,
  counterKindOf,
  monthSpan,
  pieceOf,
  readCheckpoints,
  spanKey,
  spanOf,
  type ScanStore,
} from '../../store/scans/scans.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import {
  createDay,
  type Day,
  type Piece,
  type DayPiece,
  type Quarters,
  quartersPerDay,
} from './days/day.ts';
import { StoredPiece } from './days/stored-piece.ts';
import { ZoneCuts } from './days/zone-cuts.ts';
import { monthNamesFactor, Rollup } from './rollup.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

const format = 1;
const writer = new ByteWriter();
/** For a summary's pieces, each written with its length. */
const pieceWriter = new ByteWriter();

export interface CodeSummary {
  readonly total: number;
  readonly newestBlock: number;
  readonly newestDay: Day;
}

interface StoredSummary {
  readonly total: number;
  readonly newestBlock: number;
  readonly newestDay: ByteReader;
}

interface Month {
  /** Bit n: day n + 1 is in it. */
  readonly mask: number;
  readonly rollup: Rollup;
  readonly sketch: Sketch;
}

/** Months since January 1970. */
export function monthOf(day: number): number {
  const date = new Date(day * dayMs);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}
const dayOfMonth = (day: number): number => new Date(day * dayMs).getUTCDate() - 1;
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
   * Freezes a counter, a code or a workspace's sums, with a damaged record, to which its actor cannot add. Its records lack
   * scans from now on, so all of them are refused; other counters continue. Call inside the checkpoint's transaction, before
   * the checkpoint moves: the row has the checkpoint of the records.
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
  #stored(codeNo: CodeNo): StoredSummary | undefined {
    const bytes = this.#store.summaries.get(codeNo);
    if (bytes === undefined) return undefined;
    if (this.isFrozen(codeNo)) throw dataDamaged('The numbers of this code cannot be read');
    const reader = open(bytes);
    return { total: reader.integer(), newestBlock: reader.integer(), newestDay: reader };
  }

  summary(codeNo: CodeNo): CodeSummary | undefined {
    const stored = this.#stored(codeNo);
    if (stored === undefined) return undefined;
    const { total, newestBlock } = stored;
    const found = this.#newestPieces(codeNo, stored);
    const pieces = found.map((piece) => piece.read(this.namesMax));
    return { total, newestBlock, newestDay: { day: found[0].day, pieces } };
  }

  total(codeNo: CodeNo): number {
    return this.#stored(codeNo)?.total ?? 0;
  }

  newestBlock(codeNo: CodeNo): number {
    return this.#stored(codeNo)?.newestBlock ?? 0;
  }

  /** The stored pieces of the summary's day, in order; undefined = no summary and no days. */
  newestPieces(codeNo: CodeNo): readonly StoredPiece[] | undefined {
    const stored = this.#stored(codeNo);
    return stored && this.#newestPieces(codeNo, stored);
  }

  #newestPieces(
    codeNo: CodeNo,
    { newestDay: reader }: StoredSummary,
  ): [StoredPiece, ...StoredPiece[]] {
    const day = reader.integer();
    const count = reader.byte();
    const read = (index: number): StoredPiece => {
      const dayPiece = { day, index, ...readQuarters(reader) };
      return this.#piece(codeNo, dayPiece, new ByteReader(reader.bytes()));
    };
    const first = read(0);
    return [first, ...Array.from({ length: count - 1 }, (_, at) => read(at + 1))];
  }

  closedDay(codeNo: CodeNo, day: number): Day | undefined {
    const pieces: Piece[] = [];
    for (const piece of this.closedPieces(codeNo, day, day + 1)) {
      pieces.push(piece.read(this.namesMax));
    }
    return pieces.length === 0 ? undefined : { day, pieces };
  }

  /**
   * The stored pieces of the closed days of a range, in order, read in place: a piece is invalid once the next one or its
   * scanners were asked for.
   * @param endDay excluded
   * @throws Failure data_damaged
   */
  *closedPieces(codeNo: CodeNo, fromDay: number, endDay: number): Generator<StoredPiece> {
    const { days } = this.#store;
    const range = { start: spanKey(codeNo, fromDay), end: spanKey(codeNo, endDay) };
    const walk = days.walkInPlace(range);
    try {
      for (let key = walk.next(); key !== undefined; key = walk.next()) {
        if (!days.isSound(key, walk.value)) throw dataDamaged('A day is damaged on the disk');
        const reader = open(walk.value.content);
        const dayPiece = { day: spanOf(key), index: pieceOf(key), ...readQuarters(reader) };
        yield this.#piece(codeNo, dayPiece, reader);
      }
    } finally {
      walk.close();
    }
  }

  #piece(codeNo: CodeNo, dayPiece: DayPiece, stored: ByteReader): StoredPiece {
    return new StoredPiece(dayPiece, stored, (index) =>
      this.#chunk(chunkKey(codeNo, dayPiece.day, chunkOfPiece(dayPiece, index))),
    );
  }

  /** Each stored month of a range as one piece without times. @throws Failure data_damaged */
  monthPieces(codeNo: CodeNo, firstMonth: number, endMonth: number): StoredPiece[] {
    const range = { start: spanKey(codeNo, firstMonth), end: spanKey(codeNo, endMonth) };
    return Array.from(
      this.#store.months.range(range),
      ({ key, value }) => this.#storedMonth(codeNo, spanOf(key), value).piece,
    );
  }

  month(codeNo: CodeNo, month: number): Month | undefined {
    const bytes = this.#store.months.get(spanKey(codeNo, month));
    if (bytes === undefined) return undefined;
    const { mask, piece } = this.#storedMonth(codeNo, month, bytes);
    const { rollup, sketch } = piece.read(this.namesMax * monthNamesFactor);
    return { mask, rollup, sketch };
  }

  #storedMonth(
    codeNo: CodeNo,
    month: number,
    bytes: Uint8Array,
  ): { readonly mask: number; readonly piece: StoredPiece } {
    const reader = open(bytes);
    const mask = reader.integer();
    const day = firstDayOf(month);
    const endQuarter = (firstDayOf(month + 1) - day) * quartersPerDay;
    const piece = new StoredPiece({ day, index: 0, fromQuarter: 0, endQuarter }, reader, (index) =>
      this.#chunk(chunkKey(codeNo, monthSpan(month), index)),
    );
    return { mask, piece };
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

  /** Writes a day that is no longer the newest, and its month. */
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

function open(bytes: Uint8Array): ByteReader {
  const reader = new ByteReader(bytes);
  const found = reader.byte();
  if (found !== format)
    throw dataDamaged(`Cannot read summary: format ${found}, expected ${format}`);
  return reader;
}
