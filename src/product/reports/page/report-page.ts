/**
 * The page of a shared report, a pure function: a name, numbers and charts, about 30 KB. It has no target, short link, id or
 * address. A code without a name is called that, because its target would identify it.
 */
import type { Brand } from '../../../model/routing/pages.ts';
import { type ReportRange, reportRanges } from '../../../model/reports/report.ts';
import { escapeHtml } from '../../../model/text.ts';
import { calendarOfRange } from '../../../model/zones/local-range.ts';
import type { BreakdownRow } from '../../../engine/analytics/answers.ts';
import {
  capital,
  changeText,
  cityName,
  countryName,
  dayText,
  deviceName,
  numberText,
  plural,
  rangeText,
  sharesOf,
  shortDayText,
  timeText,
} from '../labels.ts';
import type { Numbers } from '../report-numbers.ts';
import { barList, type Column, columnChart } from './drawings.ts';
import { type FramedPage, framePage, markOf } from './frame.ts';
import { seriesColumns } from './series-columns.ts';

const rowsMax = 10;
const hoursOfDay = 24;
const hourTicks = ['00:00', '06:00', '12:00', '18:00', '24:00'];

const rangeNames: Readonly<Record<ReportRange, string>> = {
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
  all: 'All',
};

export interface ReportContent {
  readonly title: string;
  readonly kind: 'code' | 'campaign';
  readonly brand: Brand;
  readonly range: ReportRange;
  /** In which the days are. */
  readonly zone: string;
  /** Undefined before the first day. */
  readonly numbers: Numbers | undefined;
  /** When the numbers were read, for people. */
  readonly readAt: string;
}

export function reportPage(content: ReportContent): FramedPage {
  const { title, kind, brand, numbers, readAt } = content;
  const what = kind === 'code' ? 'QR code' : 'Campaign';
  const body =
    `<main>${markOf(brand)}<h1 dir="auto">${escapeHtml(title)}</h1>` +
    `<p class="soft">${what}${numbers === undefined ? '' : `, ${spanText(numbers, content.zone)}`}</p>` +
    (numbers === undefined
      ? '<section><p>This has not started yet.</p></section>'
      : switchOf(content.range) + figures(numbers) + parts(numbers, content.zone)) +
    `<footer><p>As of ${escapeHtml(readAt)}. Bots and link previews are not counted.</p>` +
    '<p>Countries and cities: <a href="https://db-ip.com" rel="noreferrer">IP Geolocation by DB-IP</a> ' +
    'and <a href="https://www.nro.net" rel="noreferrer">NRO</a>, CC BY 4.0.</p></footer></main>';
  return framePage({ title: `${title} · Scans`, body, brand, forms: 'none' });
}

const spanText = ({ days }: Numbers, zone: string): string =>
  escapeHtml(`${rangeText(days)} (${zone})`);

function switchOf(chosen: ReportRange): string {
  const links = reportRanges.map((range) => {
    const current = range === chosen ? ' aria-current="page"' : '';
    return `<a href="?range=${range}"${current}>${rangeNames[range]}</a>`;
  });
  return `<nav aria-label="Days shown">${links.join('')}</nav>`;
}

function figures(numbers: Numbers): string {
  const { totalScans, uniqueScanners, series, today } = numbers;
  const whole = series.filter(({ day }) => day !== today);
  const scans = whole.reduce((sum, one) => sum + one.scans, 0);
  const [perDay, over] =
    whole.length === 0
      ? ['–', 'after the first full day']
      : [numberText(Math.round((scans / whole.length) * 10) / 10), overText(whole.length, today)];
  return (
    `<dl class="figures"><div><dt>Scans</dt><dd>${numberText(totalScans)}</dd><dd>${against(numbers)}</dd></div>` +
    `<div><dt>Unique scanners</dt><dd>${numberText(uniqueScanners)}</dd><dd>each counted once</dd></div>` +
    `<div><dt>Scans a day</dt><dd>${perDay}</dd><dd>${over}</dd></div></dl>`
  );
}

