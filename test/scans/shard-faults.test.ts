/** Single faults of a shard that the model test meets only now and then. */
import { expect, it } from 'vitest';
import { partitionOf } from '../../src/model/code.ts';
import { dayMs } from '../../src/model/day.ts';
import { missedRoutes } from '../../src/model/routing/labels.ts';
import { scanOf } from './engine-harness.ts';
import { baseDay } from './engine-steps.ts';
import { openEngine } from './open-engine.ts';

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

it('counts once what a failed checkpoint had added', async () => {
  const engine = openEngine();
  const day = { fromDay: baseDay, toDay: baseDay };
  const { analytics, topCodes } = engine.queries;
  const counts = async (): Promise<number[]> => {
    const top = await topCodes.find({ ...day, workspaceNo: 1, limit: 10, isListed: () => true });
    return [...top.map(({ scans }) => scans), await analytics.scans({ workspace: 1 }, day)];
  };
  for (const failPoint of ['after', 'before'] as const) {
    engine.failAfter = Number.MAX_SAFE_INTEGER;
    engine.scan(0, baseDay * dayMs, [scanOf(1), scanOf(1), scanOf(1)]);
    engine.cycle(0);
    engine.failAfter = 0;
    engine.failPoint = failPoint;
    engine.checkpoint(0);
  }
  expect(engine.failures).toBe(2);
  expect(await counts()).toEqual([6, 6]);
  engine.failAfter = Number.MAX_SAFE_INTEGER;
  engine.checkpoint(0);
  expect(await counts()).toEqual([6, 6]);
  engine.startShards(1);
  expect(await counts()).toEqual([6, 6]);
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

it('ends the chain of raw scans where retention has deleted it, and reports that events are gone', async () => {
  const engine = openEngine({ rawRetentionDays: 2 });
  const { raw, events, analytics } = engine.queries;
  const cursor = events.newest();
  expect(events.isPast(cursor)).toBe(false);
  for (let day = baseDay; day < baseDay + 6; day++) {
    engine.nowMs = day * dayMs;
    engine.scan(0, engine.nowMs, [scanOf(1), scanOf(1)]);
    engine.cycle(0);
    engine.checkpoint(0);
  }
  const filter = { codeNo: 1, fromDay: baseDay, toDay: baseDay + 9, bots: 'without' } as const;
  const { scans } = raw.step(filter, raw.begin(filter)!, 100);
  const kept = [5, 5, 4, 4, 3, 3].map((day) => new Date((baseDay + day) * dayMs).toISOString());
  expect(scans.map(({ scannedAt }) => scannedAt)).toEqual(kept);
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
