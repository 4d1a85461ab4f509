/** /campaigns and /conversions over HTTP: shapes, statuses, every refusal, and what both views of membership say. */
import { describe, expect, test } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { type Answer, type Json, word } from '../support/client.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { useTestApi } from '../support/test-client.ts';

const clock = new OffsetClock();
const { service, client } = await useTestApi({ clock });

const dayText = (fromToday: number): string =>
  new Date(clock.now() + fromToday * dayMs).toISOString().slice(0, 10);
const post = async (path: string, body: unknown, headers = {}): Promise<Answer> =>
  await client.post(`/v1${path}`, body, { headers });
const patch = async (id: Json | string | undefined, body: unknown): Promise<Answer> =>
  await client.patch(`/v1/campaigns/${word(id)}`, body);
const get = async (path: string): Promise<Answer> => await client.get(`/v1${path}`);
const makeCode = async (more: object = {}): Promise<string> =>
  word((await post('/qr-codes', { target: 'https://example.com/', ...more })).json.id);
const codeNo = (id: string): number => service.codes.find(1, id)?.no ?? 0;
const faultsOf = ({ status, json, faults }: Answer): unknown => [
  status,
  json.code,
  ...faults.map(({ path, code }) => `${path} ${code}`),
];
const spring = (qrCodeIds: string[] = []) => ({
  name: 'Spring',
  startDate: dayText(-3),
  endDate: dayText(3),
  qrCodeIds,
});

describe('a campaign', () => {
  test('is made with its Location, read, listed, changed and deleted', async () => {
    const [a, b] = [await makeCode(), await makeCode()];
    const made = await post('/campaigns', spring([b, a]));
    const { id } = made.json;
    expect([made.status, made.headers.location]).toEqual([201, `/v1/campaigns/${word(id)}`]);
    expect(word(id)).toMatch(/^cmp_[0-9a-hjkmnp-tv-z]{20}$/);
    const { createdAt, updatedAt, qrCodes, ...rest } = made.json;
    const target = 'https://example.com/';
    expect(qrCodes).toEqual([b, a].map((code) => ({ id: code, name: null, target })));
    const resource = { id, ...spring([b, a]), status: 'active', result: null };
    expect(rest).toEqual(resource);
    expect(updatedAt).toBe(createdAt);
    expect(word(createdAt)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect((await get(`/campaigns/${word(id)}`)).json).toEqual(made.json);
    const page = await get('/campaigns?status=active&limit=1');
    // A page may hold 100 campaigns of 1,000 codes: it has their ids alone.
    expect(page.items).toEqual([{ ...rest, createdAt, updatedAt }]);
    expect(page.json).toMatchObject({ page: 1, limit: 1 });
    expect((await get('/campaigns?page=999')).items).toEqual([]);
    const changed = await patch(id, { name: 'May', endDate: null, qrCodeIds: [a] });
    expect(changed.json).toMatchObject({ name: 'May', endDate: null, qrCodeIds: [a] });
    const deleted = await client.delete(`/v1/campaigns/${word(id)}`);
    expect([deleted.status, deleted.json]).toEqual([200, { deleted: true, id }]);
    for (const method of ['GET', 'DELETE']) {
      const again = await client.call(method, `/v1/campaigns/${word(id)}`);
      expect([again.status, again.json.code]).toEqual([404, 'not_found']);
    }
  });

  test('has the status of its dates; without an end it is null', async () => {
    const statuses: unknown[] = [];
    for (const [from, to] of [
      [1, 2],
      [0, 0],
      [-2, -1],
      [-2, undefined],
    ] as const) {
      const end = to === undefined ? {} : { endDate: dayText(to) };
      const body = { name: 'n', startDate: dayText(from), ...end, qrCodeIds: [] };
      const { json } = await post('/campaigns', body);
      statuses.push([json.status, json.endDate]);
    }
    expect(statuses).toEqual([
      ['scheduled', dayText(2)],
      ['active', dayText(0)],
      ['ended', dayText(-1)],
      ['active', null],
    ]);
    for (const status of ['scheduled', 'active', 'ended']) {
      const { items } = await get(`/campaigns?status=${status}`);
      expect(new Set(items.map((item) => item.status))).toEqual(new Set([status]));
    }
  });

  test.each([
    [{ name: undefined }, ['name']],
    [{ name: '' }, ['name']],
    [{ name: 'a\nb' }, ['name']],
    [{ startDate: undefined }, ['startDate']],
    [{ startDate: '2026-02-30' }, ['startDate']],
    [{ startDate: '2026-2-3' }, ['startDate']],
    [{ endDate: 'soon' }, ['endDate']],
    [{ endDate: '1970-01-01' }, ['endDate']],
    [{ startDate: 1, endDate: 2 }, ['startDate', 'endDate']],
    [{ qrCodeIds: undefined }, ['qrCodeIds']],
    [{ qrCodeIds: ['cmp_00000000000000000000'] }, ['qrCodeIds.0']],
    [{ qrCodeIds: ['qr_00000000000000000000'] }, ['qrCodeIds.0']],
    [{ status: 'active' }, ['status']],
    [{ id: 'cmp_00000000000000000000' }, ['id']],
  ])('refuses the %$th wrong body by the path of its fault', async (wrong, paths) => {
    const before = (await get('/campaigns')).json.total;
    const answer = await post('/campaigns', { ...spring(), ...wrong });
    expect([answer.status, answer.json.code]).toEqual([422, 'validation_failed']);
    expect([...new Set(answer.faults.map(({ path }) => path))]).toEqual(paths);
    expect((await get('/campaigns')).json.total).toBe(before);
  });

  test('bad queries are 422, other methods 405', async () => {
    const { id } = (await post('/campaigns', spring())).json;
    const one = `/campaigns/${word(id)}`;
    for (const path of [
      '/campaigns?status=old',
      '/campaigns?cursor=x',
      '/campaigns?page=0',
      `${one}/analytics?from=2026-13-01`,
      `${one}/analytics?from=2026-02-02&to=2026-02-01`,
      `${one}/analytics/breakdown`,
      `${one}/analytics/timeseries?interval=year`,
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 422]);
    }
    const put = await client.put(`/v1${one}`, spring());
    expect([put.status, put.headers.allow]).toEqual([405, 'GET, HEAD, PATCH, DELETE']);
    expect((await get('/campaigns/cmp_00000000000000000000')).status).toBe(404);
    expect((await get('/campaigns/x')).status).toBe(404);
  });
});

