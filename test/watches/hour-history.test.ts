/** Hours of a watched subject over the real engine, read a little at a time, against a plain count of the scans. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { HourHistory } from '../../src/watches/hour-history.ts';
import { EngineHarness } from '../scans/engine-harness.ts';
import { hourMs, noonMs } from './watches-fixture.ts';

const codes = [1, 2, 3] as const;
const subjects = [
  { scans: { code: 1 }, key: '', beginMs: 0 },
  { scans: { codes: [2, 3] }, key: '2 3', beginMs: 0 },
  { scans: { workspace: 1 }, key: '', beginMs: 0 },
];
const counted = [[1], [2, 3], [1, 2, 3]] as const;
const agent =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 Version/17.4 Mobile/15E148';

/** Time that passes, then scans of a code, as often as a person reads. */
const step = fc.record({
  pauseHours: fc.oneof(fc.nat(3), fc.nat(40), fc.constant(24 * 20)),
  code: fc.constantFrom(...codes),
  scans: fc.nat(4),
  isRead: fc.boolean(),
});

test('are those of the scans, whatever was read before', async () => {
  const walk = fc.array(step, { minLength: 5, maxLength: 30 });
  const property = fc.asyncProperty(walk, async (steps) => {
    const engine = new EngineHarness({
      journals: 1,
      segmentBytesMax: 10_000,
      actorsMax: 4,
      rawRetentionDays: 90,
      codeOf: () => undefined,
    });
    try {
      const history = new HourHistory(engine.queries.analytics);
      engine.nowMs = noonMs;
      engine.startShards(1);
      for (const { pauseHours, code, scans, isRead } of steps) {
        engine.nowMs += pauseHours * hourMs;
        const one = { codeNo: code, workspaceNo: 1, agent, referer: '', isPrefetch: false };
        const address = Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 9, 9, 9, 9]);
        const all = Array.from({ length: scans }, () => ({ ...one, address }));
        if (scans > 0) engine.scan(0, engine.nowMs, all);
        engine.settle();
        if (isRead) await checkAll(engine, history);
      }
      await checkAll(engine, history);
    } finally {
      await engine.close();
    }
  });
  await fc.assert(property, { numRuns: 5 });
});

async function checkAll(engine: EngineHarness, history: HourHistory): Promise<void> {
  const { nowMs } = engine;
  for (const [at, subject] of subjects.entries()) {
    const times = { nowMs, countedToMs: nowMs - 2_000 };
    const { firstHour, counts } = await history.read(`wch_${at}`, subject, times);
    expect(firstHour).toBe((Math.floor(nowMs / dayMs) - 56) * 24);
    expect(counts.length).toBe(Math.floor(nowMs / hourMs) - firstHour + 1);
    const expected = Array.from({ length: counts.length }, () => 0);
    for (const { timeMs, codeNo } of engine.facts) {
      const hour = Math.floor(timeMs / hourMs) - firstHour;
      const isOfIt = counted[at]?.some((no) => no === codeNo) ?? false;
      if (isOfIt && hour >= 0) expected[hour] = (expected[hour] ?? 0) + 1;
    }
    expect(Array.from(counts)).toEqual(expected);
  }
}
