import { fstatSync, truncateSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JournalFiles } from '../../../src/cluster/scans/journal-source.ts';
import type { JournalPiece } from '../../../src/cluster/scans/scan-uplink.ts';
import {
  listSegments,
  pruneJournal,
  recoverJournal,
  segmentFile,
} from '../../../src/engine/journal/segments.ts';
import { batchBytesMax, frameHeaderBytes } from '../../../src/engine/journal/record.ts';
import { frameOf } from '../../engine/journal/journal-files.ts';
import { openFilesIn } from '../../support/leaks.ts';
import { JournalCopies, Visits, visits } from './journal-copies.ts';

let copies: JournalCopies;
beforeEach(() => {
  copies = new JournalCopies();
});
afterEach(() => copies.remove());

/** Sends all of the edge's journal; the core's shards read after each piece. */
async function sendAll(own: JournalCopies, sizes: readonly number[], coreSegmentBytes = 1e9) {
  const sink = own.sink(coreSegmentBytes);
  let position = sink.tail(0);
  const live = new Visits(own.core());
  const pieces: JournalPiece[] = [];
  for (let count = 0; position < own.source.tail(); count++) {
    const piece = await own.source.read(position, sizes[count % sizes.length]!);
    if (piece === undefined) break;
    expect(piece.from).toBeGreaterThanOrEqual(position);
    expect(piece.bytes.length).toBeGreaterThan(0);
    sink.write(0, piece.from, piece.bytes);
    position = piece.from + piece.bytes.length;
    expect(sink.tail(0)).toBe(position);
    live.readTo(own.coreTails.position(0));
    pieces.push(piece);
  }
  await sink.close();
  live.close();
  return { pieces, position, live: live.found };
}

const kinds = fc.constantFrom('flip', 'zeros', 'header', 'cut');
const damage = fc.record({ kind: kinds, at: fc.nat(100_000), bytes: fc.nat(400) });
type Damage = typeof damage extends fc.Arbitrary<infer D> ? D : never;

describe('a journal and its copy', () => {
  it('hold the same frames and the same damage at the same positions', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.nat(6), { minLength: 1, maxLength: 25 }),
      fc.integer({ min: 1, max: 1_500 }),
      fc.array(damage, { maxLength: 3 }),
      fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 900 }),
      async (scans, segmentBytes, damages, sizes, coreSegmentBytes) => {
        const own = new JournalCopies();
        const writer = own.writer(0, segmentBytes);
        const starts: number[] = [];
        for (const [at, count] of scans.entries()) {
          starts.push(writer.position);
          writer.append(frameOf(at * 10, count), count);
        }
        await writer.close();
        const end = writer.position;
        for (const one of damages) apply(own, one, starts, end);
        const { live, position } = await sendAll(own, sizes, coreSegmentBytes);
        // A loss behind the last byte is found once the journal is written to again.
        expect(live).toEqual(visits(own.edge, position));
        expect(visits(own.core(), position)).toEqual(visits(own.edge, position));
        own.remove();
      },
    );
    await fc.assert(property, { numRuns: 120 });
  });

  it('continue behind each hole: pruned, lost with the newest segment, cut off', async () => {
    const first = copies.writer(0, 300);
    for (let at = 0; at < 10; at++) first.append(frameOf(at * 4, 4), 4);
    await first.close();
    const starts = listSegments(copies.edge);
    pruneJournal(copies.edge, starts[2]!);
    truncateSync(segmentFile(copies.edge, starts.at(-1)!), 50);
    expect(recoverJournal(copies.edge, 5_000).position).toBe(5_000);
    const second = copies.writer(5_000, 300);
    for (let at = 50; at < 60; at++) second.append(frameOf(at, 1), 1);
    await second.close();
    const { pieces, live } = await sendAll(copies, [1, 500]);
    expect(pieces[0]!.from).toBe(starts[2]);
    expect(pieces.filter(({ from }) => from === 5_000).length).toBe(1);
    expect(live.at).toBe(second.position);
    expect(live).toEqual(visits(copies.edge, second.position));
    expect(live.damagedBytes).toBe(5_000 - starts.at(-1)!);
  });
});

