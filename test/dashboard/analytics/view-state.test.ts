/** What an analytics page shows, by its address: ranges in calendar days, intervals, comparison, filters. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addDays,
  addMonths,
  dayIn,
  daysBetween,
  isDay,
} from '../../../src/dashboard/analytics/state/days.ts';
import {
  daysBefore,
  daysOf,
  intervalsFor,
  standardInterval,
} from '../../../src/dashboard/analytics/state/ranges.ts';
import {
  compareChange,
  daysChange,
  filterChange,
  noFilters,
  type QueryChange,
  rangeChange,
  readState,
  type ViewBounds,
  type ViewState,
} from '../../../src/dashboard/analytics/state/view-state.ts';

const bounds: ViewBounds = {
  today: '2026-11-26',
  standard: { preset: '30d' },
  filters: ['country', 'os', 'city'],
};
const read = (text: string, more: Partial<ViewBounds> = {}): ViewState =>
  readState(new URLSearchParams(text), { ...bounds, ...more });

/** The address after a change. */
function changed(text: string, change: QueryChange): string {
  const query = new URLSearchParams(text);
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) query.delete(name);
    else query.set(name, value);
  }
  return query.toString();
}

const whole = { from: '2026-10-01', to: '2026-11-26' };
const presets = [
  ['today', '2026-03-31', '2026-03-31', '2026-03-31'],
  ['7d', '2026-03-03', '2026-02-25', '2026-03-03'],
  ['30d', '2024-03-01', '2024-02-01', '2024-03-01'],
  ['90d', '2026-01-10', '2025-10-13', '2026-01-10'],
  ['month', '2026-03-31', '2026-03-01', '2026-03-31'],
  ['month', '2026-03-01', '2026-03-01', '2026-03-01'],
  ['last-month', '2026-03-31', '2026-02-01', '2026-02-28'],
  ['last-month', '2024-03-31', '2024-02-01', '2024-02-29'],
  ['last-month', '2026-01-15', '2025-12-01', '2025-12-31'],
  ['12m', '2026-11-26', '2025-11-27', '2026-11-26'],
  ['12m', '2028-02-29', '2027-03-01', '2028-02-29'],
  ['12m', '2027-02-28', '2026-03-01', '2027-02-28'],
  ['all', '2026-11-26', '2026-10-01', '2026-11-26'],
] as const;

test.each(presets)('%s on %s is %s to %s', (preset, today, from, to) => {
  expect(daysOf(preset, today, whole)).toEqual({ from, to });
});

test('today is the day on the clocks of the zone, also on days that they change', () => {
  const at = (zone: string, iso: string): string => dayIn(zone, Date.parse(iso));
  expect(at('UTC', '2026-11-26T23:59:59.999Z')).toBe('2026-11-26');
  expect(at('Europe/Berlin', '2026-11-26T23:00:00Z')).toBe('2026-11-27');
  expect(at('America/New_York', '2026-11-27T04:59:59Z')).toBe('2026-11-26');
  // A day of 25 hours there, and one of 23.
  expect(at('America/New_York', '2026-11-01T04:00:00Z')).toBe('2026-11-01');
  expect(at('America/New_York', '2026-11-02T04:59:59Z')).toBe('2026-11-01');
  expect(at('America/New_York', '2026-03-09T03:59:59Z')).toBe('2026-03-08');
  expect(at('America/New_York', '2026-03-09T04:00:00Z')).toBe('2026-03-09');
  expect(at('Pacific/Chatham', '2026-11-26T10:14:59Z')).toBe('2026-11-26');
  expect(at('Pacific/Chatham', '2026-11-26T10:15:00Z')).toBe('2026-11-27');
  // A day that the zone has not had.
  expect(at('Pacific/Apia', '2011-12-30T09:59:59Z')).toBe('2011-12-29');
  expect(at('Pacific/Apia', '2011-12-30T10:00:00Z')).toBe('2011-12-31');
});

test('months are added to the same day, or to the last one', () => {
  expect(addMonths('2026-01-31', 1)).toBe('2026-02-28');
  expect(addMonths('2026-03-31', -1)).toBe('2026-02-28');
  expect(addMonths('2026-01-15', -1)).toBe('2025-12-15');
  expect(addMonths('2026-12-15', 1)).toBe('2027-01-15');
  expect(addMonths('2024-02-29', -12)).toBe('2023-02-28');
});

test('days that do not exist are no days', () => {
  expect(['2026-02-28', '2024-02-29'].map(isDay)).toEqual([true, true]);
  expect(['2026-02-30', '2026-13-01', '26-01-01', '', '2026-1-1'].map(isDay)).toEqual(
    Array.from({ length: 5 }, () => false),
  );
});