describe('membership', () => {
  test('shows on both sides, and filters the list', async () => {
    const { id } = (await post('/campaigns', spring())).json;
    const own = await makeCode({ campaignIds: [id] });
    const added = await makeCode();
    await patch(id, { qrCodeIds: [own, added] });
    const other = (await post('/campaigns', spring([own]))).json.id;
    const code = (await get(`/qr-codes/${own}`)).json;
    expect(code.campaignIds).toEqual([id, other]);
    const plain = (await get(`/qr-codes/${added}`)).json;
    expect(plain.campaignIds).toEqual([id]);
    const filtered = await get(`/qr-codes?campaign=${word(id)}`);
    expect([
      filtered.json.total,
      filtered.items.map((item) => [item.id, item.campaignIds]),
    ]).toEqual([
      2,
      [
        [added, [id]],
        [own, [id, other]],
      ],
    ]);
    await client.delete(`/v1/qr-codes/${added}`);
    expect((await get(`/campaigns/${word(id)}`)).json.qrCodeIds).toEqual([own]);
    const out = await client.patch(`/v1/qr-codes/${own}`, { campaignIds: [other] });
    expect(out.json.campaignIds).toEqual([other]);
    expect((await get(`/qr-codes?campaign=${word(id)}`)).json.total).toBe(0);
  });

  test('CSV takes and gives campaigns with ; between them', async () => {
    const made = [await post('/campaigns', spring()), await post('/campaigns', spring())];
    const ids = made.map(({ json }) => word(json.id));
    const cell = ids.join(';');
    const { json } = await client.call('POST', '/v1/qr-codes/bulk', {
      raw: `target,tags,campaignIds\nhttps://example.com/,both,${cell}`,
      headers: { 'content-type': 'text/csv' },
    });
    expect(json.results).toMatchObject([{ qrCode: { campaignIds: ids } }]);
    const { text } = await client.get('/v1/qr-codes/export.csv?tag=both');
    expect([text.includes(',campaignIds,'), text.includes(`,${cell},`)]).toEqual([true, true]);
  });

  test('an unknown campaign is refused wherever a code names it', async () => {
    const campaignIds = ['cmp_00000000000000000000'];
    const refused = [422, 'validation_failed', 'campaignIds.0 unknown_campaign'];
    const target = 'https://example.com/';
    expect(faultsOf(await post('/qr-codes', { target, campaignIds }))).toEqual(refused);
    const id = await makeCode();
    for (const method of ['PATCH', 'PUT']) {
      const body = method === 'PUT' ? { target, campaignIds } : { campaignIds };
      const answer = await client.call(method, `/v1/qr-codes/${id}`, { body });
      expect(faultsOf(answer)).toEqual(refused);
    }
  });
});

