import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayOf, formatDay, parseDay } from '../../src/model/day.ts';

test('a day survives writing and reading', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_932_896 }), (day) => {
      expect(parseDay(formatDay(day))).toBe(day);
    }),
  );
});

test('impossible dates and other forms are no days', () => {
  for (const text of [
    '2026-02-29',
    '2026-02-30',
    '2026-13-01',
    '2026-00-10',
    '2026-1-1',
    '1969-12-31',
    '0000-01-01',
    '2026-03-04T00:00:00Z',
    ' 2026-03-04',
    '2026-03-04\n',
    '',
  ]) {
    expect(parseDay(text), text).toBeUndefined();
  }
  expect(parseDay('2024-02-29')).toBe(dayOf(Date.UTC(2024, 1, 29)));
});
