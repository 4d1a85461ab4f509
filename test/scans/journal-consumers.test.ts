/** A shard follows the journals that exist, whenever they appear, and waits for those that are not in place. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { JournalConsumers } from '../../src/scans/journal/consumers.ts';
import { identify } from '../../src/scans/journal/file-identity.ts';
import { JournalPositions } from '../../src/scans/journal/positions.ts';
import { journalFolder } from '../../src/scans/journal/segments.ts';
import { JournalWriter } from '../../src/scans/journal/writer.ts';
import { EngineHarness, scanOf } from './engine-harness.ts';
import { frameOf } from './journal-files.ts';

const input = scanOf(5);
let engine: EngineHarness;
beforeEach(() => {
  engine = new EngineHarness({ journals: 2, segmentBytesMax: 1 });
});
afterEach(async () => engine.close());

const counted = (): number => engine.queries.analytics.lifetimeScans(5);

it('counts a journal that another thread begins later', () => {
  engine.startShards(2);
  engine.settle();
  engine.openJournal(7);
  engine.scan(7, 1_000, [input, input]);
  expect(engine.lag.of(1, 0).bytes).toBeGreaterThan(0);
  engine.settle();
  expect(counted()).toBe(2);
  expect(engine.lag.uncountedBytes).toBe(0);
});

it.each(['none', 'empty'] as const)(
  'waits for a folder that is not in place (%s in its place), also when it starts again meanwhile',
  (replacement) => {
    engine.startShards(2);
    engine.scan(0, 1_000, [input]);
    engine.settle();
    engine.scan(0, 1_000, [input, input]);
    engine.scan(1, 1_000, [input]);
    engine.hideJournals(replacement);
    const before = engine.journalNames;
    for (let start = 0; start < 2; start++) {
      // Nothing more can be read, and no read repeats.
      for (const shard of [0, 1]) expect(engine.cycle(shard)).toBe(false);
      expect(engine.shards.map(({ journalFault }) => journalFault)).toEqual([
        expect.stringContaining('journal'),
        expect.stringContaining('journal'),
      ]);
      expect(counted()).toBe(1);
      for (const shard of [0, 1]) expect(engine.lag.of(shard, 0).bytes).toBeGreaterThan(0);
      engine.startShards(2);
    }
    expect(engine.journalNames).toEqual(before);
    engine.showJournals();
    engine.settle();
    expect(engine.shards.map(({ journalFault }) => journalFault)).toEqual([undefined, undefined]);
    expect(counted()).toBe(4);
    expect(engine.lag.uncountedBytes).toBe(0);
    expect(engine.shards.map((shard) => shard.figures().damagedBytes)).toEqual([0, 0]);
  },
);

it('a cycle takes so many bytes of all journals together; the next one continues with the others', () => {
  const root = mkdtempSync(join(tmpdir(), 'quietzone-consumers-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const [tails, consumed] = [new JournalPositions(), new JournalPositions()];
  const journals = [3, 9, 40_000, 65_535];
  // 100 KB a frame.
  const agent = 'a'.repeat(200);
  for (const journal of journals) {
    const folder = journalFolder(root, journal);
    mkdirSync(folder);
    const writer = new JournalWriter({
      folder,
      journal,
      position: 0,
      segmentBytesMax: 1e9,
      segmentMsMax: 1e9,
      backlogBytesMax: 0,
      tails,
    });
    for (let frame = 0; frame < 30; frame++) writer.append(frameOf(frame, 500, agent), 500);
  }
  const consumers = new JournalConsumers({
    root: identify(root),
    tails,
    consumed,
    bytesMax: 1_048_576,
    watermarksOf: () => new Float64Array(64),
  });
  const seen = new Map<number, number>();
  const order: number[][] = [];
  while (consumers.hasMore) {
    const now = new Map<number, number>();
    consumers.follow();
    consumers.read(({ journal }) => void now.set(journal, (now.get(journal) ?? 0) + 1));
    expect([...now.values()].reduce((sum, count) => sum + count, 0)).toBeLessThan(22);
    for (const [journal, count] of now) seen.set(journal, (seen.get(journal) ?? 0) + count);
    order.push([...now.keys()]);
  }
  consumers.close();
  expect(seen).toEqual(new Map(journals.map((journal) => [journal, 30])));
  expect(new Set(order.slice(0, 4).flat())).toEqual(new Set(journals));
});

it('writes the marks of those journals alone that it has read', () => {
  engine.startShards(2);
  engine.openJournal(7);
  for (const journal of [0, 1, 7]) engine.scan(journal, 1_000, [input]);
  engine.settle();
  const put = vi.spyOn(engine.store.watermarks, 'put');
  onTestFinished(() => put.mockRestore());
  engine.scan(7, 2_000, [input]);
  engine.settle();
  expect(counted()).toBe(4);
  const written = put.mock.calls.map(([key]) => Math.floor(key / 64));
  expect([new Set(written), written.length]).toEqual([new Set([7]), 64]);
});
