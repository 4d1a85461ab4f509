/** Hours of a watched subject over the real engine, against a plain count of the scans. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { readHours } from '../../src/watches/hour-history.ts';
import { EngineHarness } from '../scans/engine-harness.ts';
import { hourMs, noonMs } from './watches-fixture.ts';

const codes = [1, 2, 3] as const;
const subjects = [{ code: 1 }, { codes: [2, 3] }, { workspace: 1 }];
const counted = [[1], [2, 3], [1, 2, 3]] as const;
const agent =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 Version/17.4 Mobile/15E148';

/** Time that passes, then scans of a code. */
const step = fc.record({
  pauseHours: fc.oneof(fc.nat(3), fc.nat(40), fc.constant(24 * 20)),
  code: fc.constantFrom(...codes),
  scans: fc.nat(4),
});

test('are those of the scans', async () => {
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
      engine.nowMs = noonMs;
      engine.startShards(1);
      for (const { pauseHours, code, scans } of steps) {
        engine.nowMs += pauseHours * hourMs;
        const one = { codeNo: code, workspaceNo: 1, agent, referer: '', isPrefetch: false };
        const address = Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 9, 9, 9, 9]);
        const all = Array.from({ length: scans }, () => ({ ...one, address }));
        if (scans > 0) engine.scan(0, engine.nowMs, all);
        engine.settle();
      }
      await checkAll(engine);
    } finally {
      await engine.close();
    }
  });
  await fc.assert(property, { numRuns: 5 });
});

async function checkAll(engine: EngineHarness): Promise<void> {
  const { nowMs } = engine;
  for (const [at, subject] of subjects.entries()) {
    const { firstHour, counts } = await readHours(engine.queries.analytics, subject, nowMs);
    expect(firstHour).toBe((Math.floor(nowMs / dayMs) - 56) * 24);
    expect(counts.length).toBe(Math.floor(nowMs / hourMs) - firstHour + 1);
    const expected = Array.from({ length: counts.length }, () => 0);
    for (const { timeMs, codeNo } of engine.facts) {
      const hour = Math.floor(timeMs / hourMs) - firstHour;
      const isOfIt = counted[at]?.some((no) => no === codeNo) ?? false;
      if (isOfIt && hour >= 0) expected[hour] = (expected[hour] ?? 0) + 1;
    }
    expect(counts).toEqual(expected);
  }
}
