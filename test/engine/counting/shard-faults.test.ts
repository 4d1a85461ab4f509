/**
 * Single faults of a shard that the model test meets only now and then, and journals that appear later or are not in place.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { partitionOf } from '../../../src/model/code.ts';
import { dayMs } from '../../../src/model/day.ts';
import { missedRoutes } from '../../../src/model/routing/labels.ts';
import { EngineHarness, scanOf } from './engine-harness.ts';
import { baseDay, openEngine } from './engine-steps.ts';

const input = scanOf(5);

it('does not call consumed what it could not commit', async () => {
  const engine = openEngine({ segmentBytesMax: 1 });
  for (let i = 0; i < 4; i++) engine.scan(0, engine.nowMs + i, [input]);
  engine.failAfter = 0;
  engine.cycle(0);
  expect(engine.failures).toBe(1);
  expect(await engine.shards[0]?.consumed()).toEqual([{ journal: 0, position: 0 }]);
  await engine.pruneJournals();
  engine.startShards(1);
  engine.settle();
  expect(engine.queries.analytics.lifetimeScans(5)).toBe(4);
});

it('tries a checkpoint again that was not committed, where only other shards have blocks', () => {
  const engine = openEngine({ segmentBytesMax: 1 });
  engine.startShards(2);
  for (let i = 0; i < 70; i++) engine.scan(0, engine.nowMs + i, [input]);
  const owner = partitionOf(input.codeNo) % 2;
  const other = engine.shards[1 - owner]!;
  while (!other.isIdle) engine.cycle(1 - owner);
  while (engine.cycle(owner));
  for (let cycle = 0; cycle < 3; cycle++) {
    engine.failAfter = 0;
    engine.failPoint = 'after';
    engine.cycle(1 - owner);
    expect([engine.failures, other.isIdle]).toEqual([cycle + 1, false]);
  }
  engine.settle();
  expect(other.isIdle).toBe(true);
});

it('keeps every number when the clock was wrong by a century, and counts on', async () => {
  const engine = openEngine();
  const scansOf = async (fromDay: number, toDay: number): Promise<number> =>
    await engine.queries.analytics.scans({ code: 5 }, { fromDay, toDay });
  for (const day of [baseDay, 50_000, 61_439, 61_440, 70_000, 2_900_000, baseDay + 1]) {
    engine.scan(0, day * dayMs, [input]);
    engine.settle();
    engine.checkpoint(0);
  }
  expect(engine.queries.analytics.lifetimeScans(5)).toBe(7);
  expect(await scansOf(0, 2_932_896)).toBe(7);
  expect(await scansOf(baseDay, baseDay + 1)).toBe(2);
  expect(await scansOf(61_439, 61_439)).toBe(4);
  engine.startShards(3);
  expect(engine.queries.analytics.lifetimeScans(5)).toBe(7);
});

it('keeps the chain of raw scans where a checkpoint comes while a window waits for its commit', () => {
  const engine = openEngine({ actorsMax: 2 });
  const scan = (second: number, ...codeNos: number[]): void => {
    const inputs = codeNos.map((codeNo) => scanOf(codeNo));
    engine.scan(0, baseDay * dayMs + second * 1_000, inputs);
  };
  scan(1, 1, 2);
  engine.cycle(0);
  scan(2, 3);
  engine.cycle(0);
  scan(3, 1);
  engine.failAfter = 0;
  engine.cycle(0);
  expect(engine.failures).toBe(1);
  engine.failAfter = Number.MAX_SAFE_INTEGER;
  engine.checkpoint(0);
  engine.cycle(0);
  scan(4, 1);
  engine.settle();
  const { raw } = engine.queries;
  const filter = { codeNo: 1, fromDay: baseDay, toDay: baseDay, bots: 'without' } as const;
  const { scans } = raw.step(filter, raw.begin(filter)!, 100);
  expect(scans.map(({ scannedAt }) => new Date(scannedAt).getSeconds())).toEqual([4, 3, 1]);
});

it('keeps old scans until their events are delivered, then ends the chain of raw scans where they were', async () => {
  const engine = openEngine({ rawRetentionDays: 2 });
  const { raw, events, analytics } = engine.queries;
  const [shard] = engine.shards;
  shard!.delivered(0);
  const cursor = events.newest();
  expect(events.isPast(cursor)).toBe(false);
  for (let day = baseDay; day < baseDay + 6; day++) {
    engine.nowMs = day * dayMs;
    engine.scan(0, engine.nowMs, [scanOf(1), scanOf(1)]);
    engine.cycle(0);
    engine.checkpoint(0);
  }
  const filter = { codeNo: 1, fromDay: baseDay, toDay: baseDay + 9, bots: 'without' } as const;
  const days = (): number[] =>
    raw
      .step(filter, raw.begin(filter)!, 100)
      .scans.map(({ scannedAt }) => Date.parse(scannedAt) / dayMs - baseDay);
  expect(days()).toEqual([5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0]);
  expect(events.isPast(cursor)).toBe(false);
  shard!.delivered(Number.MAX_SAFE_INTEGER);
  engine.checkpoint(0);
  expect(days()).toEqual([5, 5, 4, 4, 3, 3]);
  expect(await analytics.scans({ code: 1 }, filter)).toBe(12);
  expect(events.isPast(cursor)).toBe(true);
  expect(events.isPast(events.newest())).toBe(false);
});

it('counts scans, bots and visits without a redirect apart in the figures of a shard', () => {
  const engine = openEngine();
  const agent = 'Googlebot/2.1 (+http://www.google.com/bot.html)';
  const paused = scanOf(5, { route: missedRoutes.paused });
  engine.scan(0, engine.nowMs, [scanOf(5), paused, paused, scanOf(5, { ...paused, agent })]);
  engine.settle();
  expect(engine.shards[0]!.figures()).toMatchObject({ scans: 1, bots: 1, missed: 2 });
});

const countedBy = ({ queries }: EngineHarness): number => queries.analytics.lifetimeScans(5);

it.each(['none', 'empty'] as const)(
  'waits for a folder that is not in place (%s in its place), also when it starts again meanwhile',
  (replacement) => {
    const engine = openEngine({ journals: 2, segmentBytesMax: 1 });
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
      expect(countedBy(engine)).toBe(1);
      for (const shard of [0, 1]) expect(engine.lag.of(shard, 0).bytes).toBeGreaterThan(0);
      engine.startShards(2);
    }
    engine.showJournals();
    engine.settle();
    expect(engine.shards.map(({ journalFault }) => journalFault)).toEqual([undefined, undefined]);
    expect(countedBy(engine)).toBe(4);
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
  const engine = openEngine({ journals: 2, segmentBytesMax: 1 });
  engine.startShards(2);
  engine.settle();
  engine.openJournal(7);
  for (const journal of [0, 1, 7]) engine.scan(journal, 1_000, [input]);
  engine.settle();
  expect([countedBy(engine), engine.lag.uncountedBytes]).toEqual([3, 0]);
  const put = vi.spyOn(engine.store.watermarks, 'put');
  onTestFinished(() => put.mockRestore());
  engine.scan(7, 2_000, [input]);
  engine.settle();
  expect(countedBy(engine)).toBe(4);
  const written = put.mock.calls.map(([key]) => Math.floor(key / 64));
  expect([new Set(written), written.length]).toEqual([new Set([7]), 64]);
});
