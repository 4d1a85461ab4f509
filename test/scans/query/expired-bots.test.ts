/** Bots and visits without a redirect of days whose raw scans have expired: no record has their number, so none is shown. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseDay } from '../../../src/model/day.ts';
import { calendarOf } from '../../../src/model/zones/calendar.ts';
import type { LocalRange } from '../../../src/model/zones/local-range.ts';
import { EngineHarness } from '../engine-harness.ts';

const iPhone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
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
let engine: EngineHarness;

function scanAt(at: string, agent: string): void {
  const address = Uint8Array.of(192, 0, 2, 1);
  const input = { codeNo: 1, workspaceNo: 1, agent, referer: '', address, isPrefetch: false };
  engine.scan(0, Date.parse(at), [input]);
}
function count(): void {
  engine.settle();
  engine.checkpoint(0);
}

beforeAll(() => {
  engine = new EngineHarness({
    journals: 1,
    segmentBytesMax: 1_000_000,
    actorsMax: 10,
    rawRetentionDays: 30,
    codeOf: () => undefined,
  });
  engine.nowMs = Date.parse('2026-07-03T00:00:00Z');
  engine.startShards(1);
  scanAt('2026-07-01T03:00:00Z', iPhone);
  scanAt('2026-07-01T20:00:00Z', 'Googlebot/2.1');
  scanAt('2026-07-02T20:00:00Z', 'Googlebot/2.1');
  count();
});
afterAll(() => engine.close());

test('are refused with a filter, and by days that are not cut; while all are kept, they are shown', async () => {
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
  scanAt('2026-11-02T05:00:00Z', iPhone);
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
