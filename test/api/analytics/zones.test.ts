/**
 * Analytics in time zones, compared and filtered, through HTTP, over real scans in a real engine: what answers say, what is
 * refused and in which words, and that no number of another workspace is shown.
 */
import { describe, expect, test } from 'vitest';
import { word } from '../../support/client.ts';
import { makeStranger } from '../../support/test-client.ts';
import { android, useCountedApi } from './counted-api.ts';

const { engine, service, client, get, code, scan, checkpoint } = await useCountedApi(
  Date.UTC(2026, 10, 15, 12),
  30,
);

const workspaceId = word((await get('/workspaces')).items[0]?.id);
const menu = await code({ target: 'https://example.com/menu', tags: ['menu'], name: 'Menu' });
const poster = await code({ target: 'https://example.com/poster', tags: ['poster', 'menu'] });
const made = await client.post('/v1/campaigns', {
  name: 'Autumn',
  startDate: '2026-10-31',
  endDate: '2026-11-02',
  qrCodeIds: [menu.id],
});
const campaign = word(made.json.id);
// Long ago: its raw scans have expired.
scan(menu, '2026-07-01T03:00:00Z', 7);
scan(menu, '2026-07-01T12:00:00Z', 8, { agent: android });
checkpoint(1);
// New York puts its clocks back on 1 November: 01:30 comes twice.
scan(menu, '2026-11-01T03:59:00Z', 1);
scan(menu, '2026-11-01T04:00:00Z', 2);
scan(menu, '2026-11-01T05:30:00Z', 3, { agent: android });
scan(menu, '2026-11-01T06:30:00Z', 4, {
  agent: android,
  referer: 'https://www.example.org/',
});
scan(poster, '2026-11-02T04:59:00Z', 5);
scan(menu, '2026-11-02T05:00:00Z', 6);
checkpoint(2);

const newYork = 'timezone=America/New_York&from=2026-11-01&to=2026-11-01';

describe('a day of another zone', () => {
  test('has the scans between its midnights, in every answer', async () => {
    const { json } = await get(`/analytics/summary?${newYork}`);
    expect(json).toMatchObject({
      timezone: 'America/New_York',
      totalScans: 14,
      devices: { ios: 7, android: 7, other: 0 },
      topCodes: [
        { id: menu.id, scans: 9 },
        { id: poster.id, scans: 5 },
      ],
      scansPerDay: [{ day: '2026-11-01', scans: 14 }],
    });
    const ofCode = await get(`/qr-codes/${menu.id}/analytics?${newYork}`);
    expect(ofCode.json).toMatchObject({ totalScans: 9, timezone: 'America/New_York' });
    const os = await get(`/analytics/breakdown?by=os&${newYork}`);
    expect(os.json.data).toEqual([
      { key: 'Android', scans: 7 },
      { key: 'iOS', scans: 7 },
    ]);
  });

  test('has 25 hours when the clocks go back, each with its offset', async () => {
    const { items } = await get(
      `/qr-codes/${menu.id}/analytics/timeseries?interval=hour&${newYork}`,
    );
    expect(items).toHaveLength(25);
    expect(items.slice(1, 3)).toEqual([
      { start: '2026-11-01T01:00:00-04:00', scans: 3 },
      { start: '2026-11-01T01:00:00-05:00', scans: 4 },
    ]);
  });

  test('weekdays and hours of the week are all there, in the order of the week', async () => {
    await client.patch(`/v1/workspaces/${workspaceId}`, { weekStart: 'sun' });
    const days = await get(`/analytics/breakdown?by=weekday&${newYork}`);
    expect(days.json.data).toEqual(
      ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'].map((key) => {
        return { key, scans: key === 'sun' ? 14 : 0 };
      }),
    );
    const hours = await get(`/analytics/breakdown?by=hour_of_week&${newYork}`);
    const { data } = JSON.parse(hours.text);
    expect(data).toHaveLength(168);
    expect(data[1]).toEqual({ key: 'sun-01', scans: 7 });
    const weeks = await get(`/analytics/timeseries?interval=week&from=2026-10-30&to=2026-11-02`);
    expect(weeks.json.data).toEqual([
      { start: '2026-10-30T00:00:00.000Z', scans: 0 },
      { start: '2026-11-01T00:00:00.000Z', scans: 21 },
    ]);
  });

  test('a zone is called as it is written, in whatever case it was asked for', async () => {
    const path = '/analytics/timeseries?from=2026-11-01&to=2026-11-01&timezone=';
    expect((await get(`${path}europe/berlin`)).json.timezone).toBe('Europe/Berlin');
    const { json } = await get(`${path}Utc`);
    expect(json).toMatchObject({ timezone: 'UTC', data: [{ start: '2026-11-01T00:00:00.000Z' }] });
  });

  test('raw scans are those of its days', async () => {
    const { json } = await get(`/qr-codes/${menu.id}/scans?limit=100&${newYork}`);
    expect(json.data).toHaveLength(9);
  });
});

