/** A shard follows the journals that exist, whenever they appear, and waits for those that are not in place. */
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { EngineHarness, scanOf } from './engine-harness.ts';

const input = scanOf(5);
let engine: EngineHarness;
beforeEach(() => {
  engine = new EngineHarness({ journals: 2, segmentBytesMax: 1 });
});
afterEach(async () => engine.close());

const counted = (): number => engine.queries.analytics.lifetimeScans(5);

it.each(['none', 'empty'] as const)(
  'waits for a folder that is not in place (%s in its place), also when it starts again meanwhile',
  (replacement) => {
    engine.startShards(2);
    engine.scan(0, 1_000, [input]);
    engine.settle();
    engine.scan(0, 1_000, [input, input]);
    engine.scan(1, 1_000, [input]);
    engine.hideJournals(replacement);
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
    engine.showJournals();
    engine.settle();
    expect(engine.shards.map(({ journalFault }) => journalFault)).toEqual([undefined, undefined]);
    expect(counted()).toBe(4);
    expect(engine.lag.uncountedBytes).toBe(0);
    expect(engine.shards.map((shard) => shard.figures().damagedBytes)).toEqual([0, 0]);
  },
);

it('a cycle takes so many bytes of all journals together; the next one continues with the others', () => {
  const windowBytesMax = 1_048_576;
  const large = new EngineHarness({ journals: 0, segmentBytesMax: 1e9, windowBytesMax });
  onTestFinished(() => large.close());
  const journals = [3, 9, 40_000, 65_535];
  // 3 MB a journal.
  const scans = Array.from({ length: 15_000 }, () => scanOf(5, { agent: 'a'.repeat(200) }));
  for (const journal of journals) {
    large.openJournal(journal);
    large.scan(journal, 1_000, scans);
  }
  large.startShards(1);
  for (let cycles = 1, left = large.lag.uncountedBytes; large.cycle(0); cycles++) {
    const before = left;
    left = large.lag.uncountedBytes;
    expect(before - left).toBeLessThan(2.2 * windowBytesMax);
    if (cycles !== 4) continue;
    expect(new Set(large.committed().map(({ journal }) => journal))).toEqual(new Set(journals));
  }
  expect(large.queries.analytics.lifetimeScans(5)).toBe(4 * scans.length);
});

it('counts a journal that another thread begins later, and writes the marks of those alone that it has read', () => {
  engine.startShards(2);
  engine.settle();
  engine.openJournal(7);
  for (const journal of [0, 1, 7]) engine.scan(journal, 1_000, [input]);
  engine.settle();
  expect([counted(), engine.lag.uncountedBytes]).toEqual([3, 0]);
  const put = vi.spyOn(engine.store.watermarks, 'put');
  onTestFinished(() => put.mockRestore());
  engine.scan(7, 2_000, [input]);
  engine.settle();
  expect(counted()).toBe(4);
  const written = put.mock.calls.map(([key]) => Math.floor(key / 64));
  expect([new Set(written), written.length]).toEqual([new Set([7]), 64]);
});
