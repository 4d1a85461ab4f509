/** Analytics with `compare`, through HTTP: both periods in one shape, each counted once, over scans in a real engine. */
import { describe, expect, test, vi } from 'vitest';
import { type Compare, comparedDays } from '../../../src/api/analytics/comparison.ts';
import { dayMs, dayOf, formatDay, parseDay } from '../../../src/model/day.ts';
import type { LocalRange } from '../../../src/model/zones/local-range.ts';
import { type Json, word } from '../../support/client.ts';
import { useCountedApi } from './counted-api.ts';

describe('a range that holds the present is compared until the same moment', async () => {
  // A Saturday, 01:52 in Berlin.
  const { get, code, scan, checkpoint } = await useCountedApi(Date.parse('2026-11-28T00:52:00Z'));

  const made = await code();
  const path = `/qr-codes/${made.id}/analytics`;
  // Long ago: its raw scans expire.
  scan(made, '2025-11-27T12:00:00+01:00', 5);
  scan(made, '2025-11-28T01:00:00+01:00', 6);
  scan(made, '2025-11-28T12:00:00+01:00', 7);
  checkpoint(1);
  // Before the clocks went back.
  scan(made, '2026-10-17T01:40:00+02:00', 2);
  scan(made, '2026-10-17T01:50:00+02:00', 30);
  scan(made, '2026-10-28T01:44:00+01:00', 5);
  scan(made, '2026-10-28T01:45:00+01:00', 40);
  scan(made, '2026-11-21T00:30:00+01:00', 2);
  scan(made, '2026-11-21T12:00:00+01:00', 50);
  scan(made, '2026-11-27T00:30:00+01:00', 1);
  scan(made, '2026-11-27T01:50:00+01:00', 60);
  scan(made, '2026-11-28T01:44:00+01:00', 4);
  scan(made, '2026-11-28T01:46:00+01:00', 3);
  checkpoint(2);

  const ask = async (query: string, of = path): Promise<Json> =>
    (await get(`${of}?${query}&timezone=Europe/Berlin`)).json;

  describe('today', () => {
    const today = 'from=2026-11-28&to=2026-11-28';

    test.each([
      ['previous', '2026-11-27T01:45:00+01:00', 1],
      ['previous_weekdays', '2026-11-21T01:45:00+01:00', 2],
      ['last_month_days', '2026-10-28T01:45:00+01:00', 5],
      ['2026-10-17..2026-10-17', '2026-10-17T01:45:00+02:00', 2],
    ])('against %s', async (compare, until, scans) => {
      const found = await ask(`${today}&compare=${compare}`);
      const day = until.slice(0, 10);
      expect(found).toMatchObject({
        // All that was counted.
        totalScans: 7,
        until: '2026-11-28T01:45:00+01:00',
        previous: {
          from: day,
          to: day,
          until,
          totalScans: scans,
          uniqueScanners: scans,
          devices: { ios: scans, android: 0, other: 0 },
        },
        // Of the four scans of before 01:45.
        change: { totalScans: (4 - scans) / scans, uniqueScanners: (4 - scans) / scans },
      });
      const series = await ask(`${today}&compare=${compare}&interval=hour`, `${path}/timeseries`);
      expect(series).toMatchObject({
        until: '2026-11-28T01:45:00+01:00',
        previous: { until, data: [{}, {}] },
        change: found.change,
      });
      const shares = await ask(`${today}&compare=${compare}&by=os`, `${path}/breakdown`);
      expect(shares).toMatchObject({
        previous: { until, data: [{ key: 'iOS', scans }] },
        change: found.change,
      });
    });

    test('against a day whose raw scans have expired: both end with the day before', async () => {
      const found = await ask('from=2026-11-27&to=2026-11-28&compare=last_year');
      expect(found).toMatchObject({
        totalScans: 68,
        until: '2026-11-28T00:00:00+01:00',
        previous: { from: '2025-11-27', to: '2025-11-28', until: '2025-11-28T00:00:00+01:00' },
        change: { totalScans: (61 - 5) / 5 },
      });
      expect(found.previous).toMatchObject({ totalScans: 5 });
    });
  });

  test('days to come are not counted against whole days', async () => {
    const found = await ask('from=2026-11-27&to=2026-11-30&compare=previous_weekdays');
    expect(found).toMatchObject({
      previous: { from: '2026-11-20', to: '2026-11-23', until: '2026-11-21T01:45:00+01:00' },
      change: { totalScans: (65 - 2) / 2 },
    });
  });

  test('a range that is over is compared whole', async () => {
    const found = await ask('from=2026-11-27&to=2026-11-27&compare=previous');
    expect(found).not.toHaveProperty('until');
    expect(found.previous).not.toHaveProperty('until');
  });
});

