/**
 * Answers of raw scans are shared by clients that ask at once, and are never older than what a client expects; bots of
 * expired days are in no record, so none is shown; new and returning scanners are near the truth.
 */
import { describe, expect, it } from 'vitest';
import { Sketch } from '../../../src/model/sketch/sketch.ts';
import { FilteredScans } from '../../../src/engine/analytics/filtered-scans.ts';
import { AnswerCache } from '../../../src/engine/analytics/raw/answer-cache.ts';
import type { RawAnswer, RawQuery } from '../../../src/engine/analytics/raw/raw-query.ts';
import { Rollup } from '../../../src/engine/counting/rollup.ts';
import { parseDay } from '../../../src/model/day.ts';
import { calendarOf } from '../../../src/model/zones/calendar.ts';
import type { LocalRange } from '../../../src/model/zones/local-range.ts';
import { scanOf } from '../counting/engine-harness.ts';
import { openEngine } from '../counting/engine-steps.ts';
import { scannersFrom } from '../../../src/engine/analytics/answers.ts';
import { visitorHashes } from '../../support/visitor-hashes.ts';

const query: RawQuery = {
  workspaceNo: 1,
  fromMs: 0,
  endMs: 900_000,
  filter: { country: 'DE' },
  of: 'workspaces',
};
const bots = { ...query, readsAll: true };
const austria = { ...query, filter: { country: 'AT' } };

/** Finds as many scans as it has. */
function counter() {
  const state = { asked: 0, scans: 5, readsAll: false };
  const none = { quarters: new Float64Array(1), codes: new Map<number, number>() };
  const run = async ({ readsAll = false }: RawQuery): Promise<RawAnswer> => {
    state.asked++;
    state.readsAll = readsAll;
    const [rollup, sketch] = [new Rollup(0), Sketch.empty()];
    return { rollup, sketch, all: state.scans, damagedBlocks: 0, ...none };
  };
  return { state, cache: new AnswerCache({ run }) };
}

it('one pass answers all clients that ask at once; other questions have their own', async () => {
  const { state, cache } = counter();
  const answers = await Promise.all(Array.from({ length: 8 }, () => cache.run(query)));
  expect(new Set(answers).size).toBe(1);
  for (const last of [2, 3]) await cache.run({ ...query, codes: Uint32Array.of(1, last) });
  await cache.run(austria);
  expect(state.asked).toBe(4);
  // What is asked of bots has no expected number, so each has a pass of its own.
  await Promise.all([cache.run(bots), cache.run(bots)]);
  expect(state.asked).toBe(6);
});

it('an answer is cached only with all expected scans, and given only with all that came since', async () => {
  const { state, cache } = counter();
  const counts: number[] = [];
  for (const expected of [9, 5, 4, 6]) {
    state.scans = Math.max(state.scans, expected === 6 ? 6 : 5);
    await cache.run({ ...query, expected });
    counts.push(state.asked);
  }
  expect(counts).toEqual([1, 2, 2, 3]);
});

it('a client that joins a pass is refused like the first; a question about bots has its own pass over all', async () => {
  const { state, cache } = counter();
  const ranges = { oldestRawMs: () => undefined, expiredBeforeMs: () => -Infinity };
  const filtered = new FilteredScans(cache, ranges, async () => 9);
  const ask = (of?: 'all') =>
    filtered.of({ workspace: 1 }, { fromDay: 0, toDay: 0 }, { country: 'DE' }, of);
  const first = ask();
  const expired = { faults: [{ code: 'raw_scans_expired' }] };
  for (const asked of [first, Promise.resolve().then(() => ask())]) {
    await expect(asked).rejects.toMatchObject(expired);
  }
  expect(state).toMatchObject({ asked: 1, readsAll: false });
  await expect(ask('all')).rejects.toMatchObject(expired);
  expect(state).toMatchObject({ asked: 2, readsAll: true });
});

const of = { workspace: 1 };
const code = { code: 1, workspace: 1 };
const filter = { os: 'iOS' };
/** Another question: what was asked a moment ago is answered as it was then. */
const other = { os: 'iOS', device: 'mobile' } as const;
const dayAt = (day: string, zone = 'UTC'): LocalRange => ({
  fromDay: parseDay(day)!,
  toDay: parseDay(day)!,
  calendar: calendarOf(zone)!,
});

