/** Sealed frames, and journals in a temporary folder. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partitionOf } from '../../../src/model/code.ts';
import type { JournalReader } from '../../../src/engine/journal/reader.ts';
import { JournalPositions } from '../../../src/engine/journal/positions.ts';
import { JournalWriter, type JournalWriterOptions } from '../../../src/engine/journal/writer.ts';
import { RecordCursor, ScanBatch } from '../../../src/engine/journal/record.ts';

const batch = new ScanBatch();

/** A frame of `scans` scans whose code numbers count up from `firstCode`, copied out of the batch. */
export function frameOf(firstCode: number, scans: number, agent = 'agent'): Buffer {
  for (let i = 0; i < scans; i++) {
    const codeNo = firstCode + i;
    batch.add(partitionOf(codeNo), codeNo, 1, 0, Uint8Array.of(192, 0, 2, 1), agent, '');
  }
  return Buffer.from(batch.finish(1_000 + firstCode));
}

/** The code numbers of all scans that a reader gives from `from` to `tail`, and where it ends. */
export function readAll(reader: JournalReader, from: number, tail: number) {
  const codes: number[] = [];
  const cursor = new RecordCursor();
  let at = from;
  for (let reads = 0; at < tail; reads++) {
    const next = reader.read(at, tail, (bytes, frameAt) => {
      cursor.open(bytes, frameAt);
      while (cursor.next()) codes.push(cursor.codeNo);
    });
    if (next <= at) return { codes, at, isStuck: true };
    if (reads > 10_000) throw new Error('Cannot read the journal: no end');
    at = next;
  }
  return { codes, at, isStuck: false };
}

export const codesFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index);

export type TemporaryJournal = ReturnType<typeof temporaryJournal>;

export function temporaryJournal() {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-journal-'));
  const tails = new JournalPositions();
  const bounds = { segmentBytesMax: 1e9, segmentMsMax: 1e9, backlogBytesMax: 1e6 };
  return {
    folder,
    tails,
    /** Writers of a journal start where the last one ended, or at `position`. */
    open: (more: Partial<JournalWriterOptions> = {}): JournalWriter =>
      new JournalWriter({
        folder,
        journal: 0,
        position: tails.position(0),
        ...bounds,
        tails,
        ...more,
      }),
    remove: (): void => rmSync(folder, { recursive: true }),
  };
}
