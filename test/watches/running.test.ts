/** Whether the service was there to count: what a restart, a stop and a clock that steps leave of an hour. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunningRecord } from '../../src/model/watches/watch.ts';
import { hourMs } from '../../src/model/day.ts';
import { nextRecord, observedFrom, wasDown } from '../../src/watches/running.ts';
import { noonMs, openWatchesFixture } from './watches-fixture.ts';

const minuteMs = 60_000;
const record = { sinceMs: noonMs, lastMs: noonMs, gaps: [] } satisfies RunningRecord;

describe('the record', () => {
  test('goes on over a restart of three minutes, and has a gap for a longer one', () => {
    expect(nextRecord(record, noonMs + minuteMs - 1)).toBeUndefined();
    expect(nextRecord(record, noonMs + 3 * minuteMs)).toEqual({
      ...record,
      lastMs: noonMs + 3 * minuteMs,
    });
    const backMs = noonMs + 2 * hourMs + 1;
    const after = nextRecord(record, backMs);
    expect(after).toEqual({ sinceMs: noonMs, lastMs: backMs, gaps: [[noonMs, backMs]] });
    const hour = noonMs / hourMs;
    const down = [hour - 1, hour, hour + 1, hour + 2, hour + 3].map((at) => wasDown(after!, at));
    expect(down).toEqual([false, true, true, true, false]);
    expect(observedFrom({ ...record, sinceMs: noonMs + 1 })).toBe(hour + 1);
  });

  test('a clock that is set back begins again, and leaves out what it said of the time to come', () => {
    const gap = [noonMs - 3 * hourMs, noonMs - hourMs] as const;
    const nowMs = noonMs - 2 * hourMs;
    expect(nextRecord({ ...record, gaps: [gap] }, nowMs)).toEqual({
      sinceMs: nowMs,
      lastMs: nowMs,
      gaps: [[gap[0], nowMs]],
    });
  });

  test('however it was stopped, no time without it counts as running, and it is bounded', () => {
    const pauses = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 400 });
    fc.assert(
      fc.property(pauses, (minutes) => {
        let now: RunningRecord = record;
        let nowMs = noonMs;
        const down: Array<readonly [number, number]> = [];
        for (const pause of minutes) {
          const lastMs = now.lastMs;
          nowMs += pause * minuteMs;
          now = nextRecord(now, nowMs) ?? now;
          if (nowMs - lastMs > 3 * minuteMs) down.push([lastMs, nowMs]);
        }
        expect(now.gaps.length).toBeLessThanOrEqual(200);
        for (const [fromMs, toMs] of down) {
          expect(now.gaps.some(([from, to]) => from <= fromMs && to >= toMs)).toBe(true);
        }
      }),
      { numRuns: 50 },
    );
  });
});

test('is kept while there is a watch, and while scans are counted', async () => {
  const fixture = await openWatchesFixture();
  const { app } = fixture;
  const running = () => app.store.watches.running.get('service');
  await fixture.evaluate();
  expect(running()).toBeUndefined();
  const id = await fixture.watch({ silentHours: 6 });
  await fixture.evaluate();
  expect(running()).toEqual({ sinceMs: noonMs, lastMs: noonMs, gaps: [] });
  app.health = { ready: false, checks: [] };
  app.clock.move(10 * minuteMs);
  await fixture.evaluate();
  expect(running()?.lastMs).toBe(noonMs);
  app.health = { ready: true, checks: [] };
  await fixture.evaluate();
  expect(running()?.gaps).toEqual([[noonMs, noonMs + 10 * minuteMs]]);
  await app.watches.watches.delete(fixture.actor, id);
  await fixture.evaluate();
  expect(running()).toBeUndefined();
});
