/**
 * Scans by code of a workspace: how often each code was scanned on a day and in a month, so that a list
 * of the top codes reads neither the idle ones nor 100,000 summaries.
 *
 *   key     workspaceNo u32 | chunk u32 (codeNo >> 12) | span u16 (day, or 0xf000 + month) | piece u8, but for the first
 *   value   n x (codeNo low 12 bits and scans, as integers), ascending; of a day that is cut, its quarters before
 *
 * A day is cut as the sums of its workspace are (days/day.ts).
 *
 * A record is added to, never replaced by what memory holds: what is counted since the last save is
 * all that has to be remembered. A save touches the chunks with scans since then; a chunk has at most
 * 4,096 codes, 16 KB.
 * A damaged record stays as it is: nothing is added to it, and what would read it is refused.
 */
import { dataDamaged, readOr } from '../model/failure.ts';
import { monthSpan, type ScanStore } from '../store/scans/scans.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import { type Place, type Quarters, quartersPerDay, wholeDay } from './days/day.ts';
import { monthOf } from './summaries.ts';
import type { CodeNo, WorkspaceNo } from '../model/numbers.ts';

const chunkBits = 12;
const keyBytes = 10;
/** A whole day, or a month. */
const wholeFormat = 1;
/** A piece of a day. */
const pieceFormat = 2;
const writer = new ByteWriter();

/** What was counted since the last save, of one workspace: by piece of a day, then by code. */
export class PieceCounts {
  readonly #pieces = new Map<number, { readonly place: Place; readonly byCode: Counts }>();

  add(place: Place, codeNo: CodeNo, scans: number): void {
    const key = place.day * quartersPerDay + place.fromQuarter;
    let piece = this.#pieces.get(key);
    if (piece === undefined) this.#pieces.set(key, (piece = { place, byCode: new Map() }));
    piece.byCode.set(codeNo, (piece.byCode.get(codeNo) ?? 0) + scans);
  }

  clear(): void {
    this.#pieces.clear();
  }

  [Symbol.iterator](): Iterator<{ readonly place: Place; readonly byCode: Counts }> {
    return this.#pieces.values();
  }
}

type Counts = Map<number, number>;

export const codesPerChunk = 2 ** chunkBits;
export const chunkOf = (codeNo: CodeNo): number => codeNo >>> chunkBits;
export const firstOfChunk = (chunk: number): number => chunk * codesPerChunk;

export function countKey(workspaceNo: WorkspaceNo, chunk: number, span: number, piece = 0): Buffer {
  const key = Buffer.allocUnsafe(keyBytes + (piece === 0 ? 0 : 1));
  if (piece > 0) key[keyBytes] = piece;
  key.writeUInt32BE(workspaceNo, 0);
  key.writeUInt32BE(chunk, 4);
  key.writeUInt16BE(span, 8);
  return key;
}
export const chunkOfKey = (key: Uint8Array): number =>
  ((key[4]! << 24) | (key[5]! << 16) | (key[6]! << 8) | key[7]!) >>> 0;
export const spanOfKey = (key: Uint8Array): number => (key[8]! << 8) | key[9]!;

/** Adds what was counted to the stored days and months. Inside a transaction. */
export function addCounts(store: ScanStore, workspaceNo: WorkspaceNo, counts: PieceCounts): void {
  for (const { place, byCode } of counts) {
    const chunks = new Map<number, Counts>();
    for (const [codeNo, scans] of byCode) {
      const chunk = chunkOf(codeNo);
      const own = chunks.get(chunk) ?? new Map<number, number>();
      own.set(codeNo, scans);
      chunks.set(chunk, own);
    }
    for (const [chunk, added] of chunks) {
      const day = countKey(workspaceNo, chunk, place.day, place.index);
      const month = countKey(workspaceNo, chunk, monthSpan(monthOf(place.day)));
      addTo(store, day, chunk, place, added);
      addTo(store, month, chunk, wholeDay, added);
    }
  }
}

