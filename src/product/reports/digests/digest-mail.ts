/**
 * The mail of a digest: HTML for programs that show it, and a text that says the same.
 *
 * Only tables with background colors show everywhere: Outlook draws like Word (no SVG, no flex, no radius), Gmail drops
 * style sheets and pictures in the mail, and both may recolor it for a dark screen. So a bar is a table of two cells,
 * in shares of the width so that it fits a phone, with its number above it. Nothing is loaded from anywhere: no picture
 * reports that it was read.
 */
import type { DayRange } from '../../../model/day.ts';
import { escapeHtml } from '../../../model/text.ts';
import type { DigestFrequency, MailedDigest } from '../../../model/reports/report.ts';
import {
  capital,
  changeText,
  countryName,
  dayText,
  deviceName,
  numberText,
  plural,
  rangeText,
  type Share,
  sharesOf,
  shortDayText,
  weekdayText,
} from '../labels.ts';
import type { DayScans, Numbers } from '../report-numbers.ts';
import type { FoundNumbers } from './digest-numbers.ts';

const rowsMax = 5;
const daysPerWeek = 7;
/** Pixels of the mail where there is space for them. */
const width = 560;
const percent = 100;
const attribution = 'Countries: IP Geolocation by DB-IP and NRO, CC BY 4.0.';
const ink = '#1b2220';
const soft = '#57625e';
const line = '#e4e2d9';
const shade = '#eceae3';
const accent = '#0f6b5c';

export interface DigestContent extends FoundNumbers {
  readonly frequency: DigestFrequency;
  /** The dashboard. */
  readonly url: string;
  readonly unsubscribeUrl: string;
}

export function digestMail(
  content: DigestContent,
): Pick<MailedDigest, 'subject' | 'text' | 'html'> {
  const { workspaceName, frequency, numbers } = content;
  const subject = `${workspaceName}: ${plural(numbers.totalScans, 'scan')} ${
    frequency === 'weekly' ? 'last week' : `in ${monthName(numbers)}`
  }`;
  const parts = partsOf(content);
  return { subject, text: textOf(content, parts), html: htmlOf(content, parts) };
}

interface Part {
  readonly title: string;
  readonly rows: readonly Share[];
}

function partsOf({ numbers, frequency, topCodes }: DigestContent): Part[] {
  const { series, countries, devices } = numbers;
  const shares = (title: string, rows: Numbers['countries'], nameOf: (key: string) => string) => {
    const { shares: named, other } = sharesOf(rows, nameOf, rowsMax);
    return { title, rows: [...named, ...(other > 0 ? [{ label: 'Other', scans: other }] : [])] };
  };
  return [
    frequency === 'weekly'
      ? {
          title: 'By day',
          rows: series.map(({ day, scans }) => ({ label: weekdayText(day), scans })),
        }
      : { title: 'By week', rows: weeksOf(series) },
    { title: 'Most scanned codes', rows: topCodes },
    shares('Countries', countries, countryName),
    shares('Devices', devices, deviceName),
  ].filter(({ rows }) => rows.length > 0);
}

/** Seven days each from the first of the month. */
function weeksOf(series: readonly DayScans[]): Share[] {
  const weeks = Map.groupBy(series, (_, at) => Math.floor(at / daysPerWeek));
  return Array.from(weeks.values(), (days) => ({
    label: `${shortDayText(days[0]?.day ?? 0)} to ${shortDayText(days.at(-1)?.day ?? 0)}`,
    scans: days.reduce((sum, { scans }) => sum + scans, 0),
  }));
}

/** `October 2026` */
const monthName = ({ days }: Numbers): string =>
  new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    new Date(`${dayText(days.fromDay)} UTC`),
  );

/** `23 Nov to 29 Nov 2026 (Berlin time)` */
const daysText = ({ numbers, zone }: DigestContent): string =>
  `${rangeText(numbers.days)} (${zone})`;

const daysIn = ({ fromDay, toDay }: DayRange): number => toDay - fromDay + 1;

/** `12% more than in the month before (31 days against 30)` */
function comparison({ change, days, previous }: Numbers, frequency: DigestFrequency): string {
  const before = frequency === 'weekly' ? 'in the week before' : 'in the month before';
  if (change === undefined || previous === undefined) return `No earlier period to compare with`;
  const [length, lengthBefore] = [daysIn(days), daysIn(previous)];
  const lengths = length === lengthBefore ? '' : ` (${length} days against ${lengthBefore})`;
  return capital(changeText(change, before)) + lengths;
}

