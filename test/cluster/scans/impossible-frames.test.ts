/** One frame that no honest node writes must not count, nor hide what stands behind it. */
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { wipeImpossibleFrames } from '../../../src/cluster/scans/impossible-frames.ts';
import { partitionOf } from '../../../src/model/code.ts';
import { isFrameHeader, RecordCursor, ScanBatch } from '../../../src/scans/record.ts';
import { workspaceCounter } from '../../../src/store/scans/scans.ts';

const nowMs = 1_800_000_000_000;
const dayMs = 86_400_000;
const address = Uint8Array.of(192, 0, 2, 1);
/** Code 5 is of workspace 1; others are not known yet. */
const workspaceOf = (codeNo: number): number | undefined => (codeNo === 5 ? 1 : undefined);

interface Forged {
  readonly timeMs?: number;
  readonly codeNo?: number;
  readonly workspaceNo?: number;
  readonly partition?: number;
  readonly agent?: string;
}

function frame({
  timeMs = nowMs,
  codeNo = 5,
  workspaceNo = 1,
  partition,
  agent = '',
}: Forged = {}) {
  const batch = new ScanBatch();
  batch.add(partition ?? partitionOf(codeNo), codeNo, workspaceNo, 0, address, agent, '');
  return Buffer.from(batch.finish(timeMs));
}

const wipe = (bytes: Buffer): number => wipeImpossibleFrames(bytes, nowMs, workspaceOf);

it.each<[Forged, number]>([
  [{ timeMs: Number.NaN }, 1],
  [{ timeMs: Infinity }, 1],
  [{ timeMs: nowMs - 8 * dayMs - 1 }, 1],
  [{ timeMs: nowMs + dayMs + 1 }, 1],
  [{ timeMs: nowMs - 8 * dayMs }, 0],
  [{ timeMs: nowMs + dayMs }, 0],
  [{ workspaceNo: 2 }, 1],
  [{ codeNo: 6, workspaceNo: 2 }, 0],
  [{ partition: 255 }, 1],
  [{ codeNo: workspaceCounter(1), workspaceNo: 1 }, 1],
])('of %o %i frames are refused, and the next one stays', (forged, refused) => {
  const first = frame(forged);
  const bytes = Buffer.concat([first, frame()]);
  const before = Buffer.from(bytes);
  if (refused > 0) before.fill(0, 0, first.length);
  expect(wipe(bytes)).toBe(refused);
  expect(bytes).toEqual(before);
});

it('finds a forged frame behind bytes of no frame, as a reader does', () => {
  const bytes = Buffer.concat([Buffer.from('x'), frame({ timeMs: Number.NaN }), frame()]);
  expect(wipe(bytes)).toBe(1);
  expect(isFrameHeader(bytes, bytes.length - frame().length)).toBe(true);
});

it('leaves no half of a frame that the next piece completes', () => {
  const forged = frame({ timeMs: Number.NaN, agent: 'x'.repeat(100) });
  for (const cut of [10, 40, forged.length - 1]) {
    const pieces = [Buffer.from(forged.subarray(0, cut)), Buffer.from(forged.subarray(cut))];
    for (const piece of pieces) wipe(piece);
    expect(Buffer.concat(pieces)).toEqual(Buffer.alloc(forged.length));
  }
});

it('a payload that is too short for a record is malformed, not the end of the shard', () => {
  const bytes = Buffer.concat([Buffer.from(new ScanBatch().finish(nowMs)), Buffer.from('x')]);
  bytes.writeUInt32LE(1, 4);
  bytes.writeUInt32LE(crc32(bytes.subarray(32)), 20);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 24)), 24);
  expect(isFrameHeader(bytes, 0)).toBe(true);
  const cursor = new RecordCursor();
  cursor.open(bytes, 0);
  expect([cursor.next(), cursor.malformed]).toEqual([false, 1]);
  expect(wipe(bytes)).toBe(0);
});
