/** The journals of other nodes on the disk of a core: how they are written, and what a start leaves of them. */
import { appendFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JournalFilesSink } from '../../../src/cluster/scans/journal-sink.ts';
import { ReadPositions, takeAsWhole } from '../../../src/cluster/scans/received-positions.ts';
import { type DataFolder, dataFolderAt } from '../../../src/app/folder/data-folder.ts';
import { Journals } from '../../../src/engine/journal/journals.ts';
import {
  journalFolder,
  listSegments,
  pruneJournal,
  segmentFile,
} from '../../../src/engine/journal/segments.ts';
import { type JournalDisk, systemDisk } from '../../../src/engine/journal/writer.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import { createLog } from '../../../src/platform/log.ts';
import { frameOf } from '../../engine/journal/journal-files.ts';
import { openFilesIn } from '../../support/leaks.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { JournalCopies, visits } from './journal-copies.ts';

/** The real disk, until the test makes it refuse. */
class Disk implements JournalDisk {
  bytesLeft = Infinity;
  canOpen = true;
  syncFault: Error | null = null;
  /** The only file that cannot be synced then. */
  syncFaultOf: string | undefined;
  /** Syncs wait here while there is a list. */
  held: Array<() => void> | undefined;
  readonly synced: string[] = [];
  readonly #files = new Map<number, string>();

  open(file: string): number {
    if (!this.canOpen) throw new Error('ENOSPC: cannot open');
    const descriptor = systemDisk.open(file);
    this.#files.set(descriptor, file);
    return descriptor;
  }
  write(descriptor: number, bytes: Uint8Array, offset: number): number {
    if (this.bytesLeft === 0) throw new Error('ENOSPC: no space left');
    const fitting = bytes.subarray(0, this.bytesLeft);
    this.bytesLeft -= fitting.length;
    return systemDisk.write(descriptor, fitting, offset);
  }
  sync(descriptor: number, done: (error: Error | null) => void): void {
    const end = (): void => {
      const file = this.#files.get(descriptor)!;
      const fault = (this.syncFaultOf ?? file) === file ? this.syncFault : null;
      if (fault === null) this.synced.push(file);
      done(fault);
    };
    if (this.held === undefined) setImmediate(end);
    else this.held.push(end);
  }
  close(descriptor: number): void {
    systemDisk.close(descriptor);
  }
}

const piece = Buffer.concat([frameOf(0, 2), frameOf(2, 1)]);
const tick = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

let copies: JournalCopies;
let disk: Disk;
let sink: JournalFilesSink;
beforeEach(() => {
  copies = new JournalCopies();
  disk = new Disk();
  sink = copies.sink(1e9, disk);
});
afterEach(async () => {
  disk.syncFault = null;
  disk.held = undefined;
  await sink.close();
  expect(openFilesIn(copies.root)).toEqual([]);
  copies.remove();
});

const framesOf = (journal: number): number =>
  visits(copies.core(journal), copies.coreTails.position(journal)).frames.length;
const fileOf = (journal: number, start: number): string => segmentFile(copies.core(journal), start);

describe('a piece that the disk refuses', () => {
  it.each(['full', 'half', 'no file'])('counts nothing, and is taken once it fits: %s', (how) => {
    sink.write(0, 0, piece);
    if (how === 'no file') disk.canOpen = false;
    disk.bytesLeft = how === 'half' ? 70 : how === 'full' ? 0 : Infinity;
    const journal = how === 'no file' ? 1 : 0;
    const tail = sink.tail(journal);
    for (let round = 0; round < 2; round++) {
      expect(() => sink.write(journal, tail, piece)).toThrow('cannot be written');
      expect([sink.tail(journal), copies.coreTails.position(journal)]).toEqual([tail, tail]);
    }
    disk.bytesLeft = Infinity;
    disk.canOpen = true;
    sink.write(journal, tail, piece);
    sink.write(journal, tail + piece.length, piece);
    expect(sink.tail(journal)).toBe(tail + 2 * piece.length);
    expect(framesOf(0) + framesOf(1)).toBe(journal === 0 ? 6 : 2 + 4);
  });

  it('does so behind a hole as well', async () => {
    sink.write(0, 0, piece);
    disk.bytesLeft = 10;
    expect(() => sink.write(0, 1_000, piece)).toThrow('cannot be written');
    disk.bytesLeft = Infinity;
    sink.write(0, 1_000, piece);
    expect(sink.tail(0)).toBe(1_000 + piece.length);
    const found = visits(copies.core(), sink.tail(0));
    expect([found.frames.length, found.damagedBytes]).toEqual([4, 1_000 - piece.length]);
    await sink.sync();
  });
});

