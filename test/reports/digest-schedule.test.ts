/** When a digest is due: 08:00 of the workspace's clocks, whatever they do, and every day in one period. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayMs, formatDay, isoTime } from '../../src/model/day.ts';
import { calendarOf } from '../../src/model/zones/calendar.ts';
import {
  lastDayDone,
  nextDueMs,
  periodThrough,
} from '../../src/reports/digests/digest-schedule.ts';

const at = (text: string): number => Date.parse(text);

test.each([
  ['weekly', 'Europe/Berlin', 'mon', '2026-03-25T12:00:00Z', '2026-03-30T06:00:00.000Z'],
  ['weekly', 'Europe/Berlin', 'mon', '2026-03-18T12:00:00Z', '2026-03-23T07:00:00.000Z'],
  ['weekly', 'America/New_York', 'sun', '2026-03-07T12:00:00Z', '2026-03-08T12:00:00.000Z'],
  ['weekly', 'Asia/Dubai', 'sat', '2026-03-04T05:00:00Z', '2026-03-07T04:00:00.000Z'],
  ['weekly', 'UTC', 'mon', '2026-03-09T08:00:00Z', '2026-03-16T08:00:00.000Z'],
  ['monthly', 'Asia/Kathmandu', 'mon', '2026-02-28T20:00:00Z', '2026-03-01T02:15:00.000Z'],
  ['monthly', 'UTC', 'mon', '2026-12-05T00:00:00Z', '2027-01-01T08:00:00.000Z'],
] as const)(
  '%s in %s, weeks from %s, after %s is at %s',
  (frequency, zone, weekStart, now, due) => {
    expect(isoTime(nextDueMs(frequency, { calendar: calendarOf(zone)!, weekStart }, at(now)))).toBe(
      due,
    );
  },
);

test('a month is compared with the month before, a week with the week before', () => {
  const through = Math.floor(at('2026-03-31') / dayMs);
  const { days, previous } = periodThrough('monthly', through);
  expect(
    [days.fromDay, previous?.fromDay, previous?.toDay].map((day) => formatDay(day ?? 0)),
  ).toEqual(['2026-03-01', '2026-02-01', '2026-02-28']);
  const week = periodThrough('weekly', through);
  expect(week.days.toDay - week.days.fromDay).toBe(6);
  expect(week.previous?.toDay).toBe(week.days.fromDay - 1);
});

test.each([
  ['weekly', '2026-11-29T23:59:00+01:00', '2026-11-16..2026-11-22'],
  ['weekly', '2026-11-30T00:05:00+01:00', '2026-11-23..2026-11-29'],
  ['weekly', '2026-12-03T12:00:00+01:00', '2026-11-23..2026-11-29'],
  ['monthly', '2026-11-30T23:59:00+01:00', '2026-10-01..2026-10-31'],
  ['monthly', '2026-12-01T00:05:00+01:00', '2026-11-01..2026-11-30'],
  ['monthly', '2026-12-20T12:00:00+01:00', '2026-11-01..2026-11-30'],
] as const)('%s at %s is about %s: nothing of the present', (frequency, now, expected) => {
  const weeks = { calendar: calendarOf('Europe/Berlin')!, weekStart: 'mon' } as const;
  const { days } = periodThrough(frequency, lastDayDone(frequency, weeks, at(now)));
  expect(`${formatDay(days.fromDay)}..${formatDay(days.toDay)}`).toBe(expected);
});

test('periods follow each other without a gap, in every zone', () => {
  const zone = fc.constantFrom(
    'Australia/Lord_Howe',
    'Pacific/Apia',
    'Pacific/Chatham',
    'America/New_York',
    'UTC',
  );
  const weekStart = fc.constantFrom('mon', 'sun', 'sat');
  const frequency = fc.constantFrom('weekly', 'monthly');
  const start = fc.integer({ min: at('2011-01-01'), max: at('2030-01-01') });
  fc.assert(
    fc.property(zone, weekStart, frequency, start, (one, week, often, nowMs) => {
      const weeks = { calendar: calendarOf(one)!, weekStart: week };
      const dueMs = nextDueMs(often, weeks, nowMs);
      const nextMs = nextDueMs(often, weeks, dueMs);
      const clock = new Intl.DateTimeFormat('en', { timeZone: one, timeStyle: 'short' });
      expect(clock.format(dueMs)).toBe('8:00 AM');
      expect(dueMs).toBeGreaterThan(nowMs);
      const { days } = periodThrough(often, lastDayDone(often, weeks, nextMs));
      expect(days.fromDay).toBe(lastDayDone(often, weeks, dueMs) + 1);
    }),
    { numRuns: 60 },
  );
});