test('an empty address shows the standard of its page', () => {
  expect(read('')).toEqual({
    preset: '30d',
    range: { from: '2026-10-28', to: '2026-11-26' },
    interval: 'day',
    compare: 'previous_weekdays',
    zone: 'workspace',
    filters: {},
  });
  const campaign = read('', { whole, standard: { preset: 'all', compare: 'none' } });
  expect([campaign.range, campaign.compare]).toEqual([whole, 'none']);
  expect(read('range=month').compare).toBe('last_month_days');
});

test('an address that says everything is read whole', () => {
  const text =
    'range=custom&from=2026-03-01&to=2026-03-02&interval=quarter_hour&compare=2026-02-01..2026-02-02&zone=UTC' +
    '&country=DE&os=iOS&city=Chicago%2C+US';
  expect(read(text)).toEqual({
    preset: 'custom',
    range: { from: '2026-03-01', to: '2026-03-02' },
    interval: 'quarter_hour',
    compare: 'custom',
    comparedTo: { from: '2026-02-01', to: '2026-02-02' },
    zone: 'UTC',
    filters: { country: 'DE', os: 'iOS', city: 'Chicago, US' },
  });
});

const impossible = [
  'range=forever',
  'range=all',
  'range=custom',
  'range=custom&from=2026-03-02&to=2026-03-01',
  'range=custom&from=2026-02-30&to=2026-03-01',
  'interval=quarter_hour',
  'interval=century',
  'compare=yesterday',
  'compare=2026-02-30..2026-03-01',
  'zone=Mars',
  'country=',
  'route=spring',
];
test.each(impossible)('%s is left out', (text) => {
  expect(read(text)).toEqual(read(''));
});

test('a comparison of another length gets the length of the range', () => {
  const { comparedTo } = read('range=7d&compare=2026-01-01..2026-03-01');
  expect(comparedTo).toEqual({ from: '2026-01-01', to: '2026-01-07' });
});

test('changes of the address: the standard is absent, and what no longer fits goes', () => {
  const state = read('range=7d&interval=hour&compare=2026-01-01..2026-01-07&country=DE');
  const before = 'range=7d&interval=hour&compare=2026-01-01..2026-01-07&country=DE';
  expect(changed(before, rangeChange('30d', state, bounds))).toBe('country=DE');
  expect(changed(before, rangeChange('12m', state, bounds))).toBe('range=12m&country=DE');
  const custom = changed(before, rangeChange('custom', state, bounds));
  expect(read(custom).range).toEqual(state.range);
  const days = { from: '2026-05-01', to: '2026-05-09' };
  expect(read(changed(before, daysChange(days, state)))).toMatchObject({
    preset: 'custom',
    range: days,
    compare: 'previous_weekdays',
    filters: { country: 'DE' },
  });
  expect(changed('', compareChange('none', read(''), bounds))).toBe('compare=none');
  expect(changed('compare=none', compareChange('previous_weekdays', read(''), bounds))).toBe('');
  const other = changed('', compareChange('custom', read(''), bounds));
  const comparedTo = { from: '2026-09-28', to: '2026-10-27' };
  expect(read(other)).toMatchObject({ compare: 'custom', comparedTo });
  const month = read('range=month&compare=last_year');
  expect(month.compare).toBe('last_year');
  expect(changed('compare=last_year', compareChange('last_month_days', month, bounds))).toBe('');
});

test('filters combine, and all go at once', () => {
  expect(changed('', filterChange('os', 'iOS'))).toBe('os=iOS');
  expect(changed('os=iOS', filterChange('city', 'Chicago, US'))).toBe('os=iOS&city=Chicago%2C+US');
  const unknown = changed('', filterChange('city', ''));
  expect([unknown, read(unknown).filters]).toEqual(['city=-', { city: '' }]);
  expect(changed('os=iOS&country=DE', filterChange('os', undefined))).toBe('country=DE');
  expect(changed('range=7d&os=iOS&country=DE', noFilters)).toBe('range=7d');
});

const day = fc.integer({ min: 0, max: 20_000 }).map((days) => addDays('1990-01-01', days));

test('any range has intervals that fit it, and as many days before it', () => {
  fc.assert(
    fc.property(day, fc.integer({ min: 0, max: 3_000 }), (from, more) => {
      const range = { from, to: addDays(from, more) };
      const before = daysBefore(range);
      expect(daysBetween(before.from, before.to)).toBe(more + 1);
      expect(addDays(before.to, 1)).toBe(from);
      const fitting = intervalsFor(range).map(({ value }) => value);
      expect(fitting).toContain(standardInterval(range));
    }),
  );
});