describe('numbers', () => {
  test('and the campaign itself name its codes, so that nothing is asked once per code', async () => {
    const [named, plain, gone] = [
      await makeCode({ name: 'Table 12' }),
      await makeCode(),
      await makeCode({ name: 'Table 13' }),
    ];
    const { id } = (await post('/campaigns', spring([named, plain, gone]))).json;
    await client.patch(`/v1/qr-codes/${named}`, { name: 'Table 14' });
    await client.delete(`/v1/qr-codes/${gone}`);
    const target = 'https://example.com/';
    const shown = (await get(`/campaigns/${word(id)}`)).json;
    expect(shown.qrCodes).toEqual([
      { id: named, name: 'Table 14', target },
      { id: plain, name: null, target },
    ]);
    expect((await patch(id, { name: 'June' })).json.qrCodes).toEqual(shown.qrCodes);
    const { codes } = (await get(`/campaigns/${word(id)}/analytics`)).json;
    expect(codes).toMatchObject([
      { qrCodeId: named, name: 'Table 14', target, deleted: false },
      { qrCodeId: plain, name: null, target, deleted: false },
      { qrCodeId: gone, name: null, target: null, deleted: true },
    ]);
  });

  test('sum over its codes, with conversions inside the schedule', async () => {
    const [a, b] = [await makeCode(), await makeCode()];
    const { id } = (await post('/campaigns', spring([a, b]))).json;
    service.scans.lifetime.set(codeNo(a), 6).set(codeNo(b), 2);
    await post('/conversions', { qrCodeId: a, value: 9.99 });
    await post('/conversions', { qrCodeId: b, value: 0.01 });
    const found = (await get(`/campaigns/${word(id)}/analytics`)).json;
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
    const narrow = (await get(`/campaigns/${word(id)}/analytics?${range}`)).json;
    expect(narrow).toMatchObject({ conversions: 0, timeseries: [{ date: dayText(-1) }] });
    const outside = (await get(`/campaigns/${word(id)}/analytics?to=${dayText(-9)}`)).json;
    expect(outside).toMatchObject({ totalScans: 0, conversionRate: 0, timeseries: [] });
    const series = (await get(`/campaigns/${word(id)}/analytics/timeseries`)).json;
    expect(series).toMatchObject({ interval: 'day', data: dates.map(() => ({ scans: 0 })) });
    const shares = (await get(`/campaigns/${word(id)}/analytics/breakdown?by=country`)).json;
    const days = { from: dayText(-3), to: dayText(0) };
    expect(shares).toEqual({
      by: 'country',
      ...days,
      timezone: 'UTC',
      data: [{ key: 'DE', scans: 8 }],
    });
  });

  test('come as CSV too', async () => {
    const a = await makeCode();
    const { id } = (await post('/campaigns', spring([a]))).json;
    service.scans.lifetime.set(codeNo(a), 3);
    const path = `/v1/campaigns/${word(id)}/analytics`;
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
    const later = { ...spring(), startDate: dayText(2) };
    const { id } = (await post('/campaigns', later)).json;
    const found = (await get(`/campaigns/${word(id)}/analytics`)).json;
    expect(found).toMatchObject({ totalScans: 0, timeseries: [], codes: [] });
    const old = { name: 'old', startDate: '1970-01-01', qrCodeIds: [] };
    const endless = word((await post('/campaigns', old)).json.id);
    const { timeseries } = (await get(`/campaigns/${endless}/analytics`)).json;
    expect(timeseries?.length).toBe(3_660);
    const series = await get(`/campaigns/${endless}/analytics/timeseries`);
    expect(faultsOf(series)).toEqual([422, 'validation_failed', 'from range_too_long']);
  });
});

describe('a conversion', () => {
  test('is counted once under its name', async () => {
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

  test.each([
    [{ qrCodeId: undefined }, 'qrCodeId'],
    [{ qrCodeId: 'x' }, 'qrCodeId'],
    [{ qrCodeId: 'qr_00000000000000000000' }, 'qrCodeId'],
    [{ value: null }, 'value'],
    [{ campaignId: 'cmp_00000000000000000000' }, 'campaignId'],
  ])('refuses the %$th wrong body by the path of its fault', async (wrong, path) => {
    const answer = await post('/conversions', { qrCodeId: await makeCode(), ...wrong });
    expect([answer.status, answer.faults.map((fault) => fault.path)]).toEqual([422, [path]]);
  });
});