function addTo(
  store: ScanStore,
  key: Buffer,
  chunk: number,
  quarters: Quarters,
  added: Counts,
): void {
  const stored = countsToChange(store, key, chunk);
  if (stored === undefined) return;
  const { counts } = stored;
  for (const [codeNo, scans] of added) counts.set(codeNo, (counts.get(codeNo) ?? 0) + scans);
  // Where a day is cut does not change.
  putCounts(store, key, { quarters: stored.isNew ? quarters : stored.quarters, counts });
}

/** Takes a code out of one day or month (`monthSpan`). Inside a transaction. */
export function removeCount(
  store: ScanStore,
  workspaceNo: WorkspaceNo,
  codeNo: CodeNo,
  span: number,
): void {
  const chunk = chunkOf(codeNo);
  const range = {
    start: countKey(workspaceNo, chunk, span),
    end: countKey(workspaceNo, chunk, span + 1),
  };
  // The table changes meanwhile.
  const keys = [...store.codeCounts.keys(range)];
  for (const key of keys) {
    const stored = countsToChange(store, key, chunk);
    if (stored === undefined || !stored.counts.delete(codeNo)) continue;
    if (stored.counts.size === 0) store.codeCounts.remove(key);
    else putCounts(store, key, stored);
  }
}

interface StoredCounts {
  readonly quarters: Quarters;
  readonly counts: Counts;
}

/** Undefined when it is damaged. */
function countsToChange(
  store: ScanStore,
  key: Uint8Array,
  chunk: number,
): (StoredCounts & { readonly isNew: boolean }) | undefined {
  return readOr(() => {
    const counts: Counts = new Map();
    const bytes = store.codeCounts.get(key);
    if (bytes === undefined) return { quarters: wholeDay, counts, isNew: true };
    readCounts(bytes, chunk, counts);
    return { quarters: quartersOf(bytes), counts, isNew: false };
  }, undefined);
}

/** Of the day that a record is of. */
export function quartersOf(bytes: Uint8Array): Quarters {
  const [format, fromQuarter = 0, endQuarter = 0] = bytes;
  return format === pieceFormat ? { fromQuarter, endQuarter } : wholeDay;
}

/** Adds a stored record to `counts`, which it returns. */
export function readCounts(bytes: Uint8Array | undefined, chunk: number, counts: Counts): Counts {
  if (bytes === undefined) return counts;
  eachCount(bytes, (place, scans) => {
    const codeNo = firstOfChunk(chunk) + place;
    counts.set(codeNo, (counts.get(codeNo) ?? 0) + scans);
  });
  return counts;
}

/** @param visit gets the place of a code in its chunk, 0 to 4,095 */
export function eachCount(bytes: Uint8Array, visit: (place: number, scans: number) => void): void {
  const reader = new ByteReader(bytes);
  const format = reader.byte();
  if (format !== wholeFormat && format !== pieceFormat) {
    throw dataDamaged(`Cannot read counts: format ${format}, expected ${pieceFormat} at most`);
  }
  if (format === pieceFormat) {
    reader.byte();
    reader.byte();
  }
  for (let left = reader.integer(); left > 0; left--) visit(reader.integer(), reader.integer());
}

function putCounts(store: ScanStore, key: Uint8Array, { quarters, counts }: StoredCounts): void {
  const { fromQuarter, endQuarter } = quarters;
  const isWhole = endQuarter - fromQuarter === quartersPerDay;
  writer.begin(isWhole ? wholeFormat : pieceFormat);
  if (!isWhole) {
    writer.byte(fromQuarter);
    writer.byte(endQuarter);
  }
  writer.integer(counts.size);
  for (const [codeNo, scans] of counts) {
    writer.integer(codeNo % codesPerChunk);
    writer.integer(scans);
  }
  store.codeCounts.put(key, writer.take());
}
