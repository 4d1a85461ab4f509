/** Copies of journals beside a writer: what is not counted, at the same positions, and no gap unnoticed. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { HeldJournals } from '../../src/engine/backup/held-journals.ts';
import { systemCopyDisk } from '../../src/engine/backup/copy-disk.ts';
import { JournalReader } from '../../src/scans/journal/reader.ts';
import { journalFolder, listSegments, pruneJournal } from '../../src/scans/journal/segments.ts';
import { JournalPositions } from '../../src/scans/journal/positions.ts';
import { JournalWriter } from '../../src/scans/journal/writer.ts';
import { codesFrom, frameOf, readAll } from '../scans/journal-files.ts';
import { openFilesIn } from '../support/leaks.ts';
import { soon } from '../support/soon.ts';

let parent: string;
let root: string;
let folder: string;
let writer: JournalWriter;
/** Where each frame begins, and the end. */
let boundaries: number[];

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'quietzone-held-'));
  root = join(parent, 'journal');
  folder = journalFolder(root, 0);
  mkdirSync(folder, { recursive: true });
  boundaries = [0];
  writer = new JournalWriter({
    folder,
    journal: 0,
    position: 0,
    segmentBytesMax: 1e9,
    segmentMsMax: 0,
    backlogBytesMax: 1e6,
    tails: new JournalPositions(),
  });
});
afterEach(async () => {
  await writer.close();
  rmSync(parent, { recursive: true });
});

function write(frames: number): void {
  for (let made = 0; made < frames; made++) {
    writer.append(frameOf(boundaries.length - 1, 1), 1);
    boundaries.push(writer.position);
  }
}

const copiesIn = (folder: string) => ({
  disk: systemCopyDisk,
  root: folder,
  onBytes: () => undefined,
});

/** The codes that a copy has, read from a position on. */
function codesOf(copies: string, from: number): number[] {
  const reader = new JournalReader(journalFolder(copies, 0), 1);
  const { codes, isStuck } = readAll(reader, from, writer.position);
  expect([isStuck, reader.damagedBytes, reader.damagedScans]).toEqual([false, 0, 0]);
  reader.close();
  return codes;
}

it('has what is not counted, whatever ended and was deleted while it was held', async () => {
  write(2);
  const held = await HeldJournals.hold(root);
  for (let segment = 0; segment < 3; segment++) {
    write(2);
    writer.rotate(0);
    await writer.sync();
    // Seen by the copier, before it is counted and deleted.
    const newest = String(listSegments(folder).at(-1));
    await expect
      .poll(() => openFilesIn(folder).filter((name) => name.includes(newest)), soon)
      .toHaveLength(2);
    pruneJournal(folder, writer.position);
  }
  write(1);
  const end = boundaries.length - 1;
  for (const counted of boundaries.keys()) {
    const from = boundaries[counted]!;
    const copies = join(parent, `copy-${counted}`);
    const files = await held.copy(copiesIn(copies), () => from);
    expect(listSegments(journalFolder(copies, 0))[0]).toBe(from);
    expect(files).toHaveLength(listSegments(journalFolder(copies, 0)).length);
    expect(codesOf(copies, from)).toEqual(codesFrom(counted, end - counted));
  }
  await held.close();
});

it('refuses when a segment came and went unseen', async () => {
  write(1);
  const held = await HeldJournals.hold(root);
  // In one go: the copier cannot look in between.
  writer.rotate(0);
  write(1);
  writer.rotate(0);
  write(1);
  pruneJournal(folder, boundaries[2]!);
  expect(await held.copy(copiesIn(join(parent, 'copy')), () => 0)).toBeUndefined();
  await held.close();
});
