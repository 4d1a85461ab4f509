/** Bots and visits without a redirect of days whose raw scans have expired: no record has their number, so none is shown. */
import { expect, test } from 'vitest';
import { parseDay } from '../../../src/model/day.ts';
import { calendarOf } from '../../../src/model/zones/calendar.ts';
import type { LocalRange } from '../../../src/model/zones/local-range.ts';
import { scanOf } from '../engine-harness.ts';
import { openEngine } from '../open-engine.ts';

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

test('are refused with a filter, and by days that are not cut; while all are kept, they are shown', async () => {
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