describe('a summary', async () => {
  const noonMs = Date.UTC(2026, 5, 15, 12);
  const today = dayOf(noonMs);
  const { engine, get: request, code, scan } = await useCountedApi(noonMs);

  const made = await code();
  const { id } = made;
  const rows = [
    [1, 5],
    [0, 3],
    [2, 2],
    [9, 4],
  ] as const;
  for (const [daysAgo, scans] of rows) {
    scan(made, (today - daysAgo) * dayMs, scans, { stepMs: 600_000 });
  }
  engine.settle();

  const dayAgo = (days: number): string => formatDay(today - days);
  const days = `from=${dayAgo(1)}&to=${dayAgo(0)}`;
  const get = async (compare: string): Promise<Json> =>
    (await request(`/analytics/summary?${days}&compare=${compare}`)).json;

  const numbers = (
    totalScans: number,
    uniqueScanners: number,
    perDay: readonly [number, number],
  ) => ({
    totalScans,
    uniqueScanners,
    devices: { ios: totalScans, android: 0, other: 0 },
    topCountries: totalScans === 0 ? [] : [{ code: 'ZZ', scans: totalScans }],
    error: 0,
    topCodes: totalScans === 0 ? [] : [expect.objectContaining({ id, scans: totalScans })],
    scansPerDay: perDay.map((scans) => ({ day: expect.any(String), scans })),
  });

  test('the period before has the numbers of the period, and is complete or not', async () => {
    const json = await get('previous');
    expect(json).toEqual({
      from: dayAgo(1),
      to: dayAgo(0),
      timezone: 'UTC',
      until: '2026-06-15T12:00:00.000Z',
      ...numbers(8, 5, [5, 3]),
      newScanners: 1,
      returningScanners: 4,
      previous: {
        from: dayAgo(3),
        to: dayAgo(2),
        until: '2026-06-13T12:00:00.000Z',
        ...numbers(2, 2, [0, 2]),
        newScanners: 0,
        returningScanners: 2,
        complete: true,
      },
      change: { totalScans: 3, uniqueScanners: 1.5 },
    });
    const early = await get(`${dayAgo(11)}..${dayAgo(10)}`);
    expect(early.previous).toEqual({
      from: dayAgo(11),
      to: dayAgo(10),
      until: `${dayAgo(10)}T12:00:00.000Z`,
      ...numbers(0, 0, [0, 0]),
      newScanners: 0,
      returningScanners: 0,
      complete: false,
    });
    expect((await get(`${dayAgo(9)}..${dayAgo(8)}`)).previous).toMatchObject({ complete: true });
  });

  test('nothing is counted twice', async () => {
    const { analytics } = engine.queries;
    const counting = ['totals', 'totalsWithScanners', 'series'] as const;
    const spies = counting.map((name) => vi.spyOn(analytics, name));
    await get('previous');
    const asked = spies.map(({ mock }) => mock.calls.map(([, range]) => daysOf(range)));
    for (const spy of spies) spy.mockRestore();
    const both = ['1 to 0 days ago', '3 to 2 days ago'];
    // Of the present day, what is compared is a part.
    expect(asked).toEqual([['1 to 0 days ago'], both, both]);
  });

  const daysOf = ({ fromDay, toDay }: LocalRange): string =>
    `${today - fromDay} to ${today - toDay} days ago`;
});

