/** Rules as sentences, as a person reads them. */
import { expect, test } from 'vitest';
import {
  labelsOf,
  type Point,
  runningIn,
  tickOf,
  ticksOf,
} from '../../src/dashboard/client/point-labels.ts';
import { outcomeText, sentenceOf } from '../../src/dashboard/pages/code/routing/sentence.ts';
import type { RouteConditions } from '../../src/model/routing/routing.ts';

const timezone = 'Europe/Berlin';
const workdays = ['mon', 'tue', 'wed', 'thu', 'fri'] as const;

const cases: ReadonlyArray<readonly [conditions: RouteConditions, sentence: string]> = [
  [
    { device: ['mobile'], os: ['iOS'], country: ['DE', 'AT'] },
    'If the phone is an iPhone and the country is Germany or Austria',
  ],
  [{ os: ['iOS'] }, 'If the device is an iPhone or iPad'],
  [
    { os: ['Android', 'Windows', 'other'] },
    'If the device runs Android, Windows or another system',
  ],
  [{ device: ['tablet'], os: ['iOS'] }, 'If the tablet is an iPad'],
  [
    { device: ['mobile', 'tablet'], os: ['Android'] },
    'If the device is a phone or a tablet and it runs Android',
  ],
  [{ device: ['desktop'] }, 'If the device is a computer'],
  [{ browser: ['Samsung Internet', 'other'] }, 'If the browser is Samsung Internet or another one'],
  [{ country: ['DE'] }, 'If the country is Germany'],
  [{ country: ['DE', 'ZZ'] }, 'If the country is Germany or unknown'],
  [
    { country: ['DE', 'AT', 'CH', 'FR', 'IT', 'ES', 'PT'] },
    'If the country is Germany, Austria, Switzerland, France or 3 more countries',
  ],
  [
    { language: ['de', 'pt-BR', 'en'] },
    'If the language is German, Brazilian Portuguese or English',
  ],
  [
    { time: { days: workdays, from: '11:00', to: '14:00', timezone } },
    'If it is Monday to Friday, 11:00 to 14:00 (Berlin time)',
  ],
  [
    { time: { days: ['mon', 'tue', 'wed', 'sat'], timezone } },
    'If it is Monday to Wednesday or Saturday (Berlin time)',
  ],
  [{ time: { days: ['sat', 'sun'], timezone: 'UTC' } }, 'If it is Saturday or Sunday (UTC)'],
  [
    { time: { days: ['fri', 'mon', 'wed'], from: '18:00', timezone: 'America/New_York' } },
    'If it is Monday, Wednesday or Friday, 18:00 or later (New York time)',
  ],
  [
    { time: { from: '22:00', to: '02:00', timezone } },
    'If it is 22:00 to 02:00 the next day (Berlin time)',
  ],
  [{ time: { to: '11:30', timezone } }, 'If it is before 11:30 (Berlin time)'],
  [{ time: { from: '11:30', to: '24:00', timezone } }, 'If it is 11:30 or later (Berlin time)'],
  [{ query: { table: '5', bar: '*' } }, 'If the link has table=5 and any “bar”'],
  // While it is written.
  [{}, 'If …'],
  [{ country: [] }, 'If the country is …'],
  [{ time: { days: [], timezone: '' } }, 'If it is … (…)'],
  [{ date: {} }, 'If the date is before …'],
  [{ query: {} }, 'If the link has …'],
];

test.each(cases)('sentenceOf %j', (conditions, sentence) => {
  expect(sentenceOf(conditions)).toBe(sentence);
});

test('sentenceOf names both ends of a span of time, or the one that there is', () => {
  const [from, to] = ['2026-12-01T12:00:00.000Z', '2027-01-15T12:00:00.000Z'];
  expect(sentenceOf({ date: { from, to } })).toMatch(/^If the date is from .*2026.* until .*2027/);
  expect(sentenceOf({ date: { from } })).toMatch(/^If the date is .*2026.* or later$/);
  expect(sentenceOf({ date: { to } })).toMatch(/^If the date is before .*2027/);
});

