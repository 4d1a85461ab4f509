/** What a core takes of the scans that other nodes send: whole messages, and no frame that an honest node would not write. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { wipeImpossibleFrames } from '../../../src/cluster/scans/impossible-frames.ts';
import { ReceivedJournals } from '../../../src/cluster/scans/received-journals.ts';
import {
  encodeScanMessage,
  readScanMessage,
  type ScanMessage,
} from '../../../src/cluster/scans/scan-messages.ts';
import { partitionOf, type QrCodeRecord } from '../../../src/model/code.ts';
import { identify } from '../../../src/engine/journal/file-identity.ts';
import { JournalPositions, journalsMax } from '../../../src/engine/journal/positions.ts';
import {
  batchBytesMax,
  isFrameHeader,
  RecordCursor,
  ScanBatch,
} from '../../../src/engine/journal/record.ts';
import { packPlain } from '../../../src/store/codec.ts';
import { packCode } from '../../../src/store/management/code-codec.ts';
import { openManagement } from '../../../src/store/management/management.ts';
import { openScanStore, workspaceCounter } from '../../../src/store/scans/scans.ts';
import { systemTimers } from '../../../src/platform/system-clock.ts';
import { soon } from '../../support/soon.ts';
import { MemoryLog, MemoryStream } from '../log/memory-log.ts';

const nowMs = 1_800_000_000_000;
const dayMs = 86_400_000;
const address = Uint8Array.of(192, 0, 2, 1);

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

describe('a message', () => {
  const position = fc.oneof(
    fc.nat(),
    fc.maxSafeNat(),
    fc.constantFrom(0, 2 ** 32, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER),
  );
  const message: fc.Arbitrary<ScanMessage> = fc
    .record({
      journal: fc.nat(journalsMax - 1),
      run: position,
      positions: fc.tuple(position, position),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
    })
    .map(({ positions: [one, other], ...rest }) => ({
      ...rest,
      after: Math.min(one, other),
      from: Math.max(one, other),
    }))
    .filter(({ from, bytes }) => Number.isSafeInteger(from + bytes.length));

  it('is read as it was written, and keeps nothing of the bytes it was read from', () => {
    const property = fc.property(message, (written) => {
      const body = encodeScanMessage(written);
      const read = readScanMessage(body)!;
      body.fill(255);
      expect({ ...read, bytes: Uint8Array.from(read.bytes) }).toEqual(written);
    });
    fc.assert(property);
  });

  it('leaves space for the largest batch in a message of the brokers', () => {
    const bytes = new Uint8Array(batchBytesMax);
    const max = Number.MAX_SAFE_INTEGER;
    const body = encodeScanMessage({ journal: 4_095, run: max, after: max, from: max, bytes });
    expect(body.length).toBeLessThan(batchBytesMax + 100);
  });

  it('is nothing where one field is another, missing, or of another version', () => {
    const whole: unknown[] = [1, 1, 2, 10, 10, Buffer.alloc(3)];
    expect(readScanMessage(packPlain(whole))).toBeDefined();
    const wrong = [2, journalsMax, -1, 11, 9, Buffer.alloc(0)];
    for (const [at, value] of wrong.entries()) {
      expect(readScanMessage(packPlain(whole.slice(0, at)))).toBeUndefined();
      for (const other of [value, 1.5, '1', null]) {
        const read = readScanMessage(packPlain(whole.with(at, other)));
        expect(read, `${at}: ${String(other)}`).toBeUndefined();
      }
    }
  });

  it('is nothing of unknown bytes, or cut short', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 60 }), message, (unknown, written) => {
      const found = readScanMessage(unknown);
      if (found !== undefined) expect(found.from).toBeGreaterThanOrEqual(found.after);
      const body = encodeScanMessage(written);
      const cut = unknown.length % body.length;
      expect(readScanMessage(body.subarray(0, cut))).toBeUndefined();
    });
    fc.assert(property, { numRuns: 300 });
  });
});

describe('a frame', () => {
  /** Code 5 is of workspace 1; others are not known yet. */
  const workspaceOf = (codeNo: number): number | undefined => (codeNo === 5 ? 1 : undefined);
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
  ])('of %o: %i are refused, and the next one stays', (forged, refused) => {
    const first = frame(forged);
    const bytes = Buffer.concat([first, frame()]);
    const before = Buffer.from(bytes);
    if (refused > 0) before.fill(0, 0, first.length);
    expect(wipe(bytes)).toBe(refused);
    expect(bytes).toEqual(before);
  });

  it('that is forged is found behind bytes of no frame, as a reader does', () => {
    const bytes = Buffer.concat([Buffer.from('x'), frame({ timeMs: Number.NaN }), frame()]);
    expect(wipe(bytes)).toBe(1);
    expect(isFrameHeader(bytes, bytes.length - frame().length)).toBe(true);
  });

  it('leaves no half that the next piece completes', () => {
    const forged = frame({ timeMs: Number.NaN, agent: 'x'.repeat(100) });
    for (const cut of [10, 40, forged.length - 1]) {
      const pieces = [Buffer.from(forged.subarray(0, cut)), Buffer.from(forged.subarray(cut))];
      for (const piece of pieces) wipe(piece);
      expect(Buffer.concat(pieces)).toEqual(Buffer.alloc(forged.length));
    }
  });

  it('that is too short for a record is malformed, not the end of the shard', () => {
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
});

it('a core refuses scans of a code that is of another workspace, also of one that was made while it runs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'qz-received-'));
  mkdirSync(join(folder, 'journals'));
  const management = openManagement(join(folder, 'management.mdb'), 'create');
  const scans = openScanStore(join(folder, 'scans.mdb'), 'create');
  const stream = new MemoryStream();
  const refused: Array<[journal: number, frames: number]> = [];
  const tails = new JournalPositions();
  const received = new ReceivedJournals({
    log: new MemoryLog(stream),
    timers: systemTimers,
    store: identify(join(folder, 'scans.mdb')),
    codes: identify(join(folder, 'management.mdb')),
    root: identify(join(folder, 'journals')),
    tails,
    segmentMsMax: 60_000,
    isOwn: () => false,
    isOwner: () => true,
    onRefused: (journal, frames) => void refused.push([journal, frames]),
    rewind: () => undefined,
    onMissed: () => undefined,
  });
  onTestFinished(async () => {
    await received.close();
    await management.close();
    await scans.environment.close();
    rmSync(folder, { recursive: true });
  });
  received.receiver.start();
  const code: QrCodeRecord = {
    id: 'qr_5',
    no: 5,
    workspaceId: 'ws_1',
    workspaceNo: 1,
    type: 'url',
    target: 'https://example.com/',
    dynamic: true,
    tags: [],
    metadata: {},
    createdAtMs: 0,
    updatedAtMs: 0,
    createdBy: 'usr_1',
  };
  await management.environment.transaction(() => management.codes.put(5, packCode(code)));
  const send = async (workspaceNo: number): Promise<void> => {
    const from = tails.position(1);
    // The log in memory takes every entry at 0.
    const bytes = frame({ timeMs: 0, workspaceNo });
    stream.append(encodeScanMessage({ journal: 1, run: 1, after: from, from, bytes }));
    await expect.poll(() => tails.position(1), soon).toBe(from + bytes.length);
  };
  await send(1);
  expect(refused).toEqual([]);
  await send(2);
  expect(refused).toEqual([[1, 1]]);
});