describe('a piece', () => {
  it('has whole frames: as many as fit, at least one', async () => {
    const large = frameOf(0, 4_300, 'x'.repeat(100));
    const frames = [frameOf(1, 1), large, frameOf(2, 1), frameOf(3, 1)];
    expect(large.length).toBeGreaterThan(batchBytesMax - 60_000);
    expect(large.length).toBeLessThanOrEqual(batchBytesMax);
    const writer = copies.writer(0, 1e9);
    for (const frame of frames) writer.append(frame, 1);
    const { pieces, live } = await sendAll(copies, [262_144]);
    const small = frameOf(1, 1).length;
    expect(pieces.map(({ bytes }) => bytes.length)).toEqual([small, large.length, 2 * small]);
    expect(live.frames.length).toBe(4);
    expect(live).toEqual(visits(copies.edge, writer.position));
    await writer.close();
  });

  it('has nothing of what stands behind the tail or the end of its segment', async () => {
    const [first, second] = [frameOf(0, 2), frameOf(2, 2)];
    const writer = copies.writer(0, first.length);
    for (const frame of [first, second]) writer.append(frame, 2);
    // A write that was given up half way, and behind a header that says more than there is.
    copies.changeSegment(0, (bytes) => Buffer.concat([bytes, Buffer.alloc(300, 7)]));
    const header = frameOf(0, 6).subarray(0, frameHeaderBytes);
    copies.changeSegment(0, (bytes) => Buffer.concat([header, bytes.subarray(frameHeaderBytes)]));
    copies.changeSegment(first.length, (bytes) => Buffer.concat([bytes, second]));
    expect((await copies.source.read(first.length, 500))!.bytes).toEqual(second);
    const { live } = await sendAll(copies, [40]);
    expect(live.frames.length).toBe(1);
    expect(live).toEqual(visits(copies.edge, writer.position));
    expect(live.at).toBe(writer.position);
    await writer.close();
  });

  it('comes when it survives a loss of power, and is not written over by the next', async () => {
    const [first, second] = [frameOf(0, 2), frameOf(2, 2)];
    const writer = copies.writer(0, 1e9);
    for (const frame of [first, second]) writer.append(frame, 2);
    const steps: string[] = [];
    let fault: Error | undefined;
    const source = new JournalFiles(
      copies.edge,
      () => writer.position,
      async (descriptor) => {
        expect(fstatSync(descriptor).size).toBe(writer.position);
        await new Promise<void>((resolve) => void setImmediate(resolve));
        steps.push('synced');
        if (fault !== undefined) throw fault;
      },
    );
    const piece = await source.read(0, 1);
    steps.push('read');
    await source.read(first.length, 1);
    expect(piece!.bytes).toEqual(first);
    expect(steps).toEqual(['synced', 'read', 'synced']);
    fault = new Error('EIO');
    await expect(source.read(0, 1)).rejects.toThrow('EIO');
    expect(openFilesIn(copies.root).length).toBe(1);
    await writer.close();
  });

  it('is undefined where nothing can be read, and comes once the journal is written to again', async () => {
    expect(await copies.source.read(0, 100)).toBeUndefined();
    const writer = copies.writer(0, 1e9);
    writer.append(frameOf(0, 2), 2);
    const end = writer.position;
    await writer.close();
    expect(await copies.source.read(end, 100)).toBeUndefined();
    truncateSync(segmentFile(copies.edge, 0), 0);
    expect(await copies.source.read(0, 100)).toBeUndefined();
    const next = copies.writer(end, 1e9);
    next.append(frameOf(2, 1), 1);
    expect(await copies.source.read(0, 100)).toEqual({ from: end, bytes: frameOf(2, 1) });
    await next.close();
  });

  it('keeps no file open: a segment that is deleted leaves the disk', async () => {
    const writer = copies.writer(0, 1e9);
    writer.append(frameOf(0, 2), 2);
    await copies.source.read(0, 100);
    await writer.close();
    expect(openFilesIn(copies.root)).toEqual([]);
    copies.changeSegment(0, () => Buffer.alloc(0));
    await copies.source.read(0, 100);
    expect(openFilesIn(copies.root)).toEqual([]);
  });
});

function apply(own: JournalCopies, one: Damage, starts: readonly number[], end: number): void {
  const segments = listSegments(own.edge);
  if (one.kind === 'cut') {
    const start = segments[one.at % segments.length]!;
    // A journal whose first bytes are all lost begins behind them, as a pruned one does.
    own.changeSegment(start, (bytes) =>
      bytes.subarray(0, Math.max(start === 0 ? 1 : 0, bytes.length - one.bytes)),
    );
    return;
  }
  const inHeader = starts[one.at % starts.length]! + (one.bytes % frameHeaderBytes);
  const position = one.kind === 'header' ? inHeader : one.at % end;
  const start = segments.findLast((from) => from <= position)!;
  own.changeSegment(start, (bytes) => {
    const at = position - start;
    if (one.kind === 'zeros') bytes.fill(0, at, Math.min(at + one.bytes, bytes.length));
    else if (at < bytes.length) bytes[at]! ^= 0x10;
    return undefined;
  });
}
