/** Days of zones with every kind of change, and each zone of the runtime against what `Intl` shows. */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { dayMs, dayOf, formatDay, parseDay } from '../../../src/model/day.ts';
import {
  calendarOf,
  formatLocal,
  midnightsIn,
  startOfMonth,
  startOfWeek,
  weekdayOf,
} from '../../../src/model/zones/calendar.ts';

const hourMs = 3_600_000;
const dayNumber = (text: string): number => parseDay(text)!;

describe('a day', () => {
  it.each([
    ['America/New_York', '2026-03-08', '2026-03-08T00:00:00-05:00', 23],
    ['America/New_York', '2026-11-01', '2026-11-01T00:00:00-04:00', 25],
    ['Australia/Sydney', '2026-10-04', '2026-10-04T00:00:00+10:00', 23],
    ['Australia/Lord_Howe', '2026-04-05', '2026-04-05T00:00:00+11:00', 24.5],
    ['Australia/Lord_Howe', '2026-10-04', '2026-10-04T00:00:00+10:30', 23.5],
    ['Asia/Kathmandu', '2026-05-01', '2026-05-01T00:00:00+05:45', 24],
    ['Pacific/Chatham', '2026-04-05', '2026-04-05T00:00:00+13:45', 25],
    // Midnight is left out: the day begins at one.
    ['Africa/Cairo', '2026-04-24', '2026-04-24T01:00:00+03:00', 23],
    // Midnight comes twice: the day begins with the first, for its clocks go back within it.
    ['America/Havana', '2026-11-01', '2026-11-01T00:00:00-04:00', 25],
    // The whole day is left out.
    ['Pacific/Apia', '2011-12-30', '2011-12-31T00:00:00+14:00', 0],
    ['UTC', '2026-11-01', '2026-11-01T00:00:00.000Z', 24],
  ])('of %s on %s begins at %s and has %d hours', (zone, date, start, hours) => {
    const calendar = calendarOf(zone)!;
    const day = dayNumber(date);
    expect(formatLocal(calendar, calendar.startOfDay(day))).toBe(start);
    expect((calendar.startOfDay(day + 1) - calendar.startOfDay(day)) / hourMs).toBe(hours);
  });

  it('begins at midnight of the clocks, and has its own number, in every zone', () => {
    const format = new Map<string, Intl.DateTimeFormat>();
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      format.set(zone, new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' }));
    }
    for (const [zone, shown] of format) {
      const calendar = calendarOf(zone)!;
      for (let day = dayNumber('2026-01-01'); day < dayNumber('2027-01-01'); day += 29) {
        const startMs = calendar.startOfDay(day);
        const date = new Date(day * dayMs).toISOString().slice(0, 10);
        expect([zone, shown.format(startMs)]).toEqual([zone, date]);
        expect(shown.format(startMs - 1) < date).toBe(true);
        expect([calendar.dayOf(startMs), calendar.dayOf(startMs - 1)]).toEqual([day, day - 1]);
      }
    }
  });

  it('is cut at the midnights of a zone, by quarters of an hour', () => {
    const cuts = (zone: string, date: string): number[] =>
      midnightsIn(calendarOf(zone)!, dayNumber(date));
    expect(cuts('UTC', '2026-05-01')).toEqual([]);
    expect(cuts('Europe/Berlin', '2026-05-01')).toEqual([88]);
    expect(cuts('Asia/Kathmandu', '2026-05-01')).toEqual([73]);
    expect(cuts('Pacific/Chatham', '2026-05-01')).toEqual([45]);
    // One midnight, though two days begin with it.
    expect(cuts('Pacific/Apia', '2011-12-30')).toEqual([40]);
  });
});

it('knows no offsets, no paths and no names that are none', () => {
  for (const name of ['+01:00', 'Mars/Base', '../UTC', '', 'a'.repeat(65)]) {
    expect(calendarOf(name)).toBeUndefined();
  }
});

it('weeks begin on the day that was chosen, months on their first', () => {
  const sunday = dayNumber('2026-11-01');
  expect(weekdayOf(sunday)).toBe(6);
  expect(startOfWeek(sunday, 'mon')).toBe(dayNumber('2026-10-26'));
  expect(startOfWeek(sunday, 'sun')).toBe(sunday);
  expect(startOfWeek(sunday, 'sat')).toBe(dayNumber('2026-10-31'));
  expect(startOfMonth(dayNumber('2024-02-29'))).toBe(dayNumber('2024-02-01'));
  expect(weekdayOf(dayOf(0))).toBe(3);
});

test('a day survives writing and reading', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_932_896 }), (day) => {
      expect(parseDay(formatDay(day))).toBe(day);
    }),
  );
});

test('impossible dates and other forms are no days', () => {
  const impossible = '2026-02-29,2026-02-30,2026-13-01,2026-00-10,1969-12-31,0000-01-01';
  const others = '2026-1-1,2026-03-04T00:00:00Z, 2026-03-04,2026-03-04\n,';
  for (const text of `${impossible},${others}`.split(',')) {
    expect(parseDay(text), text).toBeUndefined();
  }
  expect(parseDay('2024-02-29')).toBe(dayOf(Date.UTC(2024, 1, 29)));
});
