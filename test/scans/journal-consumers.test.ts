/** A shard follows the journals that exist, whenever they appear, and waits for those that are not in place. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EngineHarness, type ScanInput } from './engine-harness.ts';

const input: ScanInput = {
  codeNo: 5,
  workspaceNo: 1,
  agent: '',
  referer: '',
  address: Uint8Array.of(192, 0, 2, 1),
  isPrefetch: false,
};
let engine: EngineHarness;
beforeEach(() => {
  engine = new EngineHarness({
    journals: 2,
    segmentBytesMax: 1,
    actorsMax: 100,
    rawRetentionDays: 30,
    codeIdOf: (codeNo) => `qr_${codeNo}`,
  });
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
      // Nothing more can be read, and nobody may read in circles.
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
