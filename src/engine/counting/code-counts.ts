/**
 * Scans by code of a workspace, for each day and month, so that a list of top codes does not read 100,000 summaries.
 *
 *   key     workspaceNo u32 | chunk u32 (codeNo >> 12) | span u16 (day, or 0xf000 + month) | piece u8, absent for piece 0
 *   value   format u8 | the piece's quarters u8 u8 | n | n x (codeNo low 12 bits and scans), ascending, as integers
 *
 * A day has the pieces of its workspace's sums (days/day.ts). A chunk has at most 4,096 codes, 16 KB. Saves skip a damaged
 * record, reads refuse it.
 */
import { dataDamaged, readOr } from '../../model/failure.ts';
import { monthSpan, type ScanStore } from '../../store/scans/scans.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import { type DayPiece, type Quarters, quartersPerDay, wholeDay } from './days/day.ts';
import { monthOf } from './summaries.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

const chunkBits = 12;
const keyBytes = 10;
const format = 1;
const writer = new ByteWriter();

/** Scans by code. */
type Counts = Map<number, number>;

/** Counts of one workspace since the last save, by piece of a day. */
export type PieceCounts = Map<number, { readonly dayPiece: DayPiece; readonly byCode: Counts }>;

export function countScans(
  counts: PieceCounts,
  dayPiece: DayPiece,
  codeNo: CodeNo,
  scans: number,
): void {
  const key = dayPiece.day * quartersPerDay + dayPiece.fromQuarter;
  let piece = counts.get(key);
  if (piece === undefined) counts.set(key, (piece = { dayPiece, byCode: new Map() }));
  piece.byCode.set(codeNo, (piece.byCode.get(codeNo) ?? 0) + scans);
}

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

/** Adds counts to the stored days and months. Inside a transaction. */
export function addCounts(store: ScanStore, workspaceNo: WorkspaceNo, counts: PieceCounts): void {
  for (const { dayPiece, byCode } of counts.values()) {
    const chunks = new Map<number, Counts>();
    for (const [codeNo, scans] of byCode) {
      const chunk = chunkOf(codeNo);
      const own = chunks.get(chunk) ?? new Map<number, number>();
      own.set(codeNo, scans);
      chunks.set(chunk, own);
    }
    for (const [chunk, added] of chunks) {
      const day = countKey(workspaceNo, chunk, dayPiece.day, dayPiece.index);
      const month = countKey(workspaceNo, chunk, monthSpan(monthOf(dayPiece.day)));
      addTo(store, day, chunk, dayPiece, added);
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
  // The stored pieces of a day never change.
  putCounts(store, key, stored.quarters ?? quarters, counts);
}

/** Removes a code from one day or month (`monthSpan`). Inside a transaction. */
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
  // Copied: the loop changes the table.
  const keys = [...store.codeCounts.keys(range)];
  for (const key of keys) {
    const stored = countsToChange(store, key, chunk);
    if (stored === undefined || !stored.counts.delete(codeNo)) continue;
    if (stored.counts.size === 0) store.codeCounts.remove(key);
    else putCounts(store, key, stored.quarters ?? wholeDay, stored.counts);
  }
}

interface StoredCounts {
  /** Undefined = not stored yet. */
  readonly quarters: Quarters | undefined;
  readonly counts: Counts;
}

/** Undefined = damaged. */
function countsToChange(
  store: ScanStore,
  key: Uint8Array,
  chunk: number,
): StoredCounts | undefined {
  return readOr(() => {
    const bytes = store.codeCounts.get(key);
    return { quarters: bytes && quartersOf(bytes), counts: readCounts(bytes, chunk, new Map()) };
  }, undefined);
}

/** Quarters of the piece that a record counts. */
export function quartersOf(bytes: Uint8Array): Quarters {
  const [, fromQuarter = 0, endQuarter = 0] = bytes;
  return { fromQuarter, endQuarter };
}

/** Adds a stored record to `counts` and returns it. */
export function readCounts(bytes: Uint8Array | undefined, chunk: number, counts: Counts): Counts {
  if (bytes === undefined) return counts;
  eachCount(bytes, (index, scans) => {
    const codeNo = firstOfChunk(chunk) + index;
    counts.set(codeNo, (counts.get(codeNo) ?? 0) + scans);
  });
  return counts;
}

/** @param visit gets the index of a code in its chunk, 0 to 4,095 */
export function eachCount(bytes: Uint8Array, visit: (index: number, scans: number) => void): void {
  const reader = new ByteReader(bytes);
  const found = reader.byte();
  if (found !== format)
    throw dataDamaged(`Cannot read counts: format ${found}, expected ${format}`);
  reader.byte();
  reader.byte();
  for (let left = reader.integer(); left > 0; left--) visit(reader.integer(), reader.integer());
}

function putCounts(
  store: ScanStore,
  key: Uint8Array,
  { fromQuarter, endQuarter }: Quarters,
  counts: Counts,
): void {
  writer.begin(format);
  writer.byte(fromQuarter);
  writer.byte(endQuarter);
  writer.integer(counts.size);
  for (const [codeNo, scans] of counts) {
    writer.integer(codeNo % codesPerChunk);
    writer.integer(scans);
  }
  store.codeCounts.put(key, writer.take());
}
