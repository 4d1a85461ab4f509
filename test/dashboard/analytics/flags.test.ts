/** Where changes of a code and a campaign's begin and end stand in a series. */
import { expect, test } from 'vitest';
import {
  flagsOn,
  momentsOfCampaign,
  momentsOfCode,
} from '../../../src/dashboard/analytics/state/flags.ts';
import type { ServiceEvent } from '../../../src/dashboard/client/wire.ts';

const zone = 'America/New_York';
const pointsAt = (...starts: string[]) => starts.map((start) => ({ start, scans: 1 }));
const changed = (createdAt: string, after: unknown, id = 'qr_1'): ServiceEvent => ({
  id: `evt_${createdAt}`,
  event: 'qr.updated',
  createdAt,
  data: { id, after },
});
const momentsAt = (...times: string[]) =>
  times.map((time) => ({ atMs: Date.parse(time), text: time }));

test('a code has flags for its destination and its pauses, not for other changes or codes', () => {
  const moments = momentsOfCode('qr_1', [
    changed('2026-11-03T12:00:00Z', { paused: false }),
    changed('2026-11-02T12:00:00Z', { target: 'https://a.example', name: 'New' }),
    changed('2026-11-02T11:00:00Z', { target: 'https://b.example' }),
    changed('2026-11-02T10:00:00Z', { paused: true }),
    changed('2026-11-01T12:00:00Z', { name: 'Old' }),
    changed('2026-11-01T12:00:00Z', { paused: true }, 'qr_2'),
  ]);
  const days = pointsAt('2026-11-01T00:00:00Z', '2026-11-02T00:00:00Z', '2026-11-03T00:00:00Z');
  expect([...flagsOn(days, moments, 'UTC', '2026-11-03')]).toEqual([
    [1, 'Paused, Destination changed'],
    [2, 'Resumed'],
  ]);
});

test('moments stand at the day of the zone, and outside the range not at all', () => {
  const days = pointsAt('2026-11-05T00:00:00-05:00', '2026-11-06T00:00:00-05:00');
  const moments = momentsAt(
    '2026-11-05T04:59:59Z',
    '2026-11-06T04:59:59Z',
    '2026-11-07T04:59:59Z',
    '2026-11-07T05:00:00Z',
  );
  expect([...flagsOn(days, moments, zone, '2026-11-06')]).toEqual([
    [0, '2026-11-06T04:59:59Z'],
    [1, '2026-11-07T04:59:59Z'],
  ]);
});

test('of the hour that comes twice, it is the right one', () => {
  const hours = pointsAt('2026-11-01T01:00:00-04:00', '2026-11-01T01:00:00-05:00');
  const moments = momentsAt('2026-11-01T05:30:00Z', '2026-11-01T06:30:00Z');
  expect([...flagsOn(hours, moments, zone, '2026-11-01').keys()]).toEqual([0, 1]);
});

test('a campaign begins with its first day in UTC and ends with its last, once it has', () => {
  const schedule = { startDate: '2026-11-05', endDate: '2026-11-06' };
  const days = pointsAt(
    '2026-11-04T00:00:00-05:00',
    '2026-11-05T00:00:00-05:00',
    '2026-11-06T00:00:00-05:00',
  );
  const flags = (now: string) => {
    const moments = momentsOfCampaign(schedule, 'Campaign', Date.parse(now));
    return [...flagsOn(days, moments, zone, '2026-11-06')];
  };
  expect(flags('2026-11-04T23:59:59Z')).toEqual([]);
  expect(flags('2026-11-06T23:59:59Z')).toEqual([[0, 'Campaign began']]);
  expect(flags('2026-11-07T00:00:00Z')).toEqual([
    [0, 'Campaign began'],
    [2, 'Campaign ended'],
  ]);
});
