/** Single faults of a shard that the model test meets only now and then. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { partitionOf } from '../../src/model/code.ts';
import { dayMs } from '../../src/model/day.ts';
import { missedRoutes } from '../../src/model/routing/labels.ts';
import { EngineHarness, scanOf } from './engine-harness.ts';

const today = 20_730;
const input = scanOf(5);
let engine: EngineHarness;
beforeEach(() => {
  engine = new EngineHarness({ segmentBytesMax: 1 });
  engine.nowMs = today * dayMs;
});
afterEach(async () => engine.close());

const scansOf = async (fromDay: number, toDay: number): Promise<number> =>
  (await engine.queries.analytics.totals({ code: 5 }, { fromDay, toDay })).totalScans;

it('does not call consumed what it could not commit', async () => {
  engine.startShards(1);
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
  engine.startShards(1);
  for (const day of [today, 50_000, 61_439, 61_440, 70_000, 2_900_000, today + 1]) {
    engine.scan(0, day * dayMs, [input]);
    engine.settle();
    engine.checkpoint(0);
  }
  expect(engine.queries.analytics.lifetimeScans(5)).toBe(7);
  expect(await scansOf(0, 2_932_896)).toBe(7);
  expect(await scansOf(today, today + 1)).toBe(2);
  expect(await scansOf(61_439, 61_439)).toBe(4);
  engine.startShards(3);
  expect(engine.queries.analytics.lifetimeScans(5)).toBe(7);
});

it('counts people, bots and visits without a redirect apart', () => {
  engine.startShards(1);
  const crawler = 'Googlebot/2.1 (+http://www.google.com/bot.html)';
  const { paused } = missedRoutes;
  const bot = { ...input, agent: crawler, route: paused };
  engine.scan(0, engine.nowMs, [input, bot, bot, { ...input, route: paused }]);
  engine.settle();
  expect(engine.shards[0]!.figures()).toMatchObject({ scans: 1, bots: 2, missed: 1 });
});

it('lets idle actors go and counts on when their codes come back', () => {
  engine.startShards(1);
  for (let round = 0; round < 2; round++) {
    for (let codeNo = 1; codeNo <= 150; codeNo++) {
      engine.scan(0, engine.nowMs, [{ ...input, codeNo }]);
      engine.cycle(0);
    }
    engine.settle();
    engine.checkpoint(0);
    expect(engine.shards[0]!.figures().actors).toBeLessThanOrEqual(100);
  }
  for (let codeNo = 1; codeNo <= 150; codeNo++)
    expect(engine.queries.analytics.lifetimeScans(codeNo)).toBe(2);
});
