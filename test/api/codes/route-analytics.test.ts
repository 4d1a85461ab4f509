/** Analytics by where scans led, over real scans: labels of a code's record, and people whom it led nowhere. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dayMs, dayOf, formatDay } from '../../../src/model/day.ts';
import { missedRoutes } from '../../../src/model/routing/labels.ts';
import { packCode } from '../../../src/store/management/code-codec.ts';
import { word } from '../../support/client.ts';
import { type CountedApi, openCountedApi } from '../analytics/counted-api.ts';

const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
const crawler = 'Googlebot/2.1 (+http://www.google.com/bot.html)';
const noonMs = Date.UTC(2026, 5, 15, 12);
const today = dayOf(noonMs);

interface MadeCode {
  readonly id: string;
  readonly no: number;
}

let api: CountedApi;
let engine: CountedApi['engine'];
let service: CountedApi['service'];
let client: CountedApi['client'];
let routed: MadeCode;
let plain: MadeCode;

beforeAll(async () => {
  api = await openCountedApi(noonMs);
  ({ engine, service, client } = api);
  routed = await create('https://example.com/routed');
  plain = await create('https://example.com/plain');
  await label(routed, ['ios', 'android', 'desk']);
  scan(routed, today - 40, [1, 1, 0]);
  scan(routed, today, [0, 0, 2, 1, missedRoutes.paused, missedRoutes.used_up, missedRoutes.paused]);
  scan(routed, today, [0, 1, missedRoutes.expired], crawler);
  scan(plain, today, [0, 0]);
  engine.settle();
});
afterAll(() => api.close());

async function create(target: string): Promise<MadeCode> {
  const { json } = await client.call('POST', '/v1/qr-codes', { body: { target } });
  const id = word(json.id);
  return { id, no: service.codes.findAnywhere(id)?.no ?? 0 };
}

/** Gives a code labels, as if rules had them. */
async function label({ no }: MadeCode, names: readonly string[]): Promise<void> {
  const { store } = service;
  const code = service.codes.findByNo(no);
  if (code === undefined) throw new Error(`no code ${no}`);
  const routing = {
    rules: [],
    passQuery: false,
    paused: false,
    labels: names.map((name) => ({ name })),
    campaign: '',
    seed: 'AAAAAAAAAAAAAAAAAAAAAA',
  };
  const packed = packCode({ ...code, routing });
  await store.environment.transaction(() => store.codes.put(no, packed));
}

function scan({ no }: MadeCode, day: number, routes: readonly number[], agent = phone): void {
  for (const [index, route] of routes.entries()) {
    const address = Uint8Array.of(192, 0, 2, index);
    const from = { codeNo: no, workspaceNo: 1, agent, referer: '', address, isPrefetch: false };
    engine.scan(0, day * dayMs + index * 60_000, [{ ...from, route }]);
  }
}

const get = (path: string, headers = {}) => client.call('GET', `/v1${path}`, { headers });
const from = formatDay(today - 60);

describe('breakdown', () => {
  const of = ({ id }: MadeCode, query: string, file = '') =>
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
    const unused = await create('https://example.com/unused');
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
    const { json } = await client.call('POST', '/v1/campaigns', { body });
    for (const whose of ['', `/campaigns/${word(json.id)}`]) {
      const answer = await get(`${whose}/analytics/breakdown?by=${by}`);
      expect([answer.status, answer.json.code]).toEqual([422, 'validation_failed']);
      expect(answer.json.errors).toMatchObject([{ path: 'by' }]);
    }
  });
});

describe('raw scans', () => {
  test('name the label, and have nobody who came in vain', async () => {
    const path = `/qr-codes/${routed.id}/scans?from=${formatDay(today)}`;
    const people = await get(path);
    expect(people.items.map(({ route }) => route)).toEqual(['ios', 'android', 'target', 'target']);
    const all = await get(`${path}&bots=true`);
    const bots = all.items.filter(({ bot }) => bot !== null);
    expect([all.items.length, bots.map(({ route }) => route)]).toEqual([
      7,
      [null, 'ios', 'target'],
    ]);
    const none = await get(`/qr-codes/${plain.id}/scans`);
    expect(none.items.map(({ route }) => route)).toEqual([null, null]);
  });

  test('in CSV the last column is the label, empty without any', async () => {
    const columnOf = async ({ id }: MadeCode): Promise<unknown> => {
      const { text } = await get(`/qr-codes/${id}/scans/export.csv?from=${formatDay(today)}`);
      const rows: string[][] = parse(text);
      return rows.map((row) => row.at(-1));
    };
    expect(await columnOf(routed)).toEqual(['route', 'ios', 'android', 'target', 'target']);
    expect(await columnOf(plain)).toEqual(['route', '', '']);
  });
});

test('events name the label, those of a code without labels have no such field', async () => {
  const { items } = await get('/events?type=qr.scanned&limit=100');
  const data = items.map((item) => JSON.parse(JSON.stringify(item)).data);
  const routesOf = ({ id }: MadeCode): string[] =>
    data
      .filter(({ qrId }) => qrId === id)
      .map((one) => ('route' in one ? word(one.route) : 'absent'))
      .toSorted();
  const led = ['android', 'ios', 'ios', 'ios', 'target', 'target', 'target'];
  expect(routesOf(routed)).toEqual(led);
  expect(routesOf(plain)).toEqual(['absent', 'absent']);
});
