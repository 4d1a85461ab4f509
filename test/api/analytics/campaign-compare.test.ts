/** A campaign compared with days that its schedule has not: real scans in a real engine, through HTTP. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { word } from '../../support/client.ts';
import { type CountedApi, openCountedApi } from './counted-api.ts';

const agent =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Mobile Safari/537.36';
const noonMs = Date.UTC(2026, 10, 15, 12);

let api: CountedApi;
let engine: CountedApi['engine'];
let service: CountedApi['service'];
let client: CountedApi['client'];
let codeId: string;
let campaign: string;

beforeAll(async () => {
  api = await openCountedApi(noonMs, 30);
  ({ engine, service, client } = api);
  const target = 'https://example.com/menu';
  codeId = word((await client.call('POST', '/v1/qr-codes', { body: { target } })).json.id);
  const made = await client.call('POST', '/v1/campaigns', {
    body: { name: 'Autumn', startDate: '2026-10-31', endDate: '2026-11-02', qrCodeIds: [codeId] },
  });
  campaign = word(made.json.id);
  const codeNo = service.codes.findAnywhere(codeId)!.no;
  // One before the schedule, which no answer may have.
  for (const [at, day] of ['2026-10-30', '2026-10-31', '2026-11-01', '2026-11-02'].entries()) {
    const address = Uint8Array.of(192, 0, 2, at);
    const input = { codeNo, workspaceNo: 1, agent, referer: '', address, isPrefetch: false };
    engine.scan(0, Date.parse(`${day}T12:00:00Z`), [input]);
  }
  engine.settle();
});
afterAll(() => api.close());

const get = (path: string) => client.call('GET', `/v1${path}`);

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
  const span = { startDate: '2026-12-01', endDate: '2026-12-24' };
  const body = { name: 'Winter', ...span, qrCodeIds: [codeId] };
  const { json } = await client.call('POST', '/v1/campaigns', { body });
  const { json: found } = await get(`/campaigns/${word(json.id)}/analytics?compare=previous`);
  const day = '2026-11-30';
  expect(found.previous).toMatchObject({ from: day, to: day, totalScans: 0 });
});
