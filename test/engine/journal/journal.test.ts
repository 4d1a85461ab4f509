/** Journals on real files: the reader gives what the writer was given, and no damage loses a sound frame. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JournalReader } from '../../../src/engine/journal/reader.ts';
import {
  listSegments,
  recoverJournal,
  segmentFile,
  pruneJournal,
} from '../../../src/engine/journal/segments.ts';
import { frameBytesMax, frameHeaderBytes } from '../../../src/engine/journal/record.ts';
import {
  codesFrom,
  frameOf,
  readAll,
  temporaryJournal,
  type TemporaryJournal,
} from './journal-files.ts';

let journal: TemporaryJournal;
let reader: JournalReader;
beforeEach(() => {
  journal = temporaryJournal();
  reader = new JournalReader(journal.folder, 1);
});
afterEach(() => {
  reader.close();
  journal.remove();
});

const file = (start: number): string => segmentFile(journal.folder, start);

async function write(frames: readonly Buffer[], segmentBytesMax = 1e9): Promise<number> {
  const writer = journal.open({ segmentBytesMax });
  for (const frame of frames) writer.append(frame, 1);
  await writer.close();
  return writer.position;
}

describe('recoverJournal', () => {
  it('cuts a tail torn at every length back to the last sound frame', async () => {
    const frames = [frameOf(0, 2), frameOf(2, 1), frameOf(3, 3)];
    const whole = Buffer.concat(frames);
    const ends = [0, frames[0]!.length, frames[0]!.length + frames[1]!.length, whole.length];
    const scans = [0, 2, 3, 6];
    for (let length = 0; length <= whole.length; length++) {
      writeFileSync(file(0), whole.subarray(0, length));
      const sound = ends.filter((end) => end <= length).at(-1)!;
      const recovered = recoverJournal(journal.folder, 0);
      expect(recovered).toEqual({ position: sound, tornBytes: length - sound, end: sound });
      expect(readFileSync(file(0)).length).toBe(sound);
      const found = readAll(reader, 0, sound);
      expect(found.codes).toEqual(codesFrom(0, scans[ends.indexOf(sound)]!));
      reader.close();
    }
  });

  it('cuts zeros and garbage after the last frame, but keeps frames after damage', async () => {
    const frames = [frameOf(0, 2), frameOf(2, 2), frameOf(4, 2)];
    const bytes = Buffer.concat([...frames, Buffer.alloc(500)]);
    bytes[frames[0]!.length + 3] = 0;
    writeFileSync(file(0), bytes);
    expect(recoverJournal(journal.folder, 0).tornBytes).toBe(500);
    const end = bytes.length - 500;
    expect(readAll(reader, 0, end).codes).toEqual([0, 1, 4, 5]);
    expect(reader.damagedBytes).toBe(frames[1]!.length);
  });

  it('begins above the highest watermark when the file ends below it', async () => {
    const end = await write([frameOf(0, 2)]);
    expect(recoverJournal(journal.folder, end + 1_000).position).toBe(end + 1_000);
    const writer = journal.open({ position: end + 1_000 });
    expect(readAll(reader, 0, end + 1_000)).toMatchObject({ codes: [0, 1], isStuck: false });
    writer.append(frameOf(2, 2), 2);
    expect(readAll(reader, 0, writer.position).codes).toEqual(codesFrom(0, 4));
    expect(readAll(reader, end + 500, writer.position).codes).toEqual([2, 3]);
    await writer.close();
  });

  it('gives an empty journal the position of the watermark', () => {
    expect(recoverJournal(journal.folder, 77)).toEqual({ position: 77, tornBytes: 0, end: 0 });
  });

  it('loses no position when the newest segment is empty or wholly torn', async () => {
    const first = await write([frameOf(0, 2)]);
    writeFileSync(file(first), 'torn');
    expect(recoverJournal(journal.folder, 0)).toEqual({
      position: first,
      tornBytes: 4,
      end: first,
    });
    const end = await write([frameOf(2, 1)]);
    expect(listSegments(journal.folder)).toEqual([0, first]);
    expect(readAll(reader, 0, end).codes).toEqual(codesFrom(0, 3));
  });

  it('keeps a torn tail where others may have it: its positions are not given out again', async () => {
    const frames = [frameOf(0, 2), frameOf(2, 1)];
    const whole = Buffer.concat(frames);
    const first = frames[0]!.length;
    for (let torn = 1; torn < whole.length - first; torn++) {
      writeFileSync(file(0), whole.subarray(0, first + torn));
      for (let time = 0; time < 2; time++) {
        expect(recoverJournal(journal.folder, 0, { torn: 'kept' })).toEqual({
          position: first + torn,
          tornBytes: torn,
          end: first + torn,
        });
      }
      journal.tails.publish(0, first + torn);
      const end = await write([frameOf(9, 1)]);
      expect(readAll(reader, 0, end)).toMatchObject({ codes: [0, 1, 9], isStuck: false });
      reader.close();
      for (const start of listSegments(journal.folder)) rmSync(file(start));
    }
  });

  it('cuts everything after a position, but never what is counted', async () => {
    const frames = [frameOf(0, 2), frameOf(2, 1), frameOf(3, 1), frameOf(4, 1)];
    const ends = frames.map((_, at) => Buffer.concat(frames.slice(0, at + 1)).length);
    const setup = (): void => {
      for (const start of listSegments(journal.folder)) rmSync(file(start));
      writeFileSync(file(0), Buffer.concat(frames.slice(0, 2)));
      writeFileSync(file(ends[1]!), frames[2]!);
      writeFileSync(file(ends[2]!), frames[3]!);
    };
    for (const [atMost, atLeast, codes] of [
      [Infinity, 0, 5],
      [ends[3]!, 0, 5],
      [ends[2]!, 0, 4],
      [ends[1]!, 0, 3],
      [ends[0]!, 0, 2],
      [0, 0, 0],
      [0, ends[1]!, 3],
      [ends[2]!, ends[0]!, 4],
    ] as const) {
      setup();
      const { position } = recoverJournal(journal.folder, atLeast, { torn: 'kept', atMost });
      expect(readAll(reader, 0, position).codes).toEqual(codesFrom(0, codes));
      expect(position).toBe(Math.min(ends[3]!, Math.max(atMost, atLeast)));
      reader.close();
    }
  });
});

describe('JournalReader', () => {
  it('finds the next frame after a damaged one, whichever byte of it, and counts what is lost', async () => {
    const frames = [frameOf(0, 2), frameOf(2, 5), frameOf(7, 2)];
    const end = await write(frames);
    const sound = readFileSync(file(0));
    for (let at = 0; at < frames[1]!.length; at++) {
      sound[frames[0]!.length + at]! ^= 0x10;
      writeFileSync(file(0), sound);
      sound[frames[0]!.length + at]! ^= 0x10;
      const own = new JournalReader(journal.folder, 1);
      expect(readAll(own, 0, end), `byte ${at}`).toMatchObject({
        codes: [0, 1, 7, 8],
        isStuck: false,
      });
      const lost = at < frameHeaderBytes ? [0, frames[1]!.length] : [5, 0];
      expect([own.damagedScans, own.damagedBytes], `byte ${at}`).toEqual(lost);
      own.close();
    }
  });

  it('finds nothing in a file of beginnings of headers', () => {
    writeFileSync(file(0), Buffer.alloc(1_000, 'QZJ1'));
    expect(readAll(reader, 0, 1_000)).toMatchObject({ codes: [], isStuck: false });
  });

  it('finds a frame whose header straddles the end of a read', async () => {
    for (let shift = -40; shift <= 4; shift += 1) {
      const own = temporaryJournal();
      const ownReader = new JournalReader(own.folder, 1);
      const frame = frameOf(5, 3);
      const garbage = Buffer.alloc(frameBytesMax + shift, 'Q');
      writeFileSync(segmentFile(own.folder, 0), Buffer.concat([garbage, frame]));
      const found = readAll(ownReader, 0, garbage.length + frame.length);
      expect(found, `shift ${shift}`).toMatchObject({ codes: [5, 6, 7], isStuck: false });
      expect(ownReader.damagedBytes).toBe(garbage.length);
      ownReader.close();
      own.remove();
    }
  });

  it('survives random damage without looping, and never gives a scan that was not written', () => {
    const frames = codesFrom(0, 12).map((index) => frameOf(index * 10, 10));
    const sound = Buffer.concat(frames);
    const property = fc.property(
      fc.array(
        fc.record({
          at: fc.nat(sound.length - 1),
          bytes: fc.uint8Array({ minLength: 1, maxLength: 60 }),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      (damages) => {
        const bytes = Buffer.from(sound);
        for (const { at, bytes: wrong } of damages)
          bytes.set(wrong.subarray(0, bytes.length - at), at);
        writeFileSync(file(0), bytes);
        const own = new JournalReader(journal.folder, 1);
        const { codes, isStuck } = readAll(own, 0, bytes.length);
        own.close();
        expect(isStuck).toBe(false);
        let at = 0;
        const intact = frames.flatMap((frame, index) => {
          const isIntact = bytes.subarray(at, at + frame.length).equals(frame);
          at += frame.length;
          return isIntact ? codesFrom(index * 10, 10) : [];
        });
        expect(codes).toEqual(intact);
      },
    );
    fc.assert(property, { numRuns: 300 });
  });
});

it('pruneJournal deletes what ends at or below the position, never more, never the newest', async () => {
  writeFileSync(`${journal.folder}/notes.txt`, 'x');
  const frames = codesFrom(0, 6).map((index) => frameOf(index, 1));
  const end = await write(frames, 1);
  const starts = listSegments(journal.folder);
  expect(starts.length).toBe(6);
  for (let position = 0; position <= end + 10; position++) {
    pruneJournal(journal.folder, position);
    const kept = starts.filter((_, i) => (starts[i + 1] ?? Number.MAX_SAFE_INTEGER) > position);
    expect(listSegments(journal.folder)).toEqual(kept);
  }
  expect(readdirSync(journal.folder)).toContain('notes.txt');
  expect(recoverJournal(journal.folder, 0).position).toBe(end);
  expect(readAll(reader, 0, end).codes).toEqual([5]);
});
