/** What pages and mails are made of, drawn from numbers and names as people may give them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayMax, parseDay } from '../../src/model/day.ts';
import { digestMail } from '../../src/reports/digests/digest-mail.ts';
import { periodThrough } from '../../src/reports/digests/digest-schedule.ts';
import { sharesOf } from '../../src/reports/labels.ts';
import { barList, columnChart } from '../../src/reports/page/drawings.ts';
import { reportPage } from '../../src/reports/page/report-page.ts';
import { seriesColumns } from '../../src/reports/page/series-columns.ts';
import type { DayScans, Numbers } from '../../src/reports/report-numbers.ts';

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
