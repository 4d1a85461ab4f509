/**
 * What is read: analytics ranges, the merged event list, health and metrics.
 */
import { describe, expect, test } from 'vitest';
import { dayOf } from '../../src/model/day.ts';
import type { EventEnvelope } from '../../src/model/event.ts';
import { positionId } from '../../src/model/ids.ts';
import { word } from '../support/client.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { useTestApi } from '../support/test-client.ts';

const clock = new OffsetClock();
const { service, client, makeCode, codeNo } = await useTestApi({ clock });

const id = word((await makeCode()).id);
const no = codeNo(id);

const today = (): number => dayOf(clock.now());

test.each([
  ['', () => [today(), today()]],
  ['?from=2026-01-01&to=2026-01-31', () => [20_454, 20_484]],
  ['?from=2026-01-01', () => [20_454, today()]],
])('analytics range %s', async (query, days) => {
  service.scans.asked.length = 0;
  await client.get(`/v1/qr-codes/${id}/analytics${query}`);
  expect(service.scans.asked).toEqual([[no, ...days()].join(' ')]);
});

test.each([
  'analytics?from=2026-02-01&to=2026-01-01',
  'analytics?to=2026-01-31',
  'analytics?from=2099-01-01',
  'analytics/timeseries?interval=hour&from=2020-01-01',
  'analytics/timeseries?from=1980-01-01',
  'analytics/breakdown',
])('%s is 422', async (path) => {
  expect((await client.get(`/v1/qr-codes/${id}/${path}`)).status).toBe(422);
});

test('a defect below is a 500 that says nothing, and a log entry that says all', async () => {
  service.scans.failure = new Error('secret detail');
  const answer = await client.get(`/v1/qr-codes/${id}/analytics`);
  service.scans.failure = undefined;
  expect([answer.status, answer.json.code]).toEqual([500, 'internal_error']);
  expect(answer.text).not.toContain('secret');
  const line = service.logLines.find((text) => text.includes(word(answer.json.requestId)));
  expect(line).toContain('secret detail');
});

const { service: own, client: other, makeCode: makeOther } = await useTestApi();
const scan = (timeMs: number, position: number): EventEnvelope => ({
  id: positionId('evt', timeMs, 0, position),
  event: 'qr.scanned',
  createdAt: new Date(timeMs).toISOString(),
  data: { qrId: id, country: 'DE' },
});

test('events of both places merge newest first; pages neither repeat nor skip', async () => {
  const scans: EventEnvelope[] = [];
  for (let index = 0; index < 12; index += 1) {
    await makeOther();
    if (index % 3 === 0) {
      for (const step of [0, 1, 2]) scans.unshift(scan(Date.now(), index * 10 + step));
    }
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  own.scans.scanned = scans;
  for (const limit of [1, 4, 5, 100]) {
    const ids: string[] = [];
    let cursor = '';
    for (let page = 0; page < 40; page += 1) {
      const { json, items } = await other.get(`/v1/events?limit=${limit}${cursor}`);
      ids.push(...items.map((event) => word(event.id)));
      if (json.nextCursor === undefined) break;
      cursor = `&cursor=${word(json.nextCursor)}`;
    }
    expect(ids).toHaveLength(24);
    expect(new Set(ids).size).toBe(24);
    const times = ids.map((text) => text.slice(4, 13));
    expect(times).toEqual(times.toSorted().toReversed());
  }
  const only = await other.get('/v1/events?type=qr.scanned&limit=100');
  expect(only.items).toEqual(scans);
  const created = await other.get('/v1/events?type=qr.created&limit=5');
  expect(created.items.map((event) => word(event.event))).toEqual(Array(5).fill('qr.created'));
});

describe('health, metrics', () => {
  test('live always answers; ready is 503 with reasons when it is not', async () => {
    expect((await client.get('/health/live')).json).toEqual({ status: 'live' });
    expect((await client.get('/health/ready')).status).toBe(200);
    const checks = [{ name: 'journals', ok: false, detail: 'The journal of thread 0 lags' }];
    service.health = { ready: false, checks };
    const answer = await client.get('/health/ready');
    service.health = { ready: true, checks: [] };
    expect(answer.status).toBe(503);
    expect(answer.json).toMatchObject({
      status: 'not_ready',
      reasons: [checks[0]?.detail],
      checks,
    });
  });

  test('metrics count by operation and status, and are not on this port', async () => {
    const text = await service.metrics.text();
    expect(text).toMatch(/quietzone_api_requests_total\{route="createQrCode",status="201"\} \d/);
    expect(text).toContain('quietzone_api_request_seconds_bucket{le="0.005",route="createQrCode"}');
    expect((await client.get('/metrics', { key: undefined })).status).toBe(404);
  });
});
