/** Journals: of two processes at a takeover, of a node in a cluster, and copied for a backup. */
import { appendFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { HeldJournals } from '../../../src/app/folder/backup/held-journals.ts';
import { Journals, type JournalsOptions } from '../../../src/engine/journal/journals.ts';
import { JournalPositions } from '../../../src/engine/journal/positions.ts';
import { JournalReader } from '../../../src/engine/journal/reader.ts';
import {
  journalFolder,
  listJournals,
  listSegments,
  pruneJournal,
  type RecoverOptions,
  segmentFile,
} from '../../../src/engine/journal/segments.ts';
import { JournalWriter, type JournalWriterOptions } from '../../../src/engine/journal/writer.ts';
import { createLog } from '../../../src/platform/log.ts';
import { codesFrom, frameOf, readAll } from './journal-files.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { ignore } from '../../app/folder/whole-folder.ts';

let root = '';
beforeEach(() => {
  root = temporaryFolder();
});

const fileOf = (journal: number): string => segmentFile(journalFolder(root, journal), 0);

const open = (options: Partial<JournalsOptions>): Journals =>
  new Journals({
    root,
    threads: options.own?.length ?? 1,
    known: { numbers: () => [], endAtLeast: () => 0 },
    log: createLog('silent'),
    ...options,
  });

function openWriter(journal: number, more: Partial<JournalWriterOptions> = {}): JournalWriter {
  const { tails = new JournalPositions() } = more;
  const writer = new JournalWriter({
    folder: journalFolder(root, journal),
    journal,
    position: tails.position(journal),
    segmentBytesMax: 1e9,
    segmentMsMax: 0,
    backlogBytesMax: 1e6,
    ...more,
    tails,
  });
  onTestFinished(() => writer.close());
  return writer;
}

test('own numbers are as they are handed in, as many as threads at least, and other folders are left out', () => {
  for (const name of ['65536', '123456', 'x1']) mkdirSync(join(root, name));
  const journals = open({ own: [65_535, 7] });
  expect(journals.own).toEqual([65_535, 7]);
  expect(listJournals(root)).toEqual([7, 65_535]);
  expect(journals.tails.journals).toEqual([7, 65_535]);
  expect(() => open({ own: [7], threads: 2 })).toThrow('expected one for each of 2');
});

test('a journal that others have had more of than its files hold goes on behind that', () => {
  const known = { numbers: () => [9], endAtLeast: (journal: number) => journal * 100 };
  const journals = open({ own: [5], known });
  expect([5, 9].map((journal) => journals.tails.position(journal))).toEqual([500, 900]);
  expect(listSegments(journals.folder(9))).toEqual([900]);
});

test('journals of other nodes are recovered once, before another thread writes them', () => {
  mkdirSync(join(root, '12'));
  const file = fileOf(12);
  appendFileSync(file, 'torn');
  const journals = open({ own: [3] });
  expect(statSync(file).size).toBe(0);
  appendFileSync(file, 'half of a record that is being written');
  journals.recover(3);
  journals.deleteOwn();
  expect(statSync(file).size).toBeGreaterThan(0);
});

test('torn bytes stay where others may have had what stood there, and copies are cut back to what is whole', () => {
  for (const journal of [3, 12, 13]) {
    mkdirSync(join(root, String(journal)));
    appendFileSync(fileOf(journal), Buffer.concat([frameOf(0, 1), frameOf(1, 1), Buffer.alloc(5)]));
  }
  const frame = frameOf(0, 1).length;
  const recovery = (journal: number): RecoverOptions =>
    journal === 3 ? { torn: 'kept' } : { atMost: journal === 12 ? frame : Infinity };
  const journals = open({ own: [3], recovery });
  const ends = [2 * frame + 5, frame, 2 * frame];
  expect([3, 12, 13].map((journal) => journals.tails.position(journal))).toEqual(ends);
  expect([3, 12, 13].map((journal) => statSync(fileOf(journal)).size)).toEqual(ends);
});

test('segments are deleted below what is counted, and below what other nodes need', async () => {
  let keptFrom = 0;
  const journals = open({ own: [3], keptFrom: () => keptFrom });
  const writer = openWriter(3, { segmentBytesMax: 1, segmentMsMax: 1, tails: journals.tails });
  for (let frame = 0; frame < 4; frame++) writer.append(frameOf(frame, 1), 1);
  const folder = journals.folder(3);
  const [, second, third, fourth] = listSegments(folder) as [number, number, number, number];
  journals.deleteBelow(3, writer.position);
  expect(listSegments(folder)).toHaveLength(4);
  keptFrom = third;
  journals.deleteBelow(3, second);
  expect(listSegments(folder)).toEqual([second, third, fourth]);
  journals.deleteBelow(3, writer.position);
  expect(listSegments(folder)).toEqual([third, fourth]);
  // Nothing counts on an edge: what other nodes need decides alone.
  keptFrom = fourth;
  journals.deleteOwn();
  expect(listSegments(folder)).toEqual([fourth]);
  keptFrom = Infinity;
  journals.deleteOwn();
  expect(listSegments(folder)).toEqual([fourth]);
  // It ends after all of it was counted; what is written behind an empty one ends, too.
  for (let round = 0; round < 2; round++) {
    writer.endSegment();
    journals.deleteBelow(3, writer.position);
    expect(listSegments(folder)).toEqual([writer.position]);
    writer.append(frameOf(1, 1), 1);
  }
});

test.each([
  { others: undefined, own: [0, 1] },
  { others: [0, 1], own: [2, 3] },
  { others: [2, 3], own: [0, 1] },
  { others: [1, 2, 5], own: [0, 3] },
])('beside $others the journals are $own', ({ others, own }) => {
  expect(open({ threads: 2, others }).own).toEqual(own);
});

test("another process's journal is left as it is until that has ended, then its torn tail is cut", () => {
  const before = open({});
  const file = fileOf(0);
  appendFileSync(file, 'the first half of a record');
  const after = open({ others: before.own });
  expect(after.own).toEqual([1]);
  expect(statSync(file).size).toBeGreaterThan(0);
  expect([after.tails.journals, after.tails.position(0)]).toEqual([[0, 1], 0]);
  after.recoverOthers();
  expect(statSync(file).size).toBe(0);
  expect(readdirSync(root).toSorted()).toEqual(['0', '1']);
});

test('what an earlier process has left under our numbers, and under others, is recovered at once', () => {
  const first = open({ threads: 3 });
  for (const journal of first.own) appendFileSync(fileOf(journal), 'torn');
  const next = open({ others: [0] });
  expect(next.own).toEqual([1]);
  expect(first.own.map((journal) => statSync(fileOf(journal)).size)).toEqual([4, 0, 0]);
});

/** A journal whose copies are compared with it. */
function openCopied() {
  mkdirSync(journalFolder(root, 0), { recursive: true });
  const writer = openWriter(0);
  /** Where each frame begins, and the end. */
  const boundaries = [0];
  const held = new HeldJournals(root);
  return {
    writer,
    boundaries,
    held,
    write: (frames: number): void => {
      for (let made = 0; made < frames; made++) {
        writer.append(frameOf(boundaries.length - 1, 1), 1);
        boundaries.push(writer.position);
      }
    },
    prune: (to: number) => pruneJournal(journalFolder(root, 0), to),
    copy: (copies: string, from: number) => held.copy(copies, ignore, () => from),
  };
}

test('a copy has what is not counted, whatever is deleted once it is held', async () => {
  const { writer, boundaries, held, write, prune, copy } = openCopied();
  write(2);
  for (let segment = 0; segment < 3; segment++) {
    await held.hold();
    prune(writer.position);
    write(2);
    writer.rotate(0);
    await writer.sync();
  }
  await held.hold();
  prune(writer.position);
  write(1);
  await held.hold();
  const end = boundaries.length - 1;
  for (const [counted, from] of boundaries.entries()) {
    const copies = temporaryFolder();
    const files = await copy(copies, from);
    const segments = listSegments(journalFolder(copies, 0));
    expect([segments[0], files.length]).toEqual([from, segments.length]);
    const reader = new JournalReader(journalFolder(copies, 0), 1);
    const { codes, isStuck } = readAll(reader, from, writer.position);
    expect([isStuck, reader.damagedBytes, reader.damagedScans]).toEqual([false, 0, 0]);
    reader.close();
    expect(codes).toEqual(codesFrom(counted, end - counted));
  }
  await held.close();
});

test('a copy is refused when a segment came and went between the two looks', async () => {
  const { writer, boundaries, held, write, prune, copy } = openCopied();
  write(1);
  await held.hold();
  writer.rotate(0);
  write(1);
  writer.rotate(0);
  write(1);
  prune(boundaries[2]!);
  await held.hold();
  await expect(copy(temporaryFolder(), 0)).rejects.toThrow(/grows faster than it is read/);
  await held.close();
});
