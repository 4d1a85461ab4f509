/** /campaigns and /conversions over HTTP: shapes, statuses, every refusal, and what both views of membership say. */
import { describe, expect, test } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { type Answer, type Json, word } from '../support/client.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { useTestApi } from '../support/test-client.ts';

const clock = new OffsetClock();
const { service, client, makeCode: made, codeNo } = await useTestApi({ clock });
const target = 'https://example.com/menu';

const dayText = (fromToday: number): string =>
  new Date(clock.now() + fromToday * dayMs).toISOString().slice(0, 10);
const post = (path: string, body: unknown) => client.post(`/v1${path}`, body);
const get = async (path: string): Promise<Json> => (await client.get(`/v1${path}`)).json;
const makeCode = async (fields?: object): Promise<string> => word((await made(fields)).id);
const faultsOf = ({ status, json, faults }: Answer): unknown => {
  return [status, json.code, ...faults.map(({ path, code }) => `${path} ${code}`)];
};
const spring = (qrCodeIds: string[] = []) => {
  return { name: 'Spring', startDate: dayText(-3), endDate: dayText(3), qrCodeIds };
};
/** The path of a campaign of these days. */
const makeCampaign = async (qrCodeIds: string[] = [], more: object = {}): Promise<string> =>
  `/campaigns/${word((await post('/campaigns', { ...spring(qrCodeIds), ...more })).json.id)}`;
const idOf = (path: string): string => path.slice('/campaigns/'.length);

