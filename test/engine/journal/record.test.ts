/** Scan records: what goes into a frame comes out of it, and a damaged frame is never taken for sound. */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { partitionCount } from '../../../src/model/code.ts';
import {
  flagPrefetch,
  batchBytesMax,
  framePayloadBytes,
  frameScans,
  isFrameHeader,
  isFramePayloadSound,
  RecordCursor,
  routeFlags,
  ScanBatch,
  textBytesMax,
} from '../../../src/engine/journal/record.ts';

const latin1 = fc
  .array(fc.integer({ min: 0, max: 255 }), { maxLength: 700 })
  .map((codes) => String.fromCharCode(...codes));
const address = fc.oneof(
  fc.uint8Array({ minLength: 4, maxLength: 4 }),
  fc.uint8Array({ minLength: 16, maxLength: 16 }),
);
const record = fc.record({
  partition: fc.integer({ min: 0, max: partitionCount - 1 }),
  codeNo: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  workspaceNo: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  isPrefetch: fc.boolean(),
  route: fc.integer({ min: 0, max: 63 }),
  address,
  agent: latin1,
  referer: latin1,
});
type Made = typeof record extends fc.Arbitrary<infer T> ? T : never;

const batch = new ScanBatch();
function add(made: Made): void {
  const { partition, codeNo, workspaceNo, isPrefetch, route, address, agent, referer } = made;
  const flags = (isPrefetch ? flagPrefetch : 0) | routeFlags(route);
  batch.add(partition, codeNo, workspaceNo, flags, address, agent, referer);
}

function addressOf(bytes: Uint8Array): Buffer {
  if (bytes.length === 16) return Buffer.from(bytes);
  return Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, ...bytes]);
}

function readFrame(frame: Buffer, at: number) {
  const cursor = new RecordCursor();
  cursor.open(frame, at);
  const found = [];
  while (cursor.next()) {
    const address = Buffer.alloc(16, 9);
    cursor.copyAddress(address);
    const { partition, codeNo, workspaceNo, isPrefetch, route, agent, referer } = cursor;
    found.push({ partition, codeNo, workspaceNo, isPrefetch, route, address, agent, referer });
  }
  return { timeMs: cursor.timeMs, found };
}

const isSound = (bytes: Buffer): boolean =>
  isFrameHeader(bytes, 0) && isFramePayloadSound(bytes, 0);

describe('ScanBatch and RecordCursor', () => {
  it('carry any header text, address and number, frame after frame', () => {
    const time = fc.integer({ min: 0, max: 2 ** 48 });
    const property = fc.property(fc.array(record, { maxLength: 12 }), time, (records, timeMs) => {
      for (const made of records) add(made);
      expect(batch.scans).toBe(records.length);
      const sealed = batch.finish(timeMs);
      const shifted = Buffer.concat([Buffer.alloc(13, 1), sealed]);
      expect(isFrameHeader(shifted, 13) && isFramePayloadSound(shifted, 13)).toBe(true);
      expect(sealed.readUInt32LE(24)).toBe(crc32(sealed.subarray(0, 24)));
      expect(frameScans(shifted, 13)).toBe(records.length);
      expect(framePayloadBytes(shifted, 13)).toBe(sealed.length - 32);
      const wanted = records.map((made) => ({
        ...made,
        address: addressOf(made.address),
        agent: made.agent.slice(0, textBytesMax),
        referer: made.referer.slice(0, textBytesMax),
      }));
      expect(readFrame(shifted, 13)).toEqual({ timeMs, found: wanted });
      expect(batch.scans).toBe(0);
    });
    fc.assert(property, { numRuns: 200 });
  });

  it('fill up to the bound and never beyond it', () => {
    const text = 'x'.repeat(2_000);
    let added = 0;
    while (!batch.isFull) {
      batch.add(1, ++added, 2, 0, new Uint8Array(16), text, text);
    }
    const frame = batch.finish(5);
    expect(frame.length).toBeLessThanOrEqual(batchBytesMax);
    expect(frame.length).toBeGreaterThan(batchBytesMax - 2_200);
    expect(isSound(frame)).toBe(true);
    expect(readFrame(frame, 0).found.length).toBe(added);
    expect(batch.isFull).toBe(false);
  });

  it('keep the bytes of a record within its length when a text has characters beyond Latin-1', () => {
    batch.add(1, 7, 2, 0, new Uint8Array(4), 'смотри 🙂', 'https://пример/');
    batch.add(1, 8, 2, 0, new Uint8Array(4), 'next', '');
    const { found } = readFrame(Buffer.from(batch.finish(1)), 0);
    expect(found.map(({ codeNo }) => codeNo)).toEqual([7, 8]);
    expect(found[1]?.agent).toBe('next');
  });
});

it('a sealed frame is refused with any one bit flipped, and at every shorter length', () => {
  batch.add(3, 4, 5, flagPrefetch, new Uint8Array(16).fill(6), 'agent', 'https://r.example/');
  batch.add(3, 4, 5, 0, new Uint8Array(4).fill(6), '', '');
  const frame = Buffer.from(batch.finish(1_700_000_000_000));
  expect(isSound(frame)).toBe(true);
  for (let bit = 0; bit < frame.length * 8; bit++) {
    const wrong = Buffer.from(frame);
    wrong[bit >>> 3]! ^= 1 << (bit & 7);
    expect(isSound(wrong), `bit ${bit}`).toBe(false);
  }
  for (let length = 0; length < frame.length; length++) {
    expect(isSound(frame.subarray(0, length))).toBe(false);
  }
});

describe('a record whose lengths contradict each other', () => {
  /** A frame of three records, the middle one changed at `offset` and sealed again. */
  function frameWith(offset: number, value: number): Buffer {
    for (const agent of ['first', 'second', 'third']) {
      batch.add(3, 7, 1, 0, new Uint8Array(4), agent, '');
    }
    const frame = Buffer.from(batch.finish(1));
    const second = 32 + 20 + 'first'.length;
    frame.writeUInt16LE(value, second + offset);
    frame.writeUInt32LE(crc32(frame.subarray(32)), 20);
    frame.writeUInt32LE(crc32(frame.subarray(0, 24)), 24);
    return frame;
  }
  function agentsOf(frame: Buffer): [agents: string[], malformed: number] {
    const cursor = new RecordCursor();
    cursor.open(frame, 0);
    const agents = [];
    while (cursor.next()) agents.push(cursor.agent);
    return [agents, cursor.malformed];
  }

  it('is skipped and counted; ends the frame where its own length is wrong', () => {
    expect(agentsOf(frameWith(12, 2))).toEqual([['first', 'third'], 1]);
    expect(agentsOf(frameWith(14, 600))).toEqual([['first', 'third'], 1]);
    expect(agentsOf(frameWith(0, 5))).toEqual([['first'], 1]);
    expect(agentsOf(frameWith(0, 60_000))).toEqual([['first'], 1]);
  });
});
