/** Single faults of a shard that the model test meets only now and then. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { EngineHarness, type ScanInput } from './engine-harness.ts';

const today = 20_730;
const input: ScanInput = {
  codeNo: 5,
  workspaceNo: 1,
  agent: '',
  referer: '',
  address: Uint8Array.of(192, 0, 2, 1),
  isPrefetch: false,
};
let rig: EngineHarness;
beforeEach(() => {
  rig = new EngineHarness({
    journals: 1,
    segmentBytesMax: 1,
    actorsMax: 100,
    rawRetentionDays: 30,
    codeIdOf: (codeNo) => `qr_${codeNo}`,
  });
  rig.nowMs = today * dayMs;
});
afterEach(async () => rig.close());

it('does not call consumed what it could not commit', async () => {
  rig.startShards(1);
  for (let i = 0; i < 4; i++) rig.scan(0, rig.nowMs + i, [input]);
  rig.failAfter = 0;
  rig.turn(0);
  expect(rig.failures).toBe(1);
  expect(await rig.shards[0]?.consumed()).toEqual([{ journal: 0, position: 0 }]);
  await rig.trimJournals();
  rig.startShards(1);
  rig.settle();
  expect(rig.report.lifetimeScans(5)).toBe(4);
});

it('keeps every number when the clock was wrong by a century, and counts on', () => {
  rig.startShards(1);
  for (const day of [today, 50_000, 61_439, 61_440, 70_000, 2_900_000, today + 1]) {
    rig.scan(0, day * dayMs, [input]);
    rig.settle();
    rig.checkpoint(0);
  }
  expect(rig.report.lifetimeScans(5)).toBe(7);
  expect(rig.report.analytics(5, 0, 2_932_896).totalScans).toBe(7);
  expect(rig.report.analytics(5, today, today + 1).totalScans).toBe(2);
  expect(rig.report.analytics(5, 61_439, 61_439).totalScans).toBe(4);
  rig.startShards(3);
  expect(rig.report.lifetimeScans(5)).toBe(7);
});

it('deletes raw scans after their time and keeps the numbers', () => {
  rig.startShards(2);
  for (let day = 0; day < 40; day++) {
    rig.nowMs = (today + day) * dayMs;
    rig.scan(0, rig.nowMs, [input]);
    rig.settle();
    for (const shard of [0, 1, 0]) rig.checkpoint(shard);
  }
  const events = rig.report.events(1, undefined, 1_000).data;
  expect(events.length).toBe(31);
  expect(rig.report.analytics(5, 0, 61_000).totalScans).toBe(40);
});

it('lets idle actors go and counts on when their codes come back', () => {
  rig.startShards(1);
  for (let round = 0; round < 2; round++) {
    for (let codeNo = 1; codeNo <= 150; codeNo++) {
      rig.scan(0, rig.nowMs, [{ ...input, codeNo }]);
      rig.turn(0);
    }
    rig.settle();
    rig.checkpoint(0);
    expect(rig.shards[0]!.figures().actors).toBeLessThanOrEqual(100);
  }
  for (let codeNo = 1; codeNo <= 150; codeNo++) expect(rig.report.lifetimeScans(codeNo)).toBe(2);
});
