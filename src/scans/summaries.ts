/**
 * Summaries of a code, a day and a month, between memory and the store.
 *
 *   summary total, newest block, its newest day with rollup and sketch: one value holds all that a
 *           quiet code changes, so a checkpoint costs it one put
 *   day     a closed day: rollup and sketch
 *   month   mask of the days in it, their sum and union: a year is read as 12 months and two edges
 *
 * A sketch beyond 64 visitors lies in chunks of its own beside its record. A day closes when a newer one
 * begins. If scans of a closed day come late (midnight, clock steps), it is loaded, counted and closed
 * again: the month adds the new rollup and takes back the one it had; the sketches' union is idempotent.
 * A damaged month is rebuilt from its days; any other damaged record is refused.
 */
import { dayMs } from '../model/day.ts';
import { Sketch, type ChunkSource } from '../model/sketch/sketch.ts';
import { dataDamaged, readOr } from '../model/failure.ts';
import { chunkKey, monthSpan, spanKey, spanOf, type ScanStore } from '../store/scans/scans.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import { FrozenCounters } from './frozen.ts';
import { monthNamesFactor, Rollup } from './rollup.ts';
import type { CodeNo } from '../model/numbers.ts';

const format = 1;
const writer = new ByteWriter();

export interface Day {
  readonly day: number;
  readonly rollup: Rollup;
  readonly sketch: Sketch;
}

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

  constructor(store: ScanStore, namesMax: number) {
    this.#store = store;
    this.namesMax = namesMax;
    this.frozen = new FrozenCounters(store);
  }

  emptyDay(day: number): Day {
    return { day, rollup: new Rollup(this.namesMax), sketch: Sketch.empty() };
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
    const reader = open(bytes);
    const total = reader.integer();
    const newestBlock = reader.integer();
    const day = reader.integer();
    return { total, newestBlock, newestDay: this.#readDay(reader, codeNo, day) };
  }

  /** The lifetime total alone: the first number of the summary. */
  total(codeNo: CodeNo): number {
    const bytes = this.#summaryOf(codeNo);
    return bytes === undefined ? 0 : open(bytes).integer();
  }

  closedDay(codeNo: CodeNo, day: number): Day | undefined {
    const bytes = this.#store.days.get(spanKey(codeNo, day));
    return bytes === undefined ? undefined : this.#readDay(open(bytes), codeNo, day);
  }

  /** The rollup of a stored day, without its names and its sketch. */
  countsOf(bytes: Uint8Array): Rollup {
    return Rollup.readCounts(open(bytes), this.namesMax);
  }

  month(codeNo: CodeNo, month: number): Month | undefined {
    const bytes = this.#store.months.get(spanKey(codeNo, month));
    if (bytes === undefined) return undefined;
    const reader = open(bytes);
    const mask = reader.integer();
    const rollup = Rollup.read(reader, this.namesMax * monthNamesFactor);
    return { mask, rollup, sketch: this.#readSketch(reader, codeNo, monthSpan(month)) };
  }

  /** Sequence of the newest block that the summary knows of; 0 = none. */
  newestBlock(codeNo: CodeNo): number {
    const bytes = this.#summaryOf(codeNo);
    if (bytes === undefined) return 0;
    const reader = open(bytes);
    reader.integer();
    return reader.integer();
  }

  /** The summary's day without its names and its sketch; undefined when the code has no summary. */
  newestDayCounts(codeNo: CodeNo): { day: number; rollup: Rollup } | undefined {
    const bytes = this.#summaryOf(codeNo);
    if (bytes === undefined) return undefined;
    const reader = open(bytes);
    const day = dayOfSummary(reader);
    return { day, rollup: Rollup.readCounts(reader, this.namesMax) };
  }

  /**
   * Adds the summary's day to what is gathered for a range, if it is one of its days.
   * @returns whether the code has a summary: without one it has no days and no months either
   */
  addSummary(
    codeNo: CodeNo,
    from: number,
    to: number,
    rollup: Rollup,
    sketch: MaybeSketch,
  ): boolean {
    const bytes = this.#summaryOf(codeNo);
    if (bytes === undefined) return false;
    const reader = open(bytes);
    const day = dayOfSummary(reader);
    if (day >= from && day <= to) this.#add(reader, codeNo, day, rollup, sketch);
    return true;
  }

  /** Adds a stored closed day, its sketch straight from the bytes. */
  addDay(
    codeNo: CodeNo,
    day: number,
    bytes: Uint8Array,
    rollup: Rollup,
    sketch: MaybeSketch,
  ): void {
    this.#add(open(bytes), codeNo, day, rollup, sketch);
  }

  /** The same for a month's closed days together. */
  addMonth(
    codeNo: CodeNo,
    month: number,
    bytes: Uint8Array,
    rollup: Rollup,
    sketch: MaybeSketch,
  ): void {
    const reader = open(bytes);
    reader.integer();
    this.#add(reader, codeNo, monthSpan(month), rollup, sketch);
  }

  /** Scans of a stored month. */
  monthScans(bytes: Uint8Array): number {
    const reader = open(bytes);
    reader.integer();
    return reader.integer();
  }

  putSummary(codeNo: CodeNo, summary: CodeSummary): void {
    writer.begin(format);
    writer.integer(summary.total);
    writer.integer(summary.newestBlock);
    writer.integer(summary.newestDay.day);
    this.#writeDay(codeNo, summary.newestDay);
    this.#store.summaries.put(codeNo, writer.take());
  }

  /** Writes a day that is no longer the newest, and brings its month up to date. */
  closeDay(codeNo: CodeNo, day: Day): void {
    const monthNumber = monthOf(day.day);
    const bit = 2 ** dayOfMonth(day.day);
    const month = this.#monthToChange(codeNo, monthNumber);
    const isKnown = Math.floor(month.mask / bit) % 2 === 1;
    const before = isKnown ? this.closedDay(codeNo, day.day) : undefined;
    month.rollup.merge(day.rollup);
    if (before !== undefined) month.rollup.merge(before.rollup, -1);
    month.sketch.merge(day.sketch);
    writer.begin(format);
    this.#writeDay(codeNo, day);
    this.#store.days.put(spanKey(codeNo, day.day), writer.take());
    writer.begin(format);
    writer.integer(isKnown ? month.mask : month.mask + bit);
    month.rollup.write(writer);
    this.#writeSketch(codeNo, monthSpan(monthNumber), month.sketch);
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
    let mask = 0;
    const range = {
      start: spanKey(codeNo, firstDayOf(month)),
      end: spanKey(codeNo, firstDayOf(month + 1)),
    };
    for (const { key, value } of this.#store.days.range(range)) {
      this.addDay(codeNo, spanOf(key), value, rollup, sketch);
      mask += 2 ** dayOfMonth(spanOf(key));
    }
    return { mask, rollup, sketch };
  }

  #add(
    reader: ByteReader,
    codeNo: CodeNo,
    span: number,
    rollup: Rollup,
    sketch: MaybeSketch,
  ): void {
    rollup.merge(
      rollup.takesNames
        ? Rollup.read(reader, Number.MAX_SAFE_INTEGER)
        : Rollup.readWithoutNames(reader),
    );
    if (sketch === undefined) return;
    const hasChunks = reader.byte() === 1;
    sketch.mergeParts(reader.bytes(), this.#chunkSource(hasChunks, codeNo, span));
  }

  #readDay(reader: ByteReader, codeNo: CodeNo, day: number): Day {
    const rollup = Rollup.read(reader, this.namesMax);
    return { day, rollup, sketch: this.#readSketch(reader, codeNo, day) };
  }

  #readSketch(reader: ByteReader, codeNo: CodeNo, span: number): Sketch {
    const hasChunks = reader.byte() === 1;
    const inline = reader.bytes();
    return Sketch.fromParts(inline, this.#chunkSource(hasChunks, codeNo, span));
  }

  #chunkSource(hasChunks: boolean, codeNo: CodeNo, span: number): ChunkSource {
    if (!hasChunks) return () => undefined;
    return (index) => this.#store.chunks.get(chunkKey(codeNo, span, index));
  }

  #writeDay(codeNo: CodeNo, day: Day): void {
    day.rollup.write(writer);
    this.#writeSketch(codeNo, day.day, day.sketch);
  }

  /** Writes the record's part into the writer and the chunks that changed into their table. */
  #writeSketch(codeNo: CodeNo, span: number, sketch: Sketch): void {
    writer.byte(sketch.isInline() ? 0 : 1);
    writer.bytes(sketch.inlineBytes());
    for (const index of sketch.dirtyChunks()) {
      this.#store.chunks.put(chunkKey(codeNo, span, index), sketch.chunkBytes(index));
    }
  }
}

/** Behind total and newest block. */
function dayOfSummary(reader: ByteReader): number {
  reader.integer();
  reader.integer();
  return reader.integer();
}

function open(bytes: Uint8Array): ByteReader {
  const reader = new ByteReader(bytes);
  const found = reader.byte();
  if (found !== format) {
    throw dataDamaged(`Cannot read summary: format ${found}, expected ${format}`);
  }
  return reader;
}
