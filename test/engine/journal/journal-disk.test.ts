/**
 * The journal writer on a disk that fails: what it was given comes out in order and once, or is counted as dropped; when it
 * needs no timer, and that no publish is slept through.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JournalReader } from '../../../src/engine/journal/reader.ts';
import { identify } from '../../../src/engine/journal/file-identity.ts';
import { journalFolder, listSegments, pruneJournal } from '../../../src/engine/journal/segments.ts';
import {
  type JournalDisk,
  diskAt,
  refusedWriteText,
  systemDisk,
} from '../../../src/engine/journal/writer.ts';
import {
  codesFrom,
  frameOf,
  readAll,
  temporaryJournal,
  type TemporaryJournal,
} from './journal-files.ts';
import { JournalPositions } from '../../../src/engine/journal/positions.ts';

it('a refused write names what is free and how long a file may be', () => {
  const limit = (soft: string): void =>
    void execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${soft}:`]);
  limit('8589934592');
  const text = refusedWriteText('/tmp/a.log', 'wrote 1 of 2 bytes');
  limit('unlimited');
  expect(text).toMatch(/bytes; \d+ MiB are free, a file may have 8589934592 bytes \(ulimit -f\)$/);
});

/** The real disk, until a test makes it fail. Syncs end when the test says so. */
class MoodyDisk implements JournalDisk {
  isFull = false;
  canOpen = true;
  /** Bytes that still fit; then writes are short, then ENOSPC. */
  bytesLeft = Number.MAX_SAFE_INTEGER;
  readonly descriptors = new Set<number>();
  readonly syncs: Array<{ descriptor: number; end: (error?: Error) => void }> = [];
  isSyncManual = false;
  syncError: Error | null = null;

  open(file: string): number {
    if (!this.canOpen) throw new Error('ENOSPC: cannot open');
    const descriptor = systemDisk.open(file);
    this.descriptors.add(descriptor);
    return descriptor;
  }
  write(descriptor: number, bytes: Uint8Array, offset: number): number {
    if (this.isFull || this.bytesLeft === 0) throw new Error('ENOSPC: no space left');
    const fitting = bytes.subarray(0, this.bytesLeft);
    this.bytesLeft -= fitting.length;
    return systemDisk.write(descriptor, fitting, offset);
  }
  sync(descriptor: number, done: (error: Error | null) => void): void {
    if (!this.descriptors.has(descriptor))
      throw new Error(`sync of ${descriptor}, which is closed`);
    const end = (error?: Error): void => done(error ?? this.syncError);
    if (this.isSyncManual) this.syncs.push({ descriptor, end });
    else setImmediate(end);
  }
  close(descriptor: number): void {
    if (!this.descriptors.delete(descriptor)) throw new Error(`close of ${descriptor} twice`);
    systemDisk.close(descriptor);
  }
}

let journal: TemporaryJournal;
let disk: MoodyDisk;
let reader: JournalReader;
beforeEach(() => {
  journal = temporaryJournal();
  disk = new MoodyDisk();
  reader = new JournalReader(journal.folder, 1);
});
afterEach(() => {
  reader.close();
  journal.remove();
});
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it.each(['nothing', 'another folder'])(
  'a segment whose folder is not in place continues with %s at its path',
  async (replacement) => {
    const root = journal.folder;
    const folder = journalFolder(root, 0);
    mkdirSync(folder);
    const bounds = { segmentBytesMax: 300, segmentMsMax: 0, backlogBytesMax: 1_000 };
    const writer = journal.open({ folder, ...bounds, disk: diskAt(identify(root)) });
    writer.append(frameOf(0, 5), 5);
    const away = `${root}.away`;
    renameSync(root, away);
    if (replacement === 'another folder') mkdirSync(folder, { recursive: true });
    for (let code = 5; code < 45; code += 5) writer.append(frameOf(code, 5), 5);
    writer.rotate(0);
    writer.rotate(0);
    expect([writer.fault, writer.waitingScans, writer.droppedScans]).toEqual([undefined, 0, 0]);
    if (replacement === 'another folder') expect(listSegments(folder)).toEqual([]);
    rmSync(root, { recursive: true, force: true });
    renameSync(away, root);
    writer.endSegment();
    writer.append(frameOf(45, 5), 5);
    expect(listSegments(folder).length).toBeGreaterThan(1);
    const ownReader = new JournalReader(folder, 1, identify(root));
    expect(readAll(ownReader, 0, writer.position).codes).toEqual(codesFrom(0, 50));
    ownReader.close();
    await writer.close();
  },
);