test('timezone=workspace is what was set, from then on in every answer', async () => {
  const path = `/v1/workspaces/${workspaceId}`;
  const set = await client.patch(path, { timezone: 'Asia/Kathmandu' });
  expect(set.json).toMatchObject({ timezone: 'Asia/Kathmandu', weekStart: 'sun' });
  const { json } = await get('/analytics/summary?timezone=workspace&from=2026-11-02&to=2026-11-02');
  // From 18:15 UTC to 18:15 UTC.
  expect(json).toMatchObject({ timezone: 'Asia/Kathmandu', totalScans: 11 });
  const bad = await client.patch(path, { timezone: 'Mars/Base', weekStart: 'tue' });
  expect(bad.status).toBe(422);
  expect(bad.json.errors).toEqual([
    expect.objectContaining({ path: 'timezone', code: 'unknown_timezone' }),
    expect.objectContaining({ path: 'weekStart' }),
  ]);
});

describe('filters', () => {
  const days = 'from=2026-11-01&to=2026-11-02';
  test('combine, and every card follows', async () => {
    const path = `/analytics/summary?${days}&os=Android&referer=example.org`;
    expect((await get(path)).json).toMatchObject({
      totalScans: 4,
      uniqueScanners: 4,
      devices: { ios: 0, android: 4, other: 0 },
      topCodes: [{ id: menu.id, scans: 4 }],
      newScanners: null,
    });
    const series = await get(`/analytics/timeseries?${days}&os=Android`);
    expect(series.json.data).toMatchObject([{ scans: 7 }, { scans: 0 }]);
    const hosts = await get(`/analytics/breakdown?by=referer&${days}&os=Android`);
    expect(hosts.json.data).toEqual([
      { key: 'example.org', scans: 4 },
      { key: 'direct', scans: 3 },
    ]);
    const direct = `by=referer&${days}&os=Android&referer=direct`;
    const own = await get(`/analytics/breakdown?${direct}`);
    expect(own.json.data).toEqual([{ key: 'direct', scans: 3 }]);
    const table = await get(`/analytics/breakdown/export.csv?${direct}`);
    expect(table.text).toMatch(/^direct,3\r?$/m);
    const code = await get(`/qr-codes/${menu.id}/analytics?${newYork}&device=mobile&os=iOS`);
    expect(code.json).toMatchObject({ totalScans: 2 });
  });

  test('by tag, campaign and code are answered by rollups, as far back as there are any', async () => {
    const long = 'from=2026-07-01&to=2026-07-01';
    expect((await get(`/analytics/summary?${long}&tag=menu`)).json).toMatchObject({
      totalScans: 15,
    });
    expect((await get(`/analytics/summary?${long}&tag=poster`)).json).toMatchObject({
      totalScans: 0,
    });
    const inCampaign = await get(`/analytics/summary?${days}&campaignId=${campaign}`);
    expect(inCampaign.json).toMatchObject({ totalScans: 16, topCodes: [{ id: menu.id }] });
    const one = await get(`/analytics/breakdown?by=os&${days}&qrCodeId=${poster.id}`);
    expect(one.json.data).toEqual([{ key: 'iOS', scans: 5 }]);
    const tags = await get(`/analytics/breakdown?by=tag&${days}`);
    expect(tags.json.data).toEqual([
      { key: 'menu', scans: 21 },
      { key: 'poster', scans: 5 },
    ]);
    const codes = await get(`/analytics/breakdown?by=code&${days}`);
    expect(codes.json.data).toEqual([
      { key: menu.id, name: 'Menu', scans: 16 },
      { key: poster.id, name: null, scans: 5 },
    ]);
    const campaigns = await get(`/analytics/breakdown?by=campaign&${days}`);
    expect(campaigns.json.data).toEqual([{ key: campaign, name: 'Autumn', scans: 16 }]);
  });

  test('of one word by day are answered by rollups, and others refused where raw scans have expired', async () => {
    const long = 'from=2026-07-01&to=2026-07-01';
    const series = await get(`/analytics/timeseries?${long}&os=Android`);
    expect(series.json.data).toMatchObject([{ scans: 8 }]);
    const shares = await get(`/analytics/breakdown?by=os&${long}&os=Android`);
    expect(shares.json.data).toEqual([{ key: 'Android', scans: 8 }]);
    const refused = await get(`/analytics/summary?${long}&os=Android`);
    expect(refused.status).toBe(422);
    expect(refused.faults[0]).toMatchObject({ path: 'from', code: 'raw_scans_expired' });
  });

  test('by a code of another workspace find nothing', async () => {
    const key = await makeStranger(service);
    const { status } = await get(`/analytics/summary?${days}&qrCodeId=${menu.id}`, { key });
    expect(status).toBe(404);
  });

  test('a label is that of one code', async () => {
    const refused = await get(`/analytics/summary?${days}&route=target`);
    expect(refused.faults[0]).toMatchObject({ path: 'route', code: 'needs_code' });
    const led = await get(`/qr-codes/${menu.id}/analytics?${days}&route=target`);
    expect(led.json).toMatchObject({ totalScans: 16 });
  });

  test('a code with the tag is counted by route; one without it has no scans', async () => {
    const rules = [
      { label: 'shop', if: { os: ['iOS'] }, then: { target: 'https://example.com/shop' } },
    ];
    const gate = await code({ target: 'https://example.com/gate', tags: ['gate'], rules });
    scan(gate, '2026-11-10T12:00:00Z', 0, { routes: [0, 1, 1] });
    engine.settle();
    const query = 'by=route&from=2026-11-10&to=2026-11-10&os=iOS';
    const path = `/qr-codes/${gate.id}/analytics/breakdown?${query}`;
    const whole = await get(path);
    expect(whole.json.data).toEqual([
      { key: 'shop', scans: 2 },
      { key: 'target', scans: 1 },
    ]);
    expect((await get(`${path}&tag=gate`)).json.data).toEqual(whole.json.data);
    expect((await get(`${path}&tag=menu`)).json.data).toEqual([]);
  });
});