describe('a campaign', async () => {
  const { engine, client, get, code, scan } = await useCountedApi(Date.UTC(2026, 10, 15, 12), 30);

  const made = await code();
  const makeCampaign = async (fields: object): Promise<string> =>
    word((await client.post('/v1/campaigns', { ...fields, qrCodeIds: [made.id] })).json.id);

  const days = { startDate: '2026-10-31', endDate: '2026-11-02' };
  const campaign = await makeCampaign({ name: 'Autumn', ...days });
  // One before the schedule, which no answer may have.
  for (const day of ['2026-10-30', '2026-10-31', '2026-11-01', '2026-11-02']) {
    scan(made, `${day}T12:00:00Z`, 1);
  }
  engine.settle();

  test('a campaign is compared with days outside of its schedule: those days, with nothing', async () => {
    const path = `/campaigns/${campaign}/analytics`;
    const days = { from: '2026-10-28', to: '2026-10-30' };
    const totals = await get(`${path}?compare=previous`);
    expect(totals.json).toMatchObject({
      totalScans: 3,
      previous: { ...days, totalScans: 0, conversions: 0, codes: [] },
      change: { totalScans: null, uniqueScanners: null },
    });
    const none = { previous: { ...days, totalScans: 0 } };
    expect((await get(`${path}?compare=previous&os=Android`)).json).toMatchObject(none);
    const series = await get(`${path}/timeseries?compare=previous`);
    const data = ['28', '29', '30'].map((day) => {
      return { start: `2026-10-${day}T00:00:00.000Z`, scans: 0 };
    });
    expect(series.json.previous).toMatchObject({ ...days, data });
    const shares = await get(`${path}/breakdown?by=os&compare=2026-11-03..2026-11-05`);
    const later = { from: '2026-11-03', to: '2026-11-05', data: [] };
    expect(shares.json.previous).toMatchObject(later);
    const local = await get(`${path}/timeseries?compare=previous&timezone=America/New_York`);
    expect(local.json.previous).toMatchObject({ from: '2026-10-26', to: '2026-10-29' });
  });

  test('a campaign to come is compared with the day before it', async () => {
    const id = await makeCampaign({ name: 'W', startDate: '2026-12-01', endDate: '2026-12-24' });
    const { json: found } = await get(`/campaigns/${id}/analytics?compare=previous`);
    const day = '2026-11-30';
    expect(found.previous).toMatchObject({ from: day, to: day, totalScans: 0 });
  });
});

test.each<[Compare, string, string]>([
  ['previous', '2026-11-01..2026-11-28', '2026-10-04..2026-10-31'],
  ['previous_weekdays', '2026-11-22..2026-11-28', '2026-11-15..2026-11-21'],
  ['previous_weekdays', '2026-11-19..2026-11-28', '2026-11-05..2026-11-14'],
  ['previous_weekdays', '2026-10-30..2026-11-28', '2026-09-25..2026-10-24'],
  ['last_month_days', '2026-11-01..2026-11-28', '2026-10-01..2026-10-28'],
  ['last_month_days', '2026-03-01..2026-03-31', '2026-02-01..2026-02-28'],
  ['last_month_days', '2026-01-01..2026-01-31', '2025-12-01..2025-12-31'],
  ['last_year', '2026-11-01..2026-11-28', '2025-11-01..2025-11-28'],
  ['last_year', '2028-02-29..2028-02-29', '2027-02-28..2027-02-28'],
])('%s of %s is %s', (compare, range, expected) => {
  const [from = '', to = ''] = range.split('..');
  const found = comparedDays(compare, { fromDay: parseDay(from)!, toDay: parseDay(to)! })!;
  expect(`${formatDay(found.fromDay)}..${formatDay(found.toDay)}`).toBe(expected);
});
