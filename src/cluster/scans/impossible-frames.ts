/**
 * Frames in a piece of another machine's journal that no honest node writes. Their bytes are set to zero in place: readers
 * pass over zeros as over damage, and positions stay. A piece that is left out would be asked for without end.
 *
 *   bytes of no whole frame      zeroed: the next piece could complete a header that begins in them
 *   a frame with a bad payload   stays: readers skip it by its length
 *   a time out of bounds         refused by the clock of the brokers, so that all cores decide alike
 *   a code of another workspace  refused, or of another partition. A number that this core does not know passes: its log may
 *                                be behind
 */
import { partitionOf } from '../../model/code.ts';
import { dayMs } from '../../model/day.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import { findFrameHeader } from '../../engine/journal/segments.ts';
import {
  frameHeaderBytes,
  framePayloadBytes,
  isFrameHeader,
  isFramePayloadSound,
  RecordCursor,
} from '../../engine/journal/record.ts';
import { workspaceCountersFirst } from '../../store/scans/scans.ts';

/** Brokers keep what a core has not read for 7 days; an edge that was cut off for longer loses those scans. */
const oldestMs = 8 * dayMs;
const aheadMs = dayMs;

export type WorkspaceOf = (codeNo: CodeNo) => WorkspaceNo | undefined;

/** @param atMs when the brokers took the piece @returns how many frames were refused */
export function wipeImpossibleFrames(
  piece: Uint8Array,
  atMs: number,
  workspaceOf: WorkspaceOf,
): number {
  const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
  const cursor = new RecordCursor();
  let refused = 0;
  for (let at = 0, end = 0; at < bytes.length; at = end) {
    const isFrame = isFrameHeader(bytes, at);
    end = isFrame
      ? at + frameHeaderBytes + framePayloadBytes(bytes, at)
      : findFrameHeader(bytes, at + 1);
    if (isFrame && end <= bytes.length) {
      if (!isFramePayloadSound(bytes, at)) continue;
      cursor.open(bytes, at);
      if (!isImpossible(cursor, atMs, workspaceOf)) continue;
      refused++;
    }
    bytes.fill(0, at, Math.min(end, bytes.length));
  }
  return refused;
}

function isImpossible(cursor: RecordCursor, atMs: number, workspaceOf: WorkspaceOf): boolean {
  const { timeMs } = cursor;
  // NaN is within no bounds.
  if (!(timeMs >= atMs - oldestMs && timeMs <= atMs + aheadMs)) return true;
  while (cursor.next()) {
    const { codeNo, workspaceNo, partition } = cursor;
    if (codeNo >= workspaceCountersFirst || partition !== partitionOf(codeNo)) return true;
    if ((workspaceOf(codeNo) ?? workspaceNo) !== workspaceNo) return true;
  }
  return false;
}