describe('what is not known is refused in words', () => {
  test.each([
    ['timezone=Mars/Base', 'timezone', 'unknown_timezone'],
    ['timezone=%2B01:00', 'timezone', 'unknown_timezone'],
    ['interval=quarter_hour&from=2026-11-01&to=2026-11-08', 'from', 'range_too_long'],
    ['compare=yesterday', 'compare', 'invalid'],
    ['from=2026-11-02&to=2026-11-02&compare=2026-07-01..2026-07-02', 'compare', 'compare_length'],
  ])('%s', async (query, path, code) => {
    const answer = await get(`/analytics/timeseries?${query}`);
    expect(answer.status).toBe(422);
    expect(answer.faults[0]).toMatchObject({ path, code });
  });

  test('a day whose raw scans have expired, in a zone that does not cut it', async () => {
    const days = 'timezone=America/New_York&from=2026-07-01&to=2026-07-01';
    const totals = await get(`/qr-codes/${menu.id}/analytics?${days}`);
    expect(totals.status).toBe(422);
    expect(totals.faults[0]).toMatchObject({ path: 'timezone', code: 'timezone_unavailable' });
    // Its quarters of hours are known all the same.
    const series = await get(`/qr-codes/${menu.id}/analytics/timeseries?${days}`);
    expect(series.json.data).toMatchObject([{ scans: 8 }]);
  });
});

test('a campaign counts its schedule of UTC days, in whichever zone it is read', async () => {
  const path = `/campaigns/${campaign}/analytics`;
  const utc = await get(path);
  const local = await get(`${path}?timezone=America/New_York`);
  expect(utc.json).toMatchObject({ totalScans: 16 });
  expect(local.json).toMatchObject({ totalScans: 16, timezone: 'America/New_York' });
  const { timeseries } = JSON.parse(local.text);
  expect(timeseries).toEqual([
    { date: '2026-10-30', scans: 0 },
    { date: '2026-10-31', scans: 1 },
    { date: '2026-11-01', scans: 9 },
    { date: '2026-11-02', scans: 6 },
  ]);
  const filtered = await get(`${path}?os=Android`);
  expect(filtered.json).toMatchObject({ totalScans: 7, conversionRate: null });
});