const overText = (days: number, today: number | undefined): string =>
  `over ${plural(days, 'day')}${today === undefined ? '' : `, without ${shortDayText(today)}`}`;

/** `12% more than from 24 Oct to 22 Nov 2026, both until 01:45` */
function against({ change, days, previous, until }: Numbers): string {
  if (previous === undefined) return 'no earlier period to compare with';
  const { fromDay, toDay } = previous;
  const calendar = calendarOfRange(days);
  const isDayLeftOut = until?.nowMs === calendar.startOfDay(days.toDay);
  const before = `from ${rangeText({ fromDay, toDay: isDayLeftOut ? toDay - 1 : toDay })}`;
  const text = change === undefined ? `none to compare with ${before}` : changeText(change, before);
  if (isDayLeftOut) return `${text}, without ${shortDayText(days.toDay)}`;
  return until === undefined ? text : `${text}, both until ${timeText(calendar, until.nowMs)}`;
}

function parts(numbers: Numbers, zone: string): string {
  const { countries, cities, devices, hours } = numbers;
  return (
    `<section><h2>Scans over time</h2>${overTime(numbers)}</section><div class="grid">` +
    list('Countries', countries, countryName) +
    list('Cities', cities, cityName) +
    list('Devices', devices, deviceName) +
    `<section><h2>Hours of the day</h2>${byHour(hours, zone)}</section></div>`
  );
}

function overTime({ series, totalScans, today }: Numbers): string {
  const { step, columns } = seriesColumns(series, today);
  if (columns.length === 0) return '<p class="soft">No scans in these days</p>';
  const most = columns.reduce((best, one) => (one.scans > best.scans ? one : best), columns[0]!);
  const soFar = columns.find(({ isSoFar }) => isSoFar);
  const description =
    `Scans by ${step} from ${dayText(series[0]?.day ?? 0)} to ${dayText(series.at(-1)?.day ?? 0)}: ` +
    numberText(totalScans) +
    (totalScans === 0 ? '' : `, most: ${most.label} with ${numberText(most.scans)}`) +
    (soFar === undefined || soFar === most ? '' : `, ${countOf(soFar)}`);
  const rows = columns.map(
    ({ label, scans }) =>
      `<tr><th scope="row">${escapeHtml(label)}</th><td class="number">${numberText(scans)}</td></tr>`,
  );
  return (
    columnChart(columns, description, 'high') +
    (soFar === undefined
      ? ''
      : `<p class="note soft" aria-hidden="true">${soFar.scans === 0 ? countOf(soFar) : `Hatched: ${soFar.label}`}</p>`) +
    `<details><summary>Show as a table</summary><table><thead><tr><th scope="col">${capital(step)}</th>` +
    `<th scope="col">Scans</th></tr></thead><tbody>${rows.join('')}</tbody></table></details>`
  );
}

const countOf = ({ label, scans }: Column): string => `${label}: ${numberText(scans)}`;

function list(
  title: string,
  rows: readonly BreakdownRow[],
  nameOf: (key: string) => string,
): string {
  const { shares, other, total } = sharesOf(rows, nameOf, rowsMax);
  return `<section><h2>${title}</h2>${barList(shares, other, total)}</section>`;
}

function byHour(rows: readonly BreakdownRow[], zone: string): string {
  const scansOf = new Map(rows.map(({ key, scans }) => [Number(key), scans]));
  const columns = Array.from({ length: hoursOfDay }, (_, hour) => {
    const label = `${String(hour).padStart(2, '0')}:00`;
    return { label, scans: scansOf.get(hour) ?? 0 };
  });
  const most = columns.reduce((best, one) => (one.scans > best.scans ? one : best), columns[0]!);
  const top = most.scans === 0 ? 'no scans' : `most at ${most.label}, ${numberText(most.scans)}`;
  return columnChart(columns, `Scans by hour of the day (${zone}): ${top}`, 'low', hourTicks);
}