it('bots of days whose raw scans expired are refused with a filter, and by days that are not cut', async () => {
  const engine = openEngine({ rawRetentionDays: 30 });
  const scanAt = (at: string, agent?: string): void =>
    engine.scan(0, Date.parse(at), [scanOf(1, agent === undefined ? {} : { agent })]);
  const count = (): void => {
    engine.settle();
    engine.checkpoint(0);
  };
  engine.nowMs = Date.parse('2026-07-03T00:00:00Z');
  scanAt('2026-07-01T03:00:00Z');
  scanAt('2026-07-01T20:00:00Z', 'Googlebot/2.1');
  scanAt('2026-07-02T20:00:00Z', 'Googlebot/2.1');
  count();
  const { analytics } = engine.queries;
  const second = dayAt('2026-07-02');
  const inIndia = dayAt('2026-07-02', 'Asia/Kolkata');
  expect(await analytics.breakdown(of, second, 'bot')).toHaveLength(1);
  const shown = await analytics.breakdown(of, inIndia, 'bot');
  expect(shown.reduce((sum, { scans }) => sum + scans, 0)).toBe(1);
  expect(await analytics.breakdown(of, second, 'bot', { filter })).toEqual([]);
  expect(await analytics.breakdown(code, second, 'missed', { filter })).toEqual([]);

  // A later block, and time: the first ones expire.
  engine.nowMs = Date.parse('2026-11-15T12:00:00Z');
  scanAt('2026-11-02T05:00:00Z');
  for (let step = 0; step < 2; step++) count();
  const expired = { faults: [{ path: 'from', code: 'raw_scans_expired' }] };
  const asked = analytics.breakdown(of, second, 'bot', { filter: other });
  await expect(asked).rejects.toMatchObject(expired);
  await expect(
    analytics.breakdown(code, second, 'missed', { filter: other }),
  ).rejects.toMatchObject(expired);
  // Of scans the records say that there are none.
  expect(await analytics.breakdown(of, second, 'city', { filter: other })).toEqual([]);
  const uncut = analytics.breakdown(of, inIndia, 'bot');
  const unavailable = { faults: [{ path: 'timezone', code: 'timezone_unavailable' }] };
  await expect(uncut).rejects.toMatchObject(unavailable);
  // Days of UTC have their bots for ever, and later ones theirs.
  expect(await analytics.breakdown(of, second, 'bot')).toHaveLength(1);
  const later = dayAt('2026-11-03');
  expect(await analytics.breakdown(of, later, 'bot', { filter: other })).toEqual([]);
});

/** Standard errors that an estimate may be off: one of 15,000 is more. */
const errorsMax = 4;

function sketchOf(first: number, count: number): Sketch {
  const hashes = visitorHashes(7);
  const sketch = Sketch.empty();
  for (let visitor = first; visitor < first + count; visitor++) {
    hashes.make(visitor);
    sketch.add(hashes.hi, hashes.lo);
  }
  return sketch;
}

const scannersOf = (now: Sketch, before: Sketch) => scannersFrom(now.estimate(), now, before);

describe.each([1_000, 100_000, 1_000_000])('%d scanners', (scanners) => {
  it.each([0, 0.1, 0.5, 1])('of whom %d had scanned before', (share) => {
    const returning = scanners * share;
    const before = sketchOf(scanners - returning, scanners);
    const found = scannersOf(sketchOf(0, scanners), before);
    const error = found.error ?? 0;
    expect(error).toBeLessThan(0.02 * scanners);
    if (scanners === 1_000) expect(error).toBe(0);
    const slack = errorsMax * error + 0.5;
    const near = (value: number | null, truth: number): void => {
      // Numbers below the error are not shown.
      if (value === null) expect(truth).toBeLessThan(10 * error + slack);
      else expect(Math.abs(value - truth)).toBeLessThanOrEqual(slack);
    };
    near(found.newScanners, scanners - returning);
    near(found.returningScanners, returning);
    if (share === 0.5) expect([found.newScanners, found.returningScanners]).not.toContain(null);
  });
});

it('all are new when there were no scans before', () => {
  const now = sketchOf(0, 100_000);
  const found = scannersOf(now, Sketch.empty());
  expect(found).toMatchObject({ newScanners: now.estimate(), returningScanners: 0 });
  expect(found.error).toBeGreaterThan(100);
  const none = { newScanners: 0, returningScanners: 0, error: 0 };
  expect(scannersOf(Sketch.empty(), sketchOf(0, 100_000))).toEqual(none);
});

it('few among very many are not shown', () => {
  const found = scannersOf(sketchOf(0, 1_000), sketchOf(500, 1_000_000));
  expect(found).toMatchObject({ newScanners: null, returningScanners: null });
  expect(found.error).toBeGreaterThan(100);
});

it('new and returning ones are no more than there were scans, whatever the sketch estimates', () => {
  const now = sketchOf(0, 100_000);
  const scanners = now.estimate() - 500;
  for (const before of [Sketch.empty(), sketchOf(50_000, 100_000)]) {
    const { newScanners, returningScanners } = scannersFrom(scanners, now, before);
    expect((newScanners ?? 0) + (returningScanners ?? 0)).toBe(scanners);
  }
});
