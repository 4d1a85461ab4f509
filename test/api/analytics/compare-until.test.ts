/**
 * A range that holds the present is compared until the same moment of the other period: through HTTP, over real scans in a real
 * engine, whose clock stands at 01:52 of a Saturday in Berlin.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { comparedDays, type Compare } from '../../../src/api/analytics/comparison.ts';
import { formatDay, parseDay } from '../../../src/model/day.ts';
import { word } from '../../support/client.ts';
import { type CountedApi, openCountedApi } from './counted-api.ts';

const agent = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15';
const berlin = 'timezone=Europe/Berlin';

let api: CountedApi;
let path: string;
let codeNo: number;
let visitor = 0;

beforeAll(async () => {
  api = await openCountedApi(Date.parse('2026-11-28T01:52:00+01:00'), 90);
  const target = 'https://example.com/menu';
  const { json } = await api.client.call('POST', '/v1/qr-codes', { body: { target } });
  path = `/v1/qr-codes/${word(json.id)}/analytics`;
  codeNo = api.service.codes.findAnywhere(word(json.id))!.no;
  // Long ago: its raw scans expire.
  scanAt('2025-11-27T12:00:00+01:00', 5);
  scanAt('2025-11-28T01:00:00+01:00', 6);
  scanAt('2025-11-28T12:00:00+01:00', 7);
  api.engine.settle();
  api.engine.checkpoint(0);
  // Before the clocks went back.
  scanAt('2026-10-17T01:40:00+02:00', 2);
  scanAt('2026-10-17T01:50:00+02:00', 30);
  scanAt('2026-10-28T01:44:00+01:00', 5);
  scanAt('2026-10-28T01:45:00+01:00', 40);
  scanAt('2026-11-21T00:30:00+01:00', 2);
  scanAt('2026-11-21T12:00:00+01:00', 50);
  scanAt('2026-11-27T00:30:00+01:00', 1);
  scanAt('2026-11-27T01:50:00+01:00', 60);
  scanAt('2026-11-28T01:44:00+01:00', 4);
  scanAt('2026-11-28T01:46:00+01:00', 3);
  for (let step = 0; step < 2; step++) {
    api.engine.settle();
    api.engine.checkpoint(0);
  }
});
afterAll(() => api.close());

function scanAt(at: string, scans: number): void {
  for (let index = 0; index < scans; index++) {
    const address = Uint8Array.of(192, 0, 2, visitor++ % 256);
    const input = { codeNo, workspaceNo: 1, agent, referer: '', address, isPrefetch: false };
    api.engine.scan(0, Date.parse(at), [input]);
  }
}

const ask = async (query: string, of = path) =>
  (await api.client.call('GET', `${of}?${query}&${berlin}`)).json;

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
