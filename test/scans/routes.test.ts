/** Where scans led. */
import { expect, it, onTestFinished } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { missedRoutes } from '../../src/model/routing/labels.ts';
import { storedBlocks } from '../../src/scans/stored-blocks.ts';
import { EngineHarness, type ScanInput } from './engine-harness.ts';
import { baseDay, codeOf } from './engine-steps.ts';

const always = { fromDay: baseDay - 60, toDay: baseDay + 60 };
const nameOf = (route: number): string => (route === 0 ? 'target' : `number ${route}`);

function scansOf(codeNo: number, routes: readonly number[], agent = ''): ScanInput[] {
  return routes.map((route, index) => {
    const address = Uint8Array.of(192, 0, 2, index);
    return { codeNo, workspaceNo: 1, agent, referer: '', address, isPrefetch: false, route };
  });
}

function openEngine(): EngineHarness {
  const engine = new EngineHarness({
    journals: 1,
    segmentBytesMax: 100_000,
    actorsMax: 4,
    rawRetentionDays: 400,
    codeOf,
  });
  onTestFinished(() => engine.close());
  engine.nowMs = baseDay * dayMs;
  engine.startShards(1);
  return engine;
}

it('are counted on after a restart, from blocks and rollups', async () => {
  const engine = openEngine();
  const { analytics, raw } = engine.queries;
  // In a month's record, in the newest day, and in a block that no rollup has yet.
  for (const day of [baseDay - 40, baseDay]) {
    engine.scan(0, day * dayMs, scansOf(5, [0, 0]));
    engine.settle();
    engine.checkpoint(0);
  }
  engine.scan(0, baseDay * dayMs, scansOf(5, [0, 0, 0]));
  engine.settle();
  engine.startShards(1);
  expect([...storedBlocks(engine.store, {})].every(([, block]) => block !== undefined)).toBe(true);
  expect(await analytics.routes({ code: 5 }, always, nameOf)).toEqual([
    { key: 'target', scans: 7 },
  ]);
  expect(analytics.routesSeen(5)).toEqual(new Set());
  engine.scan(0, baseDay * dayMs, scansOf(5, [2, 2, 58, missedRoutes.expired]));
  const wanted = [
    { key: 'target', scans: 7 },
    { key: 'number 2', scans: 2 },
    { key: 'number 58', scans: 1 },
  ];
  for (const step of [() => engine.settle(), () => engine.checkpoint(0)]) {
    step();
    expect(await analytics.routes({ code: 5 }, always, nameOf)).toEqual(wanted);
    expect(await analytics.missed({ code: 5 }, always)).toEqual([{ key: 'expired', scans: 1 }]);
    expect(analytics.routesSeen(5)).toEqual(new Set([2, 58]));
    expect(analytics.lifetimeScans(5)).toBe(10);
  }
  const filter = { ...always, codeNo: 5, bots: 'with' } as const;
  expect(raw.step(filter, raw.begin(filter)!, 100).scans).toHaveLength(10);
});

it('a code that only led nowhere has no scans, in no list and for no visitor', async () => {
  const engine = openEngine();
  const { analytics, raw, events, topCodes } = engine.queries;
  const { paused, used_up: usedUp } = missedRoutes;
  engine.scan(0, baseDay * dayMs, scansOf(5, [paused, paused, usedUp]));
  for (const step of [() => engine.settle(), () => engine.checkpoint(0)]) {
    step();
    for (const subject of [{ code: 5 }, { codes: [5] }, { workspace: 1 }]) {
      const { totalScans, uniqueScanners, devices } = await analytics.totals(subject, always);
      expect([totalScans, uniqueScanners, devices.other]).toEqual([0, 0, 0]);
    }
    expect(await analytics.scansByCode([5], always)).toEqual([]);
    const all = { ...always, workspaceNo: 1, limit: 5, isListed: () => true };
    expect(await topCodes.find(all)).toEqual([]);
    expect(raw.begin({ ...always, codeNo: 5, bots: 'with' })).toBeUndefined();
    expect(events.page(1, undefined, 10).data).toEqual([]);
    expect(await analytics.routes({ code: 5 }, always, nameOf)).toEqual([]);
    expect(analytics.routesSeen(5)).toEqual(new Set());
    expect(await analytics.missed({ code: 5 }, always)).toEqual([
      { key: 'paused', scans: 2 },
      { key: 'used_up', scans: 1 },
    ]);
  }
  expect(engine.shards[0]!.figures()).toMatchObject({ scans: 0, bots: 0, missed: 3 });
});

it('bots count by reason alone, whatever a code did with them', async () => {
  const engine = openEngine();
  const { analytics } = engine.queries;
  const crawler = 'Googlebot/2.1 (+http://www.google.com/bot.html)';
  engine.scan(0, baseDay * dayMs, scansOf(5, [0, 3, missedRoutes.paused], crawler));
  engine.settle();
  engine.checkpoint(0);
  expect(await analytics.breakdown({ code: 5 }, always, 'bot')).toEqual([{ key: 'bot', scans: 3 }]);
  expect(await analytics.routes({ code: 5 }, always, nameOf)).toEqual([]);
  expect(await analytics.missed({ code: 5 }, always)).toEqual([]);
  expect(analytics.routesSeen(5)).toEqual(new Set());
});