test('outcomeText is the address, or how many there are', () => {
  expect(outcomeText({ target: 'https://www.example.com/menu/' })).toBe('example.com/menu');
  expect(outcomeText({ target: '' })).toBe('…');
  const variant = { label: 'a', target: 'https://example.com', weight: 1 };
  expect(outcomeText({ split: [variant, { ...variant, label: 'b' }] })).toBe('2 destinations');
});

/** Points of a series are told in their own zone, whatever zone the browser is in. */

const point = (start: string): Point => ({ start, scans: 1 });
const hours = (count: number): Point[] =>
  Array.from({ length: count }, (_, hour) =>
    point(
      `2026-03-${String(Math.floor(hour / 24) + 1).padStart(2, '0')}T${String(hour % 24).padStart(2, '0')}:00:00+05:45`,
    ),
  );

test('a start is shown as it stands, at the ends of the world too', () => {
  expect(labelsOf([point('2026-11-01T00:00:00+14:00')], 'day')).toEqual([
    expect.stringMatching(/Sun.*Nov 1|Sun.*1 Nov/),
  ]);
  expect(labelsOf([point('2026-11-01T23:45:00-11:00')], 'quarter_hour')[0]).toMatch(
    /Nov.*11:45|Nov.*23:45/,
  );
  expect(labelsOf([point('2026-10-26T00:00:00+01:00')], 'week')[0]).toMatch(/^Week from .*26/);
  expect(labelsOf([point('2026-10-01T00:00:00+01:00')], 'month')).toEqual(['October 2026']);
});

test('the point that is not over says so', () => {
  const day = hours(24);
  const at = (time: string) => runningIn(day, Date.parse(`2026-03-01T${time}+05:45`), false);
  expect([at('00:00:00'), at('01:59:59'), at('23:59:59')]).toEqual([0, 1, 23]);
  expect([runningIn(day, 0, true), runningIn(day, 0, false)]).toEqual([undefined, -1]);
  const labels = labelsOf(day.slice(0, 2), 'hour', 1);
  expect(labels.map((label) => label.endsWith(', so far'))).toEqual([false, true]);
});

test('the hour that comes twice is told apart by its offset, on that day alone', () => {
  const twice = [point('2026-11-01T01:00:00-04:00'), point('2026-11-01T01:00:00-05:00')];
  const labels = labelsOf(twice, 'hour');
  expect(labels.map((label) => label.slice(-11))).toEqual(['(UTC-04:00)', '(UTC-05:00)']);
  expect(labelsOf(twice.slice(1), 'hour')[0]).not.toContain('UTC');
  expect(labelsOf(twice, 'day')[0]).not.toContain('UTC');
});

test('ticks fall on hours that divide a day, then on midnights, and are never more than fit', () => {
  expect(ticksOf(hours(24), 'hour', 10)).toEqual([0, 3, 6, 9, 12, 15, 18, 21]);
  expect(ticksOf(hours(72), 'hour', 6)).toEqual([0, 12, 24, 36, 48, 60]);
  expect(ticksOf(hours(240), 'hour', 4)).toEqual([0, 72, 144, 216]);
  expect(ticksOf(hours(240), 'day', 5).length).toBeLessThanOrEqual(5);
  expect(ticksOf([], 'day', 5)).toEqual([]);
  expect(ticksOf(hours(3), 'hour', 0).length).toBe(1);
});

test('midnight has its day below the axis, and January its year', () => {
  expect(tickOf(point('2026-11-01T00:00:00-04:00'), 'hour')).toMatch(/1/);
  expect(tickOf(point('2026-11-01T00:00:00-04:00'), 'hour')).not.toContain(':');
  expect(tickOf(point('2026-11-01T06:00:00-04:00'), 'hour')).toContain(':');
  expect(tickOf(point('2027-01-01T00:00:00Z'), 'month')).toBe('2027');
  expect(tickOf(point('2027-02-01T00:00:00Z'), 'month')).toBe('Feb');
});
