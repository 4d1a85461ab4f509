/** What is asked for what is shown, and how ranges and zones are said. */
import { expect, test } from 'vitest';
import { keyLabel } from '../../../src/dashboard/analytics/state/filters.ts';
import {
  breakdownPath,
  seriesPath,
  subjectOf,
  totalsPath,
  workspaceSubject,
} from '../../../src/dashboard/analytics/state/requests.ts';
import { timeOf } from '../../../src/dashboard/client/point-labels.ts';
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