test('a campaign is made with its Location, read, listed, changed and deleted', async () => {
  const [a, b] = [await makeCode(), await makeCode()];
  const { status, headers, json } = await post('/campaigns', spring([b, a]));
  const { id, createdAt, updatedAt, qrCodes, ...rest } = json;
  const path = `/v1/campaigns/${word(id)}`;
  expect([status, headers.location]).toEqual([201, path]);
  expect(word(id)).toMatch(/^cmp_[0-9a-hjkmnp-tv-z]{20}$/);
  expect(qrCodes).toEqual([b, a].map((code) => ({ id: code, name: null, target })));
  expect(rest).toEqual({ ...spring([b, a]), status: 'active', result: null });
  expect(word(createdAt)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(updatedAt).toBe(createdAt);
  expect((await client.get(path)).json).toEqual(json);
  const page = await client.get('/v1/campaigns?status=active&limit=1');
  // A page may hold 100 campaigns of 1,000 codes: it has their ids alone.
  expect(page.items).toEqual([{ id, ...rest, createdAt, updatedAt }]);
  expect(page.json).toMatchObject({ page: 1, limit: 1 });
  const change = { name: 'May', endDate: null, qrCodeIds: [a] };
  expect((await client.patch(path, change)).json).toMatchObject(change);
  expect((await client.delete(path)).json).toEqual({ deleted: true, id });
  for (const method of ['GET', 'DELETE']) {
    expect((await client.call(method, path)).status).toBe(404);
  }
  const put = await client.put(path, spring());
  expect([put.status, put.headers.allow]).toEqual([405, 'GET, HEAD, PATCH, DELETE']);
});

test('a campaign has the status of its days', async () => {
  const statuses: unknown[] = [];
  for (const [from, to] of [
    [1, 2],
    [0, 0],
    [-2, -1],
  ] as const) {
    const path = await makeCampaign([], { startDate: dayText(from), endDate: dayText(to) });
    statuses.push((await get(path)).status);
  }
  expect(statuses).toEqual(['scheduled', 'active', 'ended']);
});

test('CSV takes and gives campaigns with ; between them', async () => {
  const ids = [idOf(await makeCampaign()), idOf(await makeCampaign())];
  const cell = ids.join(';');
  const { json } = await client.call('POST', '/v1/qr-codes/bulk', {
    raw: `target,tags,campaignIds\nhttps://example.com/,both,${cell}`,
    headers: { 'content-type': 'text/csv' },
  });
  expect(json.results).toMatchObject([{ qrCode: { campaignIds: ids } }]);
  const { text } = await client.get('/v1/qr-codes/export.csv?tag=both');
  expect([text.includes(',campaignIds,'), text.includes(`,${cell},`)]).toEqual([true, true]);
});

describe('numbers', () => {
  test('and the campaign itself name its codes, so that nothing is asked once per code', async () => {
    const [named, plain, gone] = [
      await makeCode({ name: 'Table 12' }),
      await makeCode(),
      await makeCode({ name: 'Table 13' }),
    ];
    const path = await makeCampaign([named, plain, gone]);
    await client.patch(`/v1/qr-codes/${named}`, { name: 'Table 14' });
    await client.delete(`/v1/qr-codes/${gone}`);
    const shown = await get(path);
    expect(shown.qrCodes).toEqual([
      { id: named, name: 'Table 14', target },
      { id: plain, name: null, target },
    ]);
    const renamed = await client.patch(`/v1${path}`, { name: 'June' });
    expect(renamed.json.qrCodes).toEqual(shown.qrCodes);
    const { codes } = await get(`${path}/analytics`);
    expect(codes).toMatchObject([
      { qrCodeId: named, name: 'Table 14', target, deleted: false },
      { qrCodeId: plain, name: null, target, deleted: false },
      { qrCodeId: gone, name: null, target: null, deleted: true },
    ]);
  });

  test('sum over its codes, with conversions inside the schedule', async () => {
    const [a, b] = [await makeCode(), await makeCode()];
    const path = `${await makeCampaign([a, b])}/analytics`;
    await post('/conversions', { qrCodeId: a, value: 9.99 });
    await post('/conversions', { qrCodeId: b, value: 0.01 });
    expect(await get(path)).toMatchObject({ conversions: 2, conversionRate: 0 });
    service.scans.lifetime.set(codeNo(a), 6).set(codeNo(b), 2);
    const found = await get(path);
    expect(found).toMatchObject({
      totalScans: 8,
      devices: { ios: 8, android: 0, other: 0 },
      topCountries: [],
      conversions: 2,
      conversionValue: 10,
      conversionRate: 0.25,
      codes: [
        { qrCodeId: a, deleted: false, totalScans: 6, conversions: 1, conversionValue: 9.99 },
        { qrCodeId: b, deleted: false, totalScans: 2, conversions: 1, conversionValue: 0.01 },
      ],
    });
    const dates = [-3, -2, -1, 0].map((day) => ({ date: dayText(day), scans: 0 }));
    expect(found.timeseries).toEqual(dates);
    const range = `from=${dayText(-1)}&to=${dayText(-1)}`;
    expect(await get(`${path}?${range}`)).toMatchObject({
      conversions: 0,
      timeseries: [{ date: dayText(-1) }],
    });
    const outside = { totalScans: 0, conversionRate: 0, timeseries: [] };
    expect(await get(`${path}?to=${dayText(-9)}`)).toMatchObject(outside);
    const series = { interval: 'day', data: dates.map(() => ({ scans: 0 })) };
    expect(await get(`${path}/timeseries`)).toMatchObject(series);
    const days = { from: dayText(-3), to: dayText(0), timezone: 'UTC' };
    const data = [{ key: 'DE', scans: 8 }];
    expect(await get(`${path}/breakdown?by=country`)).toEqual({ by: 'country', ...days, data });
  });

  test('come as CSV too', async () => {
    const a = await makeCode();
    service.scans.lifetime.set(codeNo(a), 3);
    const path = `/v1${await makeCampaign([a])}/analytics`;
    const totals = await client.get(`${path}/export.csv`);
    expect(totals.headers['content-type']).toContain('text/csv');
    const lines = totals.text.split('\r\n');
    expect(lines[0]).toBe('metric,key,value');
    expect(lines).toContain('totalScans,,3');
    expect(lines).toContain(`code,${a},3`);
    expect(lines).toContain(`day,${dayText(0)},0`);
    const shares = await client.get(`${path}/breakdown/export.csv?by=country`);
    expect(shares.text).toBe('country,scans\r\nDE,3\r\n');
    const series = await client.get(`${path}/timeseries/export.csv`);
    expect(series.text.split('\r\n').length).toBe(6);
  });

  test('of a campaign to come are empty, of an endless one bounded', async () => {
    const later = await makeCampaign([], { startDate: dayText(2) });
    const empty = { totalScans: 0, timeseries: [], codes: [] };
    expect(await get(`${later}/analytics`)).toMatchObject(empty);
    const endless = await makeCampaign([], { startDate: '1970-01-01', endDate: null });
    const { timeseries } = await get(`${endless}/analytics`);
    expect(timeseries?.length).toBe(3_660);
    const series = await client.get(`/v1${endless}/analytics/timeseries`);
    expect(faultsOf(series)).toEqual([422, 'validation_failed', 'from range_too_long']);
  });
});

test('a conversion is counted once under its name', async () => {
  const qrCodeId = await makeCode();
  const body = { qrCodeId, value: 19.9, externalId: 'order-1' };
  const made = await post('/conversions', body);
  const where = `/v1/qr-codes/${qrCodeId}/conversions`;
  expect([made.status, made.headers.location]).toEqual([201, where]);
  const { createdAt } = made.json;
  expect(made.json).toEqual({ ...body, createdAt, deduplicated: false });
  const again = await post('/conversions', body);
  expect([again.status, again.json]).toEqual([200, { ...body, createdAt, deduplicated: true }]);
  const other = await post('/conversions', { ...body, value: 20 });
  expect([other.status, other.json.code]).toEqual([409, 'conflict']);
  const wrong = await post('/conversions', { ...body, value: null });
  expect(faultsOf(wrong)).toEqual([422, 'validation_failed', 'value wrong_type']);
  const bare = await post('/conversions', { qrCodeId });
  expect(bare.json).toMatchObject({ value: null, externalId: null, deduplicated: false });
  const today = dayText(0);
  expect((await client.get(where)).json).toEqual({
    from: today,
    to: today,
    conversions: 2,
    value: 19.9,
    data: [{ date: today, conversions: 2, value: 19.9 }],
  });
});