it('append and retry keep order and give every frame once, or drop it beyond the backlog, whatever the disk does', async () => {
  const frameBytes = frameOf(0, 1).length;
  const mood = fc.oneof(
    { weight: 4, arbitrary: fc.record({ scans: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 2, arbitrary: fc.constantFrom('retry', 'sync', 'rotate') },
    { weight: 2, arbitrary: fc.record({ bytesLeft: fc.nat(300) }) },
    { weight: 1, arbitrary: fc.record({ canOpen: fc.boolean() }) },
  );
  const property = fc.asyncProperty(
    fc.array(mood, { minLength: 5, maxLength: 60 }),
    fc.integer({ min: 1, max: 400 }),
    fc.constantFrom(0, frameBytes, 3 * frameBytes, 1e6),
    async (moods, segmentBytesMax, backlogBytesMax) => {
      const own = temporaryJournal();
      const moody = new MoodyDisk();
      const bounds = { segmentBytesMax, segmentMsMax: 0, backlogBytesMax };
      const writer = own.open({ disk: moody, ...bounds });
      const ownReader = new JournalReader(own.folder, 1);
      const taken: Array<{ readonly codes: readonly number[]; readonly bytes: number }> = [];
      const codesTaken = () => taken.flatMap(({ codes }) => codes);
      const waitingBytes = (): number => {
        let scans = writer.waitingScans;
        const waiting = taken.toReversed().filter(({ codes }) => (scans -= codes.length) >= 0);
        return waiting.reduce((sum, { bytes }) => sum + bytes, 0);
      };
      for (const [at, step] of moods.entries()) {
        if (typeof step === 'object' && 'scans' in step) {
          const frame = frameOf(3 * at, step.scans);
          const [dropped, waiting] = [writer.droppedScans, waitingBytes()];
          writer.append(frame, step.scans);
          if (writer.droppedScans === dropped) {
            taken.push({ codes: codesFrom(3 * at, step.scans), bytes: frame.length });
          } else {
            expect(writer.droppedScans).toBe(dropped + step.scans);
            expect(waiting + frame.length).toBeGreaterThan(backlogBytesMax);
          }
          expect(waitingBytes()).toBeLessThanOrEqual(backlogBytesMax);
          if (writer.fault !== undefined)
            expect(writer.fault).toMatch(/\.log: .*; \d+ MiB are free/);
          // As the next batch writes over it: what waits is a copy.
          frame.fill(0);
        } else if (step === 'retry') writer.retry();
        else if (step === 'rotate') writer.rotate(0);
        else if (step === 'sync') await writer.sync().catch(() => undefined);
        else Object.assign(moody, step);
        const { codes, isStuck } = readAll(ownReader, 0, own.tails.position(0));
        expect(isStuck).toBe(false);
        expect(codes).toEqual(codesTaken().slice(0, codesTaken().length - writer.waitingScans));
      }
      moody.bytesLeft = Number.MAX_SAFE_INTEGER;
      moody.canOpen = true;
      writer.retry();
      expect(writer.waitingScans).toBe(0);
      writer.append(frameOf(1_000, 1), 1);
      expect(writer.fault).toBeUndefined();
      expect(readAll(ownReader, 0, writer.position).codes).toEqual([...codesTaken(), 1_000]);
      await writer.close();
      expect(moody.descriptors.size).toBe(0);
      ownReader.close();
      own.remove();
    },
  );
  await fc.assert(property, { numRuns: 100 });
});

describe('sync', () => {
  it('resolves at once when nothing is new, and shares the next sync otherwise', async () => {
    const writer = journal.open({ disk });
    await writer.sync();
    disk.isSyncManual = true;
    const done: string[] = [];
    const sync = (name: string): void => void writer.sync().then(() => done.push(name));
    writer.append(frameOf(0, 1), 1);
    sync('a');
    writer.append(frameOf(1, 1), 1);
    sync('b');
    sync('c');
    expect(disk.syncs.length).toBe(1);
    disk.syncs[0]!.end();
    await tick();
    expect(done).toEqual(['a']);
    expect(disk.syncs.length).toBe(2);
    writer.append(frameOf(2, 1), 1);
    sync('d');
    disk.syncs[1]!.end();
    await tick();
    expect(done).toEqual(['a', 'b', 'c']);
    disk.syncs[2]!.end();
    await tick();
    expect(done).toEqual(['a', 'b', 'c', 'd']);
    disk.isSyncManual = false;
    await writer.close();
  });

  it('rejects while frames wait, and covers the segments that were left behind by failed ones', async () => {
    const writer = journal.open({ disk, segmentBytesMax: 1 });
    for (let i = 0; i < 4; i++) writer.append(frameOf(i, 1), 1);
    disk.syncError = new Error('EIO');
    await expect(writer.sync()).rejects.toThrow('EIO');
    expect(disk.descriptors.size).toBe(4);
    disk.syncError = null;
    disk.isSyncManual = true;
    const done = writer.sync();
    const synced = new Set<number>();
    for (let i = 0; i < 4; i++) {
      synced.add(disk.syncs[i]!.descriptor);
      disk.syncs[i]!.end();
      await tick();
    }
    await done;
    expect(synced.size).toBe(4);
    expect(disk.descriptors.size).toBe(1);
    disk.isSyncManual = false;
    disk.isFull = true;
    writer.append(frameOf(4, 1), 1);
    await expect(writer.sync()).rejects.toThrow('ENOSPC');
    disk.isFull = false;
    writer.retry();
    await writer.sync();
    await writer.close();
    expect(disk.descriptors.size).toBe(0);
  });
});

describe('rotate', () => {
  it('ends a segment once its records are old, and lets go of it when it is synced', async () => {
    const writer = journal.open({ disk, segmentMsMax: 60_000 });
    writer.rotate(0);
    expect(listSegments(journal.folder)).toEqual([]);
    writer.append(frameOf(0, 2), 2);
    writer.rotate(1_000);
    writer.rotate(60_999);
    expect(listSegments(journal.folder)).toEqual([0]);
    await writer.sync();
    writer.rotate(61_000);
    expect(listSegments(journal.folder)).toEqual([0, writer.position]);
    expect(disk.descriptors.size).toBe(2);
    await writer.sync();
    expect(disk.descriptors.size).toBe(1);
    writer.rotate(1e9);
    expect(pruneJournal(journal.folder, writer.position)).toEqual([writer.position]);
    expect(listSegments(journal.folder)).toEqual([writer.position]);
    writer.append(frameOf(2, 1), 1);
    expect(readAll(reader, frameOf(0, 2).length, writer.position).codes).toEqual([2]);
    await writer.close();
    expect(disk.descriptors.size).toBe(0);
  });

  it('syncs ended segments before it closes them, also during another sync', async () => {
    const writer = journal.open({ disk, segmentMsMax: 0 });
    writer.append(frameOf(0, 1), 1);
    disk.isSyncManual = true;
    const first = writer.sync();
    writer.rotate(0);
    const [started] = disk.syncs;
    // Nothing was appended since: the sync under way covers all of it, and still uses the descriptor.
    expect(disk.descriptors.has(started!.descriptor)).toBe(true);
    started!.end();
    await first;
    await writer.sync();
    expect(disk.descriptors.size).toBe(1);
    disk.isSyncManual = false;
    await writer.close();
  });
});

it('needs a timer from the first scan until it is synced, and when its segment is old', async () => {
  const segmentMsMax = 60_000;
  let work = 0;
  const writer = journal.open({ segmentMsMax, onWork: () => work++ });
  expect(writer.idleMs(0)).toBe(Infinity);
  writer.append(frameOf(0, 1), 1);
  writer.append(frameOf(1, 1), 1);
  expect(work).toBe(1);
  writer.rotate(1_000);
  expect(writer.idleMs(1_000)).toBe(0);
  const synced = writer.sync();
  expect(writer.idleMs(1_000)).toBe(0);
  await synced;
  writer.append(frameOf(2, 1), 1);
  expect([work, writer.idleMs(1_200)]).toEqual([1, 0]);
  await writer.sync();
  expect(writer.idleMs(1_400)).toBe(segmentMsMax - 400);
  writer.append(frameOf(3, 1), 1);
  expect(work).toBe(2);
  await writer.sync();
  writer.rotate(segmentMsMax + 1_000);
  // The segment has ended: its descriptor is closed by the next call.
  expect(writer.idleMs(segmentMsMax + 1_000)).toBe(0);
  await writer.sync();
  expect(writer.idleMs(segmentMsMax + 1_200)).toBe(Infinity);
  await writer.close();
});

it('a sleeper is woken once by the next publish, and not put to sleep behind one', async () => {
  const writers = new JournalPositions();
  const sleepers = [new JournalPositions(writers.memory), new JournalPositions(writers.memory)];
  const woken = sleepers.map(() => 0);
  const sleep = (at: number, seen: number): boolean =>
    sleepers[at]!.sleep(
      () => writers.position(0) > seen,
      () => void woken[at]!++,
    );
  expect(writers.isAwaited).toBe(false);
  // Asked twice, as by a thread that looks now and then: woken once.
  expect([sleep(0, 0), sleep(0, 0), sleep(1, 0), writers.isAwaited]).toEqual(Array(4).fill(true));
  writers.publish(0, 10);
  expect(writers.isAwaited).toBe(false);
  await expect.poll(() => woken).toEqual([1, 1]);
  expect(sleep(0, 0)).toBe(false);
  expect(sleep(0, 10)).toBe(true);
  expect(sleep(1, 10)).toBe(true);
  writers.publish(3, 20);
  await expect.poll(() => woken).toEqual([2, 2]);
});
