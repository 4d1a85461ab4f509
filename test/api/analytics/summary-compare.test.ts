/** A summary with `compare`: both periods in one shape, each counted once, neither with a period before of its own. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { dayMs, dayOf, formatDay } from '../../../src/model/day.ts';
import type { LocalRange } from '../../../src/model/zones/local-range.ts';
import { word } from '../../support/client.ts';
import { type CountedApi, openCountedApi } from './counted-api.ts';

const noonMs = Date.UTC(2026, 5, 15, 12);
const today = dayOf(noonMs);

let api: CountedApi;
let engine: CountedApi['engine'];
let service: CountedApi['service'];
let client: CountedApi['client'];
let id: string;

beforeAll(async () => {
  api = await openCountedApi(noonMs);
  ({ engine, service, client } = api);
  const { json } = await client.call('POST', '/v1/qr-codes', {
    body: { target: 'https://example.com/menu' },
  });
  id = word(json.id);
  const no = service.codes.findAnywhere(id)?.no ?? 0;
  for (const [daysAgo, scans] of [
    [1, 5],
    [0, 3],
    [2, 2],
    [9, 4],
  ] as const) {
    scan(no, today - daysAgo, scans);
  }
  engine.settle();
});
afterAll(() => api.close());

/** Scans of as many visitors. */
function scan(codeNo: number, day: number, scans: number): void {
  for (let index = 0; index < scans; index++) {
    const address = Uint8Array.of(192, 0, 2, index);
    const agent = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15';
    const input = { codeNo, workspaceNo: 1, agent, referer: '', address, isPrefetch: false };
    engine.scan(0, day * dayMs + index * 600_000, [input]);
  }
}

const dayAgo = (days: number): string => formatDay(today - days);
const get = async (compare: string) =>
  (
    await client.call(
      'GET',
      `/v1/analytics/summary?from=${dayAgo(1)}&to=${dayAgo(0)}&compare=${compare}`,
    )
  ).json;

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
