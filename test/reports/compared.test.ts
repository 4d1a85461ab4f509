/**
 * A report whose last day is not over: compared until the same time, left out of the average, and hatched. The clock stands at
 * 01:52 of a Saturday in Berlin, or is handed in.
 */
import { expect, onTestFinished, test } from 'vitest';
import { formatDay, isoTime, parseDay } from '../../src/model/day.ts';
import type { CampaignRecord } from '../../src/model/campaign.ts';
import type { ReportRange } from '../../src/model/reports/report.ts';
import { calendarOf } from '../../src/model/zones/calendar.ts';
import { periodOf } from '../../src/reports/report-numbers.ts';
import { openCountedApi } from '../api/analytics/counted-api.ts';
import { word } from '../support/client.ts';
import { openLink } from './report-fixture.ts';

test('a morning is compared with a morning, and makes no average', async () => {
  const { service, client, engine, close } = await openCountedApi(
    Date.parse('2026-11-28T01:52:00+01:00'),
  );
  onTestFinished(close);
  const post = async (path: string, body: object) =>
    (await client.call('POST', path, { body })).json;
  const { id } = await post('/v1/qr-codes', { target: 'https://example.com/menu' });
  const codeNo = service.codes.findAnywhere(word(id))!.no;
  const scan = (at: string, scans: number): void => {
    for (let index = 0; index < scans; index++) {
      const address = Uint8Array.of(192, 0, 2, index);
      const input = { codeNo, workspaceNo: 1, agent: 'x', referer: '', address, isPrefetch: false };
      engine.scan(0, Date.parse(at), [input]);
    }
  };
  scan('2026-11-15T12:00:00+01:00', 3);
  scan('2026-11-21T01:30:00+01:00', 2);
  scan('2026-11-21T12:00:00+01:00', 50);
  scan('2026-11-24T12:00:00+01:00', 6);
  scan('2026-11-28T01:44:00+01:00', 4);
  scan('2026-11-28T01:46:00+01:00', 3);
  engine.settle();
  engine.checkpoint(0);
  const schedule = { startDate: '2026-10-01', endDate: '2026-12-31' };
  const campaign = await post('/v1/campaigns', { name: 'Autumn', qrCodeIds: [id], ...schedule });
  const shared = { campaignId: campaign.id, range: '7d', timezone: 'Europe/Berlin' };
  const { url } = await post('/v1/reports', shared);
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