function textOf(content: DigestContent, parts: readonly Part[]): string {
  const { workspaceName, numbers, frequency, url, unsubscribeUrl } = content;
  const lists = parts.map(({ title, rows }) => {
    const wide = Math.max(...rows.map(({ label }) => label.length));
    const lines = rows.map(({ label, scans }) => `  ${label.padEnd(wide)}  ${numberText(scans)}`);
    return `${title}\n${lines.join('\n')}`;
  });
  return [
    `${workspaceName}, ${daysText(content)}`,
    `${plural(numbers.totalScans, 'scan')} by ${numberText(numbers.uniqueScanners)} unique scanners\n` +
      comparison(numbers, frequency),
    ...lists,
    `See more:\n${url}`,
    `You subscribed to this report in your profile. Unsubscribe:\n${unsubscribeUrl}\n\n${attribution}\n`,
  ].join('\n\n');
}

function htmlOf(content: DigestContent, parts: readonly Part[]): string {
  const { workspaceName, numbers, frequency, url, unsubscribeUrl } = content;
  const figure = (value: string, label: string): string =>
    `<td valign="top" style="padding:0 32px 0 0"><div style="font-size:32px;line-height:40px;font-weight:bold;color:${ink}">${value}</div>` +
    `<div style="font-size:14px;line-height:20px;color:${soft}">${label}</div></td>`;
  const most = (rows: readonly Share[]): number => Math.max(1, ...rows.map(({ scans }) => scans));
  const lists = parts.map(
    ({ title, rows }) =>
      `<h2 style="margin:28px 0 8px;font-size:16px;line-height:24px;color:${ink}">${title}</h2>` +
      `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">` +
      `${rows.map((row) => rowOf(row, most(rows))).join('')}</table>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><title>${escapeHtml(workspaceName)}</title></head>
<body style="margin:0;padding:0;background:#f7f6f2">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" bgcolor="#f7f6f2"><tr><td align="center" style="padding:24px 12px">
<table role="presentation" width="${width}" cellpadding="0" cellspacing="0" border="0" bgcolor="#ffffff" style="width:100%;max-width:${width}px;font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif">
<tr><td height="6" bgcolor="${accent}" style="font-size:0;line-height:0">&nbsp;</td></tr>
<tr><td style="padding:28px 28px 32px">
<h1 dir="auto" style="margin:0;font-size:22px;line-height:30px;color:${ink}">${escapeHtml(workspaceName)}</h1>
<p style="margin:0 0 20px;font-size:14px;line-height:20px;color:${soft}">${escapeHtml(daysText(content))}</p>
<table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr>${figure(numberText(numbers.totalScans), 'scans')}${figure(numberText(numbers.uniqueScanners), 'unique scanners')}</tr></table>
<p style="margin:12px 0 0;font-size:15px;line-height:22px;color:${ink}">${comparison(numbers, frequency)}</p>
${lists.join('\n')}
<p style="margin:32px 0 0;font-size:15px;line-height:22px"><a href="${escapeHtml(url)}" style="color:${accent};font-weight:bold">See more in the dashboard</a></p>
<p style="margin:24px 0 0;padding:16px 0 0;border-top:1px solid ${line};font-size:13px;line-height:20px;color:${soft}">You get this because you asked for it in your profile. <a href="${escapeHtml(unsubscribeUrl)}" style="color:${soft}">Unsubscribe</a><br>${attribution}</p>
</td></tr></table>
</td></tr></table>
</body></html>
`;
}

/** A name and its number over its bar; the longest bar has the full width. */
function rowOf({ label, scans }: Share, most: number): string {
  const filled = Math.round((scans / most) * percent);
  const cells = [
    ...(filled > 0 ? [barCell(filled, accent)] : []),
    ...(filled < percent ? [barCell(percent - filled, shade)] : []),
  ];
  const text = `font-size:14px;line-height:20px;color:${ink}`;
  return (
    `<tr><td dir="auto" style="padding:6px 12px 3px 0;${text};word-break:break-word">${escapeHtml(label)}</td>` +
    `<td align="right" valign="bottom" style="padding:6px 0 3px;${text};white-space:nowrap">${numberText(scans)}</td></tr>` +
    '<tr><td colspan="2"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">' +
    `<tr>${cells.join('')}</tr></table></td></tr>`
  );
}

const barCell = (share: number, color: string): string =>
  `<td width="${share}%" height="6" bgcolor="${color}" style="font-size:0;line-height:6px">&nbsp;</td>`;
