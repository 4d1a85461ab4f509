/** What is asked for what is shown, and how ranges, zones and points of a series are said. */
import { expect, test } from 'vitest';
import { keyLabel } from '../../../src/dashboard/analytics/state/filters.ts';
import {
  breakdownPath,
  seriesPath,
  subjectOf,
  totalsPath,
  workspaceSubject,
} from '../../../src/dashboard/analytics/state/requests.ts';
import {
  labelsOf,
  type Point,
  runningIn,
  tickOf,
  ticksOf,
  timeOf,
} from '../../../src/dashboard/client/point-labels.ts';
import { readState, type ViewState } from '../../../src/dashboard/analytics/state/view-state.ts';
import {
  bothUntil,
  comparedLabel,
  rangeLabel,
  zoneLabel,
} from '../../../src/dashboard/analytics/state/labels.ts';

const read = (text: string): ViewState =>
  readState(new URLSearchParams(text), {
    today: '2026-11-26',
    standard: { preset: '7d' },
    filters: ['country', 'city', 'campaign', 'code'],
  });

test('totals and series carry the comparison, breakdowns the same days and filters', () => {
  const state = read('country=DE&city=Chicago%2C+US&campaign=cmp_1');
  const span =
    'from=2026-11-20&to=2026-11-26&timezone=workspace&country=DE&city=Chicago%2C%20US&campaignId=cmp_1';
  expect(totalsPath(workspaceSubject, state)).toBe(
    `/analytics/summary?${span}&compare=previous_weekdays`,
  );
  expect(seriesPath(workspaceSubject, state)).toBe(
    `/analytics/timeseries?${span}&interval=day&compare=previous_weekdays`,
  );
  const path = breakdownPath(workspaceSubject, state, 'os');
  expect(path).toBe(`/analytics/breakdown?${span}&by=os`);
});

test('without a comparison nothing is compared, and other days are named', () => {
  const subject = subjectOf('code', 'qr_1');
  expect(totalsPath(subject, read('compare=none'))).toBe(
    '/qr-codes/qr_1/analytics?from=2026-11-20&to=2026-11-26&timezone=workspace',
  );
  expect(totalsPath(subject, read('compare=2026-01-01..2026-01-07&zone=UTC'))).toBe(
    '/qr-codes/qr_1/analytics?from=2026-11-20&to=2026-11-26&timezone=UTC&compare=2026-01-01..2026-01-07',
  );
});

test('ids have names of their own; scans from no page are asked for by the empty name', () => {
  const path = totalsPath(workspaceSubject, read('code=qr_7&campaign=cmp_1&city=-&compare=none'));
  expect(path).toBe(
    '/analytics/summary?from=2026-11-20&to=2026-11-26&timezone=workspace&city=&campaignId=cmp_1&qrCodeId=qr_7',
  );
});

test('zones and ranges in words', () => {
  expect(
    ['Europe/Berlin', 'America/Argentina/Buenos_Aires', 'UTC', 'Etc/UTC', 'Etc/GMT+5'].map(
      zoneLabel,
    ),
  ).toEqual(['Berlin time', 'Buenos Aires time', 'UTC', 'UTC', 'GMT+5']);
  expect(rangeLabel({ from: '2026-03-01', to: '2026-03-01' })).not.toContain('–');
  expect(rangeLabel({ from: '2026-03-01', to: '2026-03-02' })).toContain('–');
});

test('a period that is compared says until when', () => {
  const days = { from: '2026-11-20', to: '2026-11-26' };
  const span = rangeLabel(days);
  expect([comparedLabel(days), bothUntil(days)]).toEqual([span, span]);
  const part = { ...days, until: '2026-11-26T01:45:00+01:00' };
  const time = timeOf(part.until);
  expect([comparedLabel(part), bothUntil(part)]).toEqual([
    `${span}, until ${time}`,
    `${span}, both until ${time}`,
  ]);
  // Days to come are not compared.
  expect(comparedLabel({ ...part, to: '2026-11-30' })).toBe(comparedLabel(part));
  const whole = { ...days, until: '2026-11-26T00:00:00+01:00' };
  const before = rangeLabel({ from: '2026-11-20', to: '2026-11-25' });
  expect([comparedLabel(whole), bothUntil(whole)]).toEqual([before, `${before}, without today`]);
});

test('keys in words', () => {
  expect(keyLabel('country', 'ZZ')).toBe('Unknown');
  expect(keyLabel('referer', 'direct')).toBe('Direct (camera)');
  expect(keyLabel('route', 'target')).toBe('Everyone else');
  expect(keyLabel('missed', 'not_started')).toBe('Not started');
  expect(keyLabel('os', 'iOS')).toBe('iOS');
});

/** Points of a series are shown in their own zone, whatever zone the browser is in. */

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