describe('sync', () => {
  it('reaches each journal, and each segment that has ended', async () => {
    await sink.close();
    sink = copies.sink(piece.length, disk);
    for (const position of [0, piece.length]) sink.write(0, position, piece);
    for (const position of [0, 500]) sink.write(1, position, piece);
    await sink.sync();
    expect(disk.synced.toSorted()).toEqual(
      [fileOf(0, 0), fileOf(0, piece.length), fileOf(1, 0), fileOf(1, 500)].toSorted(),
    );
    expect(openFilesIn(copies.root).length).toBe(2);
  });

  it('fails as long as anything is not on the disk, also what was written before a hole', async () => {
    sink.write(0, 0, piece);
    sink.write(0, 1_000, piece);
    disk.syncFault = new Error('EIO');
    disk.syncFaultOf = fileOf(0, 0);
    await expect(sink.sync()).rejects.toThrow('EIO');
    await expect(sink.sync()).rejects.toThrow('EIO');
    disk.syncFault = null;
    await sink.sync();
    expect(disk.synced.toSorted()).toEqual([fileOf(0, 0), fileOf(0, 1_000)]);
    expect(openFilesIn(copies.root).length).toBe(1);
    sink.write(0, sink.tail(0), piece);
    await sink.sync();
  });

  it('waits for all that was written when it began, also where a hole comes meanwhile', async () => {
    disk.held = [];
    sink.write(0, 0, piece);
    sink.write(1, 0, piece);
    let isDone = false;
    const syncing = sink.sync().then(() => (isDone = true));
    sink.write(1, 1_000, piece);
    for (let round = 0; round < 9 && !disk.synced.includes(fileOf(1, 0)); round++) {
      expect(isDone).toBe(false);
      disk.held.shift()?.();
      await tick();
    }
    expect(disk.synced.slice(0, 2)).toEqual([fileOf(0, 0), fileOf(1, 0)]);
    await syncing;
  });
});

it('a segment with old records is ended, and leaves the disk once it is deleted', async () => {
  sink.write(0, 0, piece);
  await sink.sync();
  await sink.rotate(0);
  await sink.rotate(1);
  expect(listSegments(copies.core())).toEqual([0, piece.length]);
  pruneJournal(copies.core(), piece.length);
  expect(openFilesIn(copies.root)).toEqual([fileOf(0, piece.length)]);
  sink.write(0, piece.length, piece);
  expect(sink.tail(0)).toBe(2 * piece.length);
});

describe('a start', () => {
  const frame = frameOf(0, 1);
  const tornBytes = 5;

  let folder: DataFolder;
  beforeEach(async () => {
    folder = dataFolderAt(join(copies.root, 'whole'));
    mkdirSync(folder.journalRoot, { recursive: true });
    await openScanStore(folder.scansFile, 'create').environment.close();
  });

  function segment(journal: number, start: number, bytes: Uint8Array): void {
    mkdirSync(journalFolder(folder.journalRoot, journal), { recursive: true });
    appendFileSync(segmentFile(journalFolder(folder.journalRoot, journal), start), bytes);
  }

  /** Bytes on the disk, by journal. */
  const bytesOf = (journal: number): number[] => {
    const path = journalFolder(folder.journalRoot, journal);
    return readdirSync(path).map((name) => statSync(join(path, name)).size);
  };

  /** As a core does at its start. @returns where each journal continues */
  async function recover(journals: readonly number[]): Promise<number[]> {
    const { environment } = openScanStore(folder.scansFile);
    const positions = new ReadPositions(environment);
    const { tails } = new Journals({
      root: folder.journalRoot,
      threads: 1,
      own: [9],
      known: { numbers: () => [], endAtLeast: () => 0 },
      recovery: (journal) => ({ torn: 'kept', atMost: positions.wholeTo(journal) }),
      log: createLog('silent'),
    });
    await environment.close();
    return journals.map((journal) => tails.position(journal));
  }

  it('a core cuts nothing off the journals of a folder that came to it whole', async () => {
    segment(0, 0, Buffer.concat([frame, frame]));
    segment(0, 2 * frame.length, Buffer.concat([frame, Buffer.alloc(tornBytes)]));
    // All of it is counted.
    segment(3, 1_000, Buffer.alloc(0));
    mkdirSync(journalFolder(folder.journalRoot, 7));
    await takeAsWhole(folder);
    expect(await recover([0, 3, 7])).toEqual([3 * frame.length + tornBytes, 1_000, 0]);
    // What is torn may be whole on another node: it stays, and an empty segment ends it.
    expect(bytesOf(0)).toEqual([2 * frame.length, frame.length + tornBytes, 0]);
  });

  it('without it they are cut to what this core has received', async () => {
    segment(0, 0, frame);
    expect(await recover([0])).toEqual([0]);
    expect(bytesOf(0)).toEqual([0]);
  });

  it('how far the log was read stays, and journals that are not here have no tail', async () => {
    segment(0, 0, frame);
    const { environment } = openScanStore(folder.scansFile);
    await new ReadPositions(environment).save({ seq: 12, tails: new Map([[5, 70]]) });
    await environment.close();
    await takeAsWhole(folder);
    await takeAsWhole(folder);
    const again = openScanStore(folder.scansFile).environment;
    const read = new ReadPositions(again).read();
    await again.close();
    expect(read).toEqual({ seq: 12, tails: new Map([[0, frame.length]]) });
  });

  it('damaged, the log is read from its beginning and no journal is cut', async () => {
    segment(0, 0, frame);
    await takeAsWhole(folder);
    const stored = new StoredBytes(folder.scansFile);
    for (const key of stored.keys('cluster')) stored.flip('cluster', key, 42);
    await stored.close();
    const { environment } = openScanStore(folder.scansFile);
    expect(new ReadPositions(environment).read()).toEqual({ seq: 0, tails: new Map() });
    await environment.close();
    expect(await recover([0])).toEqual([frame.length]);
  });
});
