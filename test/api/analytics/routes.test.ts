/** Analytics by where scans led, over real scans: labels of a code's record, and visits without a redirect. */
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { dayMs, dayOf, formatDay } from '../../../src/model/day.ts';
import { missedRoutes } from '../../../src/model/routing/labels.ts';
import { route } from '../../product/codes/codes-fixture.ts';
import { word } from '../../support/client.ts';
import { type CountedCode, crawler, type ScanOptions, useCountedApi } from './counted-api.ts';

const noonMs = Date.UTC(2026, 5, 15, 12);
const today = dayOf(noonMs);
const from = formatDay(today - 60);
const { engine, service, client, get, code, scan } = await useCountedApi(noonMs);

const routed = await code();
const plain = await code();
await label(routed, ['ios', 'android', 'desk']);
const { paused, used_up, expired } = missedRoutes;
scanOn(routed, today - 40, [1, 1, 0]);
scanOn(routed, today, [0, 0, 2, 1, paused, used_up, paused]);
scanOn(routed, today, [0, 1, expired], { agent: crawler });
scanOn(plain, today, [0, 0]);
engine.settle();

/** One a minute from midnight. */
function scanOn(
  code: CountedCode,
  day: number,
  routes: readonly number[],
  more: ScanOptions = {},
): void {
  scan(code, day * dayMs, 0, { stepMs: 60_000, routes, ...more });
}

/** Gives a code labels, as if rules had them. */
async function label({ no }: CountedCode, names: readonly string[]): Promise<void> {
  const labels = names.map((name) => ({ name }));
  const { store, codes } = service;
  await route(store, codes, codes.findByNo(no)!, { labels });
}

describe('breakdown', () => {
  const of = ({ id }: CountedCode, query: string, file = '') =>
    get(`/qr-codes/${id}/analytics/breakdown${file}?from=${from}&${query}`);

  test('by label; what is left led to the target, and all sums to the total', async () => {
    const { json, items } = await of(routed, 'by=route');
    expect(json).toMatchObject({ by: 'route', from, to: formatDay(today) });
    expect(items).toEqual([
      { key: 'ios', scans: 3 },
      { key: 'target', scans: 3 },
      { key: 'android', scans: 1 },
    ]);
    const totals = await get(`/qr-codes/${routed.id}/analytics?from=${from}`);
    expect(totals.json).toMatchObject({ totalScans: 7, devices: { ios: 7 } });
    const day = formatDay(today - 40);
    const one = await get(
      `/qr-codes/${routed.id}/analytics/breakdown?by=route&from=${day}&to=${day}`,
    );
    expect(one.items).toEqual([
      { key: 'ios', scans: 2 },
      { key: 'target', scans: 1 },
    ]);
  });

  test('a code that never had labels led all to its target, one without scans none', async () => {
    expect((await of(plain, 'by=route')).items).toEqual([{ key: 'target', scans: 2 }]);
    const unused = await code();
    expect((await of(unused, 'by=route')).items).toEqual([]);
    expect((await of(unused, 'by=missed')).items).toEqual([]);
  });

  test('people whom a code led nowhere, by reason; bots are among the bots', async () => {
    expect((await of(routed, 'by=missed')).items).toEqual([
      { key: 'paused', scans: 2 },
      { key: 'used_up', scans: 1 },
    ]);
    expect((await of(routed, 'by=bot')).items).toEqual([{ key: 'bot', scans: 3 }]);
    expect((await of(routed, 'by=device')).items).toEqual([{ key: 'mobile', scans: 7 }]);
  });

  test.each([
    ['route', 'route,scans\r\nios,3\r\ntarget,3\r\nandroid,1\r\n'],
    ['missed', 'missed,scans\r\npaused,2\r\nused_up,1\r\n'],
  ])('by %s as CSV', async (by, text) => {
    const answer = await of(routed, `by=${by}`, '/export.csv');
    expect([answer.status, answer.text]).toEqual([200, text]);
    expect(answer.headers['content-disposition']).toContain(`scans-by-${by}-${from}`);
  });

  test.each(['route', 'missed'])('by %s is of codes alone', async (by) => {
    const body = { name: 'Both', startDate: from, qrCodeIds: [routed.id] };
    const { json } = await client.post('/v1/campaigns', body);
    for (const whose of ['', `/campaigns/${word(json.id)}`]) {
      const answer = await get(`${whose}/analytics/breakdown?by=${by}`);
      expect([answer.status, answer.json.code]).toEqual([422, 'validation_failed']);
      expect(answer.json.errors).toMatchObject([{ path: 'by' }]);
    }
  });
});

test('raw scans name the label, and leave out visits without a redirect', async () => {
  const path = `/qr-codes/${routed.id}/scans?from=${formatDay(today)}`;
  const people = await get(path);
  expect(people.items.map(({ route }) => route)).toEqual(['ios', 'android', 'target', 'target']);
  const all = await get(`${path}&bots=true`);
  const bots = all.items.filter(({ bot }) => bot !== null);
  expect([all.items.length, bots.map(({ route }) => route)]).toEqual([7, [null, 'ios', 'target']]);
  const none = await get(`/qr-codes/${plain.id}/scans`);
  expect(none.items.map(({ route }) => route)).toEqual([null, null]);
});

test('in the CSV of raw scans the last column is the label, empty without any', async () => {
  const columnOf = async ({ id }: CountedCode): Promise<unknown> => {
    const { text } = await get(`/qr-codes/${id}/scans/export.csv?from=${formatDay(today)}`);
    const rows: string[][] = parse(text);
    return rows.map((row) => row.at(-1));
  };
  expect(await columnOf(routed)).toEqual(['route', 'ios', 'android', 'target', 'target']);
  expect(await columnOf(plain)).toEqual(['route', '', '']);
});

test('events name the label, those of a code without labels have no such field', async () => {
  const { items } = await get('/events?type=qr.scanned&limit=100');
  const data = items.map((item) => JSON.parse(JSON.stringify(item)).data);
  const routesOf = ({ id }: CountedCode): string[] =>
    data
      .filter(({ qrId }) => qrId === id)
      .map((one) => ('route' in one ? word(one.route) : 'absent'))
      .toSorted();
  const led = ['android', 'ios', 'ios', 'ios', 'target', 'target', 'target'];
  expect(routesOf(routed)).toEqual(led);
  expect(routesOf(plain)).toEqual(['absent', 'absent']);
});
