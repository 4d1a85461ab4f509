/**
 * Which days a report or a digest is about: compared until the same time, in every zone, when a digest is due; and what pages
 * and mails are made of, drawn from numbers and names as people may give them.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CampaignRecord } from '../../../src/model/campaign.ts';
import { dayMax, dayMs, formatDay, isoTime, parseDay } from '../../../src/model/day.ts';
import type { ReportRange } from '../../../src/model/reports/report.ts';
import { calendarOf } from '../../../src/model/zones/calendar.ts';
import { digestMail } from '../../../src/product/reports/digests/digest-mail.ts';
import {
  lastDayDone,
  nextDueMs,
  periodThrough,
} from '../../../src/product/reports/digests/digest-schedule.ts';
import { sharesOf } from '../../../src/product/reports/labels.ts';
import { barList, columnChart } from '../../../src/product/reports/page/drawings.ts';
import { reportPage } from '../../../src/product/reports/page/report-page.ts';
import { seriesColumns } from '../../../src/product/reports/page/series-columns.ts';
import {
  type DayScans,
  type Numbers,
  periodOf,
} from '../../../src/product/reports/report-numbers.ts';
import { useCountedApi } from '../../api/analytics/counted-api.ts';
import { openLink } from './report-fixture.ts';

const { service, client, code, scan, checkpoint } = await useCountedApi(
  Date.parse('2026-11-28T01:52:00+01:00'),
);

test('a morning is compared with a morning, and makes no average', async () => {
  const made = await code();
  scan(made, '2026-11-15T12:00:00+01:00', 3);
  scan(made, '2026-11-21T01:30:00+01:00', 2);
  scan(made, '2026-11-21T12:00:00+01:00', 50);
  scan(made, '2026-11-24T12:00:00+01:00', 6);
  scan(made, '2026-11-28T01:44:00+01:00', 4);
  scan(made, '2026-11-28T01:46:00+01:00', 3);
  checkpoint(1);
  const schedule = { startDate: '2026-10-01', endDate: '2026-12-31' };
  const body = { name: 'Autumn', qrCodeIds: [made.id], ...schedule };
  const campaign = await client.post('/v1/campaigns', body);
  const shared = { campaignId: campaign.json.id, range: '7d', timezone: 'Europe/Berlin' };
  const { url } = (await client.post('/v1/reports', shared)).json;
  const { text } = await openLink(service, url);
  expect(text).toContain(
    '<dd>13</dd><dd>100% more than from 15 Nov to 21 Nov 2026, both until 01:45',
  );
  expect(text).toContain('<dd>1</dd><dd>over 6 days, without 28 Nov</dd>');
  expect(text).toContain(': 13, most: Sat 28 Nov 2026 (so far) with 7"');
  expect(text.match(/class="hatch"/g)).toHaveLength(1);
  expect(text).toContain('<th scope="row">Sat 28 Nov 2026 (so far)</th>');
});

const campaign = { startDay: parseDay('2026-06-01')!, endDay: parseDay('2026-11-30')! };
const subject = { kind: 'campaign', campaign: campaign as CampaignRecord } as const;

test.each<[string, ReportRange, string, string]>([
  // Shortly after midnight: nothing of the day can be compared.
  ['2026-11-28T00:05:00+01:00', '7d', '2026-11-15..2026-11-21', '2026-11-20T23:00:00.000Z'],
  ['2026-11-28T02:00:00+01:00', '30d', '2026-09-25..2026-10-24', '2026-10-24T00:00:00.000Z'],
  // It would begin before the campaign does.
  ['2026-11-23T12:00:00+01:00', '90d', '', ''],
  ['2026-11-30T23:59:00+01:00', '90d', '2026-06-03..2026-08-31', '2026-08-31T21:45:00.000Z'],
  // It ends with the UTC day.
  ['2026-12-05T12:00:00+01:00', '7d', '2026-11-18..2026-11-24', '2026-11-24T00:00:00.000Z'],
])('at %s, %s is compared with %s until %s', (now, range, days, until) => {
  const found = periodOf(subject, range, calendarOf('Europe/Berlin')!, Date.parse(now))!;
  const { previous, today, until: limit } = found;
  const shown = previous && `${formatDay(previous.fromDay)}..${formatDay(previous.toDay)}`;
  expect([shown ?? '', limit === undefined ? '' : isoTime(limit.beforeMs)]).toEqual([days, until]);
  expect(today).toBe(now < '2026-12' ? parseDay(now.slice(0, 10)) : undefined);
});

describe('digests', () => {
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
      expect(
        isoTime(nextDueMs(frequency, { calendar: calendarOf(zone)!, weekStart }, at(now))),
      ).toBe(due);
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
});

const hostile = `<img src=x onerror=alert(1)>"'&\u202e`;

function numbersOf(series: readonly DayScans[]): Numbers {
  const [fromDay = 0, toDay = 0] = [series[0]?.day, series.at(-1)?.day];
  const rows = [{ key: hostile, scans: 3 }];
  return {
    days: { fromDay, toDay },
    previous: undefined,
    totalScans: 3,
    uniqueScanners: 2,
    change: undefined,
    series,
    countries: [{ key: 'DE', scans: 3 }],
    cities: rows,
    devices: rows,
    hours: [{ key: '07', scans: 3 }],
  };
}

test('columns have every scan once, in time, and are never more than fit', () => {
  const days = fc.array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 3_660 });
  fc.assert(
    fc.property(days, fc.nat({ max: dayMax - 4_000 }), (scans, first) => {
      const series = scans.map((count, at) => ({ day: first + at, scans: count }));
      const { columns } = seriesColumns(series);
      const sum = (list: ReadonlyArray<{ readonly scans: number }>): number =>
        list.reduce((total, one) => total + one.scans, 0);
      expect(sum(columns)).toBe(sum(series));
      expect(columns.length).toBeLessThanOrEqual(122);
      expect(new Set(columns.map(({ label }) => label)).size).toBe(columns.length);
    }),
    { numRuns: 50 },
  );
});

test('shares and the rest make up the total', () => {
  const rows = fc.array(
    fc.record({ key: fc.constantFrom('DE', 'AT', 'other', ''), scans: fc.nat({ max: 9 }) }),
  );
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 5 }), (given, most) => {
      const { shares, other, total } = sharesOf(given, (key) => key, most);
      expect(shares.reduce((sum, { scans }) => sum + scans, other)).toBe(total);
      expect(shares.length).toBeLessThanOrEqual(most);
    }),
  );
});

test.each([
  ['monthly', '2026-03-31', '25% more than in the month before (31 days against 28)'],
  ['monthly', '2026-08-31', '25% more than in the month before'],
  ['weekly', '2026-03-01', '25% more than in the week before'],
] as const)('a %s mail through %s says: %s', (frequency, through, text) => {
  const period = periodThrough(frequency, parseDay(through)!);
  const numbers = { ...numbersOf([]), ...period, change: 0.25 };
  const mail = digestMail({
    workspaceName: 'x',
    zone: 'UTC',
    frequency,
    numbers,
    topCodes: [],
    url: '',
    unsubscribeUrl: '',
  });
  expect(mail.text).toContain(`${text}\n`);
  expect(mail.html).toContain(`>${text}<`);
});

test.each([
  [0, '4', '2'],
  [210, '220', '110'],
  [1_001, '1,200', '600'],
  [9_999, '10,000', '5,000'],
])('an axis for %i ends at %s, little of it is air', (scans, top, half) => {
  const drawn = columnChart([{ label: 'one', scans }], '', 'low');
  expect(drawn).toContain(`<span>${top}</span><span>${half}</span><span>0</span>`);
});

test('the longest bar has the whole width', () => {
  const shares = [30, 15].map((scans) => ({ label: 'x', scans }));
  const widths = barList(shares, 55, 100).matchAll(/width="(\d+)"/g);
  expect(Array.from(widths, ([, width]) => width)).toEqual(['100', '50']);
});

test('names of people and places are text in a page and in a mail', () => {
  const numbers = numbersOf([{ day: 20_000, scans: 3 }]);
  const brand = { name: hostile, logo: `data:image/webp;base64,x${hostile}` };
  const zone = hostile;
  const page = reportPage({
    title: hostile,
    kind: 'campaign',
    brand,
    range: 'all',
    zone,
    numbers,
    readAt: hostile,
  });
  const mail = digestMail({
    workspaceName: hostile,
    zone,
    frequency: 'weekly',
    numbers,
    topCodes: [{ label: hostile, scans: 3 }],
    url: 'https://qz.example/',
    unsubscribeUrl: 'https://qz.example/unsubscribe/x',
  });
  for (const html of [page.html, mail.html]) {
    expect(html).not.toContain('<img src=x');
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
  }
  // Nothing that a mail program would load.
  expect(mail.html).not.toMatch(/<img|<link|<script|url\(|@import|background=/);
  expect(mail.text).toContain('https://qz.example/unsubscribe/x');
});
