/** What hours say: averages, silence and spikes, and the hours themselves, against naive counts. */
import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import {
  averageOf,
  type Evidence,
  expectedLeast,
  isSilence,
  lastHourOf,
  lastScanMs,
  quietOf,
  spikeScansLeast,
} from '../../../src/product/watches/expectation.ts';
import { dayMs, hourMs } from '../../../src/model/day.ts';
import { localHoursOf, readHours } from '../../../src/product/watches/hour-history.ts';
import { iPhone } from '../../api/analytics/counted-api.ts';
import { scanOf } from '../../engine/counting/engine-harness.ts';
import { openEngine } from '../../engine/counting/engine-steps.ts';
import { noonMs } from './watches-fixture.ts';

const week = 168;
const length = 9 * week;
const firstHour = 490_000;
const endHour = firstHour + length - 1;

/** @param scansOf of an hour of the series, 0 = the first */
function evidence(scansOf: (at: number) => number, more: Partial<Evidence> = {}): Evidence {
  return {
    firstHour,
    counts: Uint32Array.from({ length }, (_, at) => scansOf(at)),
    endHour,
    knownFrom: firstHour,
    observedFrom: firstHour,
    isInGap: () => false,
    offsetOf: () => 0,
    ...more,
  };
}

test('the average of an hour is that of the newest four weeks of those before, gaps and later hours left out', () => {
  const counts = fc.array(fc.nat(50), { minLength: length, maxLength: length });
  const gaps = fc.uniqueArray(fc.nat(8), { maxLength: 7 });
  const known = fc.integer({ min: 0, max: length });
  fc.assert(
    fc.property(counts, gaps, known, fc.nat(week), (scans, gapWeeks, from, back) => {
      const hour = endHour - 1;
      const given = evidence((at) => scans[at] ?? 0, {
        knownFrom: firstHour + from,
        isInGap: (at) => gapWeeks.includes((hour - at) / week),
      });
      const before = hour - back * 2;
      const samples = [1, 2, 3, 4, 5, 6, 7, 8]
        .filter((weeks) => !gapWeeks.includes(weeks))
        .map((weeks) => hour - weeks * week)
        .filter((at) => at < before && at >= given.knownFrom)
        .slice(0, 4)
        .map((at) => scans[at - firstHour] ?? 0);
      const average = samples.reduce((sum, one) => sum + one, 0) / samples.length;
      expect(averageOf(given, hour, before)).toBe(samples.length < 2 ? undefined : average);
    }),
    { numRuns: 200 },
  );
});

test('an hour is compared with the same one on the clocks of the zone, also where they change', () => {
  // Open from 8 to 20 in Berlin, whose clocks were set back in the night to 25 October 2026.
  const from = Date.UTC(2026, 8, 20) / hourMs;
  const nowMs = Date.UTC(2026, 9, 27, 12);
  const offsetOf = localHoursOf('Europe/Berlin');
  const counts = Array.from({ length: nowMs / hourMs - from + 1 }, (_, at) => {
    const local = (from + at + offsetOf(from + at)) % 24;
    return local >= 8 && local < 20 ? 9 : 0;
  });
  const berlin = evidence(() => 0, { firstHour: from, knownFrom: from, counts, offsetOf });
  for (let hour = Date.UTC(2026, 9, 26) / hourMs; hour < nowMs / hourMs; hour++) {
    expect([hour, averageOf(berlin, hour, hour)]).toEqual([hour, counts[hour - from]]);
  }
  expect([offsetOf(Date.UTC(2026, 9, 25) / hourMs), offsetOf(nowMs / hourMs)]).toEqual([2, 1]);
});

