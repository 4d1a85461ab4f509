/** Copies of journals beside a writer: what is not counted, at the same positions, and no gap unnoticed. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { HeldJournals } from '../../src/engine/backup/held-journals.ts';
import { JournalReader } from '../../src/scans/journal/reader.ts';
import { journalFolder, listSegments, pruneJournal } from '../../src/scans/journal/segments.ts';
import { JournalPositions } from '../../src/scans/journal/positions.ts';
import { JournalWriter } from '../../src/scans/journal/writer.ts';
import { codesFrom, frameOf, readAll } from '../scans/journal-files.ts';
import { temporaryFolder } from '../store/temporary-management.ts';

let parent: string;
let root: string;
let folder: string;
let writer: JournalWriter;
/** Where each frame begins, and the end. */
let boundaries: number[];

beforeEach(() => {
  parent = temporaryFolder();
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
afterEach(() => writer.close());

function write(frames: number): void {
  for (let made = 0; made < frames; made++) {
    writer.append(frameOf(boundaries.length - 1, 1), 1);
    boundaries.push(writer.position);
  }
}

const copyOf = (held: HeldJournals, root: string, from: number) =>
  held.copy(
    root,
    () => undefined,
    () => from,
  );

/** The codes that a copy has, read from a position on. */
function codesOf(copies: string, from: number): number[] {
  const reader = new JournalReader(journalFolder(copies, 0), 1);
  const { codes, isStuck } = readAll(reader, from, writer.position);
  expect([isStuck, reader.damagedBytes, reader.damagedScans]).toEqual([false, 0, 0]);
  reader.close();
  return codes;
}

it('has what is not counted, whatever is deleted once it is held', async () => {
  write(2);
  const held = new HeldJournals(root);
  for (let segment = 0; segment < 3; segment++) {
    await held.hold();
    pruneJournal(folder, writer.position);
    write(2);
    writer.rotate(0);
    await writer.sync();
  }
  await held.hold();
  pruneJournal(folder, writer.position);
  write(1);
  await held.hold();
  const end = boundaries.length - 1;
  for (const counted of boundaries.keys()) {
    const from = boundaries[counted]!;
    const copies = join(parent, `copy-${counted}`);
    const files = await copyOf(held, copies, from);
    expect(listSegments(journalFolder(copies, 0))[0]).toBe(from);
    expect(files).toHaveLength(listSegments(journalFolder(copies, 0)).length);
    expect(codesOf(copies, from)).toEqual(codesFrom(counted, end - counted));
  }
  await held.close();
});

it('refuses when a segment came and went between the two looks', async () => {
  write(1);
  const held = new HeldJournals(root);
  await held.hold();
  writer.rotate(0);
  write(1);
  writer.rotate(0);
  write(1);
  pruneJournal(folder, boundaries[2]!);
  await held.hold();
  await expect(copyOf(held, join(parent, 'copy'), 0)).rejects.toThrow(
    /grows faster than it is read/,
  );
  await held.close();
});
