/** Sealed frames, and journals in a temporary folder. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partitionOf } from '../../src/model/code.ts';
import type { JournalReader } from '../../src/scans/journal/reader.ts';
import { JournalPositions } from '../../src/scans/journal/positions.ts';
import { type JournalDisk, JournalWriter, systemDisk } from '../../src/scans/journal/writer.ts';
import { RecordCursor, ScanBatch } from '../../src/scans/record.ts';

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

export interface TemporaryJournal {
  readonly folder: string;
  readonly tails: JournalPositions;
  /** Writers of a journal start where the last one ended, or at `position`. */
  open(options?: {
    position?: number;
    segmentBytesMax?: number;
    segmentMsMax?: number;
    backlogBytesMax?: number;
    disk?: JournalDisk;
    onWork?: () => void;
  }): JournalWriter;
  remove(): void;
}

export function temporaryJournal(): TemporaryJournal {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-journal-'));
  const tails = new JournalPositions();
  return {
    folder,
    tails,
    open: ({
      position = tails.position(0),
      segmentBytesMax = 1e9,
      segmentMsMax = 1e9,
      backlogBytesMax = 1e6,
      disk = systemDisk,
      onWork = () => undefined,
    } = {}) =>
      new JournalWriter({
        folder,
        journal: 0,
        position,
        segmentBytesMax,
        segmentMsMax,
        backlogBytesMax,
        tails,
        disk,
        onWork,
      }),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