describe('silence', () => {
  /** Two scans an hour until `hours` before the end. */
  const stopped = (hours: number, more: Partial<Evidence> = {}): Evidence =>
    evidence((at) => (at < length - 1 - hours ? 2 : 0), more);

  test('needs the hours that are asked for, and eight scans that should have been', () => {
    const quiet = quietOf(stopped(6));
    expect(quiet).toEqual({ sinceMs: (endHour - 6) * hourMs, hours: 6, expected: 12 });
    expect([6, 7].map((hours) => isSilence(quiet!, hours))).toEqual([true, false]);
    expect(isSilence(quietOf(stopped(3))!, 1)).toBe(false);
    expect(isSilence(quietOf(stopped(expectedLeast / 2))!, 1)).toBe(true);
  });

  test('a scan in the hour that is not over ends it, and without a quiet hour there is no silence', () => {
    expect(quietOf(evidence((at) => (at === length - 1 ? 1 : 0)))).toBeUndefined();
    expect(quietOf(stopped(0))).toBeUndefined();
  });

  test('hours in a gap, and before it was known whether the service ran, are none of it', () => {
    const gap = (hour: number): boolean => hour >= endHour - 4 && hour < endHour - 1;
    expect(quietOf(stopped(6, { isInGap: gap }))).toMatchObject({ hours: 3, expected: 6 });
    expect(quietOf(stopped(6, { observedFrom: endHour - 2 }))).toMatchObject({ hours: 2 });
    expect(quietOf(stopped(6, { observedFrom: endHour }))).toBeUndefined();
  });

  test('does not become what is usual: two weeks of it are compared with the weeks before', () => {
    const quiet = quietOf(stopped(2 * week));
    expect(quiet).toMatchObject({ hours: 2 * week, expected: 4 * week });
  });

  test('what is never scanned at night is not missed at night', () => {
    const byDay = evidence((at) => (at % 24 >= 8 && at % 24 < 20 ? 5 : 0));
    const seven = 8 * week + 24 * 6 + 7;
    const counts = Array.from(byDay.counts).slice(0, seven + 1);
    const quiet = quietOf({ ...byDay, counts, endHour: firstHour + seven });
    expect(quiet).toMatchObject({ hours: 11, expected: 0 });
  });

  test('the last scan is known by its hour', () => {
    expect(lastScanMs(stopped(6))).toBe((endHour - 6) * hourMs);
    expect(lastScanMs(evidence(() => 0))).toBeUndefined();
  });
});

describe('the last hour', () => {
  const last = length - 2;
  const withLast = (scans: number, usual: number): Evidence =>
    evidence((at) => (at === last ? scans : usual));
  const isSpike = (scans: number, usual: number, factor = 3): boolean =>
    lastHourOf(withLast(scans, usual), factor)?.isSpike ?? false;

  test('is a spike by factor, least number and more than chance', () => {
    expect([isSpike(29, 10), isSpike(30, 10)]).toEqual([false, true]);
    expect([isSpike(spikeScansLeast - 1, 1), isSpike(spikeScansLeast, 1)]).toEqual([false, true]);
    // Twice 12 is 24, and chance goes up to 12 + 5 √12 = 29.3.
    expect([isSpike(29, 12, 2), isSpike(30, 12, 2)]).toEqual([false, true]);
  });

  test('is usual again below half of the way to the factor, and neither in between', () => {
    const read = (scans: number) => lastHourOf(withLast(scans, 100), 3);
    expect(read(199)).toMatchObject({ isUsual: true, isSpike: false });
    expect(read(200)).toMatchObject({ isUsual: false, isSpike: false });
    expect(read(300)).toMatchObject({ isUsual: false, isSpike: true, expected: 100, scans: 300 });
  });

  test('says nothing in a gap, or without two weeks before it', () => {
    const hour = firstHour + last;
    const spiking = withLast(500, 10);
    expect(lastHourOf({ ...spiking, isInGap: (at) => at === hour }, 3)).toBeUndefined();
    expect(lastHourOf({ ...spiking, knownFrom: hour - week }, 3)).toBeUndefined();
    expect(lastHourOf({ ...spiking, knownFrom: hour - 2 * week }, 3)?.isSpike).toBe(true);
  });
});

test('hours of a watched subject are those of eight weeks, up to the present one', async () => {
  const engine = openEngine();
  const oldestMs = noonMs - 60 * dayMs;
  for (let atMs = oldestMs; atMs <= noonMs; atMs += 7 * hourMs) {
    const codeNo = 1 + (Math.floor(atMs / hourMs) % 3);
    engine.scan(0, atMs, Array(codeNo).fill(scanOf(codeNo, { agent: iPhone })));
  }
  engine.nowMs = noonMs;
  engine.settle();
  const subjects = [
    [{ code: 1 }, [1]],
    [{ codes: [2, 3] }, [2, 3]],
    [{ workspace: 1 }, [1, 2, 3]],
  ] as const;
  for (const [subject, codeNos] of subjects) {
    const { firstHour: from, counts } = await readHours(engine.queries.analytics, subject, noonMs);
    expect(from).toBe((Math.floor(noonMs / dayMs) - 56) * 24);
    const expected = Array<number>(Math.floor(noonMs / hourMs) - from + 1).fill(0);
    for (const { timeMs, codeNo } of engine.facts) {
      const at = Math.floor(timeMs / hourMs) - from;
      if (at >= 0 && codeNos.some((no) => no === codeNo)) expected[at]! += 1;
    }
    expect(counts).toEqual(expected);
  }
});
