/**
 * Scans by code of a workspace: how often each code was scanned on a day and in a month, so that a list
 * of the top codes reads neither the idle ones nor 100,000 summaries.
 *
 *   key     workspaceNo u32 | chunk u32 (codeNo >> 12) | span u16 (day, or 0xf000 + month)
 *   value   n x (codeNo low 12 bits and scans, as integers), ascending
 *
 * A record is added to, never replaced by what memory holds: what is counted since the last save is
 * all that has to be remembered. A save touches the chunks with scans since then; a chunk has at most
 * 4,096 codes, 16 KB.
 * A damaged record stays as it is: nothing is added to it, and what would read it is refused.
 */
import { dataDamaged, readOr } from '../model/failure.ts';
import { monthSpan, type ScanStore } from '../store/scans/scans.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import { monthOf } from './summaries.ts';
import type { CodeNo, WorkspaceNo } from '../model/numbers.ts';

const chunkBits = 12;
const keyBytes = 10;
const format = 1;
const writer = new ByteWriter();

/** What was counted since the last save, of one workspace: by day, then by code. */
export type CountsByDay = Map<number, Map<number, number>>;

export const chunkOf = (codeNo: CodeNo): number => codeNo >>> chunkBits;

export function countKey(workspaceNo: WorkspaceNo, chunk: number, span: number): Buffer {
  const key = Buffer.allocUnsafe(keyBytes);
  key.writeUInt32BE(workspaceNo, 0);
  key.writeUInt32BE(chunk, 4);
  key.writeUInt16BE(span, 8);
  return key;
}
export const chunkOfKey = (key: Uint8Array): number =>
  ((key[4]! << 24) | (key[5]! << 16) | (key[6]! << 8) | key[7]!) >>> 0;

/** Adds what was counted to the stored days and months. Inside a transaction. */
export function addCounts(store: ScanStore, workspaceNo: WorkspaceNo, counts: CountsByDay): void {
  for (const [day, byCode] of counts) {
    const chunks = new Map<number, Map<number, number>>();
    for (const [codeNo, scans] of byCode) {
      const chunk = chunkOf(codeNo);
      const own = chunks.get(chunk) ?? new Map<number, number>();
      own.set(codeNo, scans);
      chunks.set(chunk, own);
    }
    for (const [chunk, added] of chunks) {
      for (const span of [day, monthSpan(monthOf(day))]) {
        const key = countKey(workspaceNo, chunk, span);
        const merged = countsToChange(store, key, chunk);
        if (merged === undefined) continue;
        for (const [codeNo, scans] of added) {
          merged.set(codeNo, (merged.get(codeNo) ?? 0) + scans);
        }
        putCounts(store, key, merged);
      }
    }
  }
}

/** Takes a code out of one day or month (`monthSpan`). Inside a transaction. */
export function removeCount(
  store: ScanStore,
  workspaceNo: WorkspaceNo,
  codeNo: CodeNo,
  span: number,
): void {
  const chunk = chunkOf(codeNo);
  const key = countKey(workspaceNo, chunk, span);
  const counts = countsToChange(store, key, chunk);
  if (counts === undefined || !counts.delete(codeNo)) return;
  if (counts.size === 0) store.codeCounts.remove(key);
  else putCounts(store, key, counts);
}

/** Undefined when it is damaged. */
function countsToChange(
  store: ScanStore,
  key: Uint8Array,
  chunk: number,
): Map<number, number> | undefined {
  return readOr(
    () => readCounts(store.codeCounts.get(key), chunk, new Map<number, number>()),
    undefined,
  );
}

/** Adds a stored record to `counts`, which it returns. */
export function readCounts(
  bytes: Uint8Array | undefined,
  chunk: number,
  counts: Map<number, number>,
): Map<number, number> {
  if (bytes === undefined) return counts;
  const reader = new ByteReader(bytes);
  const found = reader.byte();
  if (found !== format) {
    throw dataDamaged(`Cannot read counts: format ${found}, expected ${format}`);
  }
  const base = chunk * 2 ** chunkBits;
  for (let left = reader.integer(); left > 0; left--) {
    const codeNo = base + reader.integer();
    counts.set(codeNo, (counts.get(codeNo) ?? 0) + reader.integer());
  }
  return counts;
}

function putCounts(store: ScanStore, key: Uint8Array, counts: ReadonlyMap<number, number>): void {
  writer.begin(format);
  writer.integer(counts.size);
  for (const [codeNo, scans] of counts) {
    writer.integer(codeNo % 2 ** chunkBits);
    writer.integer(scans);
  }
  store.codeCounts.put(key, writer.take());
}
