/**
 * Analytics of the workspace and raw scans through HTTP, over real scans in a real engine: what the
 * numbers say, their CSV read back, pages that hold while scans come in, exports, bad input.
 */
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { Positions } from '../../../src/api/kernel/positions.ts';
import { dayMs, dayOf, formatDay } from '../../../src/model/day.ts';
import { word } from '../../support/client.ts';
import { type CountedCode, crawler, type ScanOptions, useCountedApi } from './counted-api.ts';

/** Noon of a day that does not end while the test runs. */
const noonMs = Date.UTC(2026, 5, 15, 12);
const today = dayOf(noonMs);
const from = formatDay(today - 40);
const { engine, service, client, get, code, scan } = await useCountedApi(noonMs);

const first = await code({ target: 'https://example.com/first' });
const second = await code({ target: 'https://example.com/second' });
scanOn(first, today - 60, 1);
scanOn(first, today - 31, 4);
scanOn(first, today, 5, { referer: '=HYPERLINK("https://bad.example/")' });
scanOn(first, today, 2, { referer: 'https://www.example.org/a,b', agent: crawler });
scanOn(second, today - 1, 3, { referer: 'https://a.example/"quoted"' });
engine.settle();

/** One every ten minutes from midnight. */
function scanOn(code: CountedCode, day: number, scans: number, more: ScanOptions = {}): void {
  scan(code, day * dayMs, scans, { stepMs: 600_000, ...more });
}

test('the summary of a workspace: totals, union, top codes and days', async () => {
  const { status, json } = await get('/analytics/summary');
  expect(status).toBe(200);
  expect(json).toMatchObject({
    from: formatDay(today - 29),
    to: formatDay(today),
    totalScans: 8,
    uniqueScanners: 5,
    devices: { ios: 8, android: 0, other: 0 },
    topCountries: [{ code: 'ZZ', scans: 8 }],
    topCodes: [
      { id: first.id, name: null, target: 'https://example.com/first', scans: 5 },
      { id: second.id, scans: 3 },
    ],
  });
  expect(json).not.toHaveProperty('previous');
  const { scansPerDay } = JSON.parse((await get('/analytics/summary')).text);
  expect(scansPerDay).toHaveLength(30);
  expect(scansPerDay.slice(-2)).toEqual([
    { day: formatDay(today - 1), scans: 3 },
    { day: formatDay(today), scans: 5 },
  ]);
  const long = await get('/analytics/summary?from=1980-01-01');
  expect([long.status, long.faults[0]?.code]).toEqual([422, 'range_too_long']);
});

test('series and shares sum to the totals', async () => {
  const series = await get(`/analytics/timeseries?from=${from}`);
  expect(series.items).toHaveLength(41);
  expect(series.items.reduce((sum, { scans }) => sum + Number(scans), 0)).toBe(12);
  const shares = await get(`/analytics/breakdown?by=device&from=${from}`);
  expect(shares.json).toMatchObject({ by: 'device', data: [{ key: 'mobile', scans: 12 }] });
  const bots = await get(`/analytics/breakdown?by=bot&from=${from}`);
  expect(bots.items).toEqual([{ key: 'bot', scans: 2 }]);
});

test('a deleted code leaves the list of the top, its scans stay in the sums', async () => {
  const third = await code({ target: 'https://example.com/third' });
  scanOn(third, today, 9);
  engine.settle();
  const [before] = JSON.parse((await get('/analytics/summary')).text).topCodes;
  expect(before).toMatchObject({ id: third.id, scans: 9 });
  await client.delete(`/v1/qr-codes/${third.id}`);
  const after = JSON.parse((await get('/analytics/summary')).text);
  expect(after.topCodes.map(({ id }: { id: string }) => id)).toEqual([first.id, second.id]);
  expect(after.totalScans).toBe(17);
});

describe('CSV', () => {
  test.each([
    ['/analytics/summary', ['metric', 'key', 'value']],
    ['/analytics/timeseries', ['start', 'scans']],
    ['/analytics/breakdown?by=country', ['country', 'scans']],
    [`/qr-codes/$/analytics`, ['metric', 'key', 'value']],
    [`/qr-codes/$/analytics/timeseries`, ['start', 'scans']],
    [`/qr-codes/$/analytics/breakdown?by=hour`, ['hour', 'scans']],
  ])('%s', async (path, columns) => {
    const [address = '', query = ''] = path.replace('$', first.id).split('?');
    const answer = await get(`${address}/export.csv?${query}`);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^text\/csv; charset=utf-8/);
    expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="[\w.-]+\.csv"$/);
    const rows: string[][] = parse(answer.text);
    expect(rows[0]).toEqual(columns);
    expect(rows.length).toBeGreaterThan(1);
    const json = await get(`${address}?${query}`, { headers: { accept: 'text/csv' } });
    expect(json.headers['content-type']).toBe('application/json');
  });

  test('a summary that is compared has the numbers of that period alone, once', async () => {
    const day = formatDay(today - 100);
    const { text } = await get(
      `/analytics/summary/export.csv?from=${from}&to=${from}&compare=${day}..${day}`,
    );
    const rows: string[][] = parse(text);
    expect(rows.filter(([metric]) => metric?.startsWith('previous'))).toEqual([
      ['previousTotalScans', '', '0'],
      ['previousUniqueScanners', '', '0'],
    ]);
  });
});

describe('raw scans', () => {
  const list = (query = '') => get(`/qr-codes/${first.id}/scans${query}`);

  test('newest first, with exactly the documented fields', async () => {
    const { items, json } = await list(`?from=${from}`);
    expect(items).toHaveLength(9);
    expect(json.nextCursor).toBeUndefined();
    const times = items.map(({ scannedAt }) => word(scannedAt));
    expect(times.slice(0, 5)).toEqual(times.slice(0, 5).toSorted().toReversed());
    const { id, ...rest } = items[0]!;
    expect(id).toMatch(/^scn_[0-9a-z]{20}$/);
    expect(rest).toEqual({
      scannedAt: new Date(today * dayMs + 4 * 600_000).toISOString(),
      country: 'ZZ',
      city: '',
      device: 'mobile',
      os: 'iOS',
      browser: 'Safari',
      referer: '=HYPERLINK("https://bad.example/")',
      bot: null,
      route: null,
    });
  });

  test('bots come when asked for', async () => {
    const { items } = await list('?bots=true');
    expect(items.map(({ bot }) => bot)).toEqual(['bot', 'bot', null, null, null, null, null]);
  });

  test('pages hold while scans come in', async () => {
    const all = await list(`?from=${from}&limit=100`);
    const ids: string[] = [];
    let query = `?from=${from}&limit=2`;
    for (let pages = 0; pages < 10; pages++) {
      const { items, json } = await list(query);
      ids.push(...items.map(({ id }) => word(id)));
      if (json.nextCursor === undefined) break;
      query = `?from=${from}&limit=2&cursor=${word(json.nextCursor)}`;
      if (pages === 0) {
        scanOn(first, today, 3);
        engine.settle();
      }
    }
    expect(ids).toEqual(all.items.map(({ id }) => word(id)));
    expect((await list(`?from=${from}`)).items).toHaveLength(12);
  });

  test('a range has what was scanned in it', async () => {
    const day = formatDay(today - 31);
    expect((await list(`?from=${day}&to=${day}`)).items).toHaveLength(4);
    expect((await list(`?from=2020-01-01&to=2020-01-02`)).items).toEqual([]);
  });

  test('CSV guards against formulas and reads back as it was', async () => {
    const answer = await list('/export.csv');
    const rows: Array<Record<string, string>> = parse(answer.text, { columns: true });
    const { items } = await list('?limit=100');
    expect(rows.map(({ id }) => id)).toEqual(items.map(({ id }) => id));
    const guarded = rows.filter(({ referer }) => referer?.includes('HYPERLINK'));
    expect(guarded.map(({ referer }) => referer?.slice(0, 2))).toEqual(Array(5).fill("'="));
    expect(answer.text).toMatch(/^id,scannedAt,.*bot,route\r\n/);
    const quoted = await get(`/qr-codes/${second.id}/scans/export.csv?from=${from}`);
    const [row]: Array<Record<string, string>> = parse(quoted.text, { columns: true });
    expect(row?.referer).toBe('https://a.example/"quoted"');
  });

  test('NDJSON has one scan a line, of any number', async () => {
    const busy = await code({ target: 'https://example.com/busy' });
    for (let round = 0; round < 30; round++) {
      scanOn(busy, today, 60);
      engine.settle();
    }
    const path = `/qr-codes/${busy.id}/scans`;
    const answer = await fetch(`${service.url}/v1${path}/export.ndjson`, {
      headers: { authorization: `Bearer ${service.apiKey}` },
    });
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = (await answer.text()).trimEnd().split('\n');
    const ids = new Set(lines.map((line): string => JSON.parse(line).id));
    expect(ids.size).toBe(1_800);
    const page = await get(`${path}?limit=100`);
    expect(page.items.map(({ id }) => word(id))).toEqual([...ids].slice(0, 100));
    expect((await client.call('HEAD', `/v1${path}/export.csv`)).status).toBe(200);
  });

  test('a deleted code’s scans answer, an unknown code’s and a static one’s do not exist', async () => {
    await client.delete(`/v1/qr-codes/${second.id}`);
    const { items } = await get(`/qr-codes/${second.id}/scans?from=${from}`);
    expect(items).toHaveLength(3);
    expect((await get('/qr-codes/qr_00000000000000000000/scans')).status).toBe(404);
    const body = { target: 'https://example.com/', dynamic: false };
    const still = await client.post('/v1/qr-codes', body);
    const answer = await get(`/qr-codes/${word(still.json.id)}/scans`);
    expect([answer.status, answer.items]).toEqual([200, []]);
  });

  test('a made-up cursor shows nothing of other codes', async () => {
    for (let sequence = 1; sequence < 6; sequence++) {
      const place = `${sequence}.0.999`;
      expect((await list(`?from=${from}&cursor=${place}`)).status).toBe(422);
      const positions = new Positions(service.workspaces.positionCipher).of(1, 'scans');
      const cursor = positions.encrypt(place);
      const { status, items } = await list(`?from=${from}&cursor=${cursor}`);
      expect(status).toBe(200);
      const own = (await list(`?from=${from}&bots=true&limit=100`)).items.map(({ id }) => id);
      for (const { id } of items) expect(own).toContain(id);
    }
  });
});
