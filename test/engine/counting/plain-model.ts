/** What queries must answer, counted the plain way from a list of scans. */
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { positionId } from '../../../src/model/ids.ts';
import {
  BotReason,
  botReasonNames,
  browserNames,
  deviceNames,
  osNames,
  Platform,
  type VisitorClass,
} from '../../../src/model/scan.ts';
import { dayMs, type DayRange } from '../../../src/model/day.ts';
import type { ScannedCode } from '../../../src/model/code.ts';
import { isMissed, missedReasonOf } from '../../../src/model/routing/labels.ts';
import type {
  BreakdownBy,
  BreakdownRow,
  RouteBreakdownBy,
} from '../../../src/engine/analytics/answers.ts';
import { Agents } from '../../../src/engine/visitor/agents.ts';
import type { ScanFact } from './engine-harness.ts';

/** `expect` costs 0.1 ms even where all is well, and models ask 100,000 times. */
export function check(found: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(found, wanted)) expect(found).toEqual(wanted);
}

/** Each agent is read once: reading costs more than all the rest of a test. */
const agents = new Agents();
const classOf = (agent: string): VisitorClass => agents.get(agent).visitorClass;

function botOf(fact: ScanFact): BotReason {
  const { bot } = agents.get(fact.agent);
  return bot === BotReason.none && fact.isPrefetch ? BotReason.prefetch : bot;
}

export const isBot = (fact: ScanFact): boolean => botOf(fact) !== BotReason.none;
const isInVain = ({ route = 0 }: ScanFact): boolean => isMissed(route);
/** Who counts as a scan. */
export const isPerson = (fact: ScanFact): boolean => !isBot(fact) && !isInVain(fact);

export const within = (facts: readonly ScanFact[], { fromDay, toDay }: DayRange): ScanFact[] =>
  facts.filter(({ timeMs }) => timeMs >= fromDay * dayMs && timeMs < (toDay + 1) * dayMs);

interface CodeScans {
  readonly codeNo: number;
  readonly scans: number;
}

/** Of those with some, in the order of `codes`. */
export const scansByCode = (facts: readonly ScanFact[], codes: readonly number[]): CodeScans[] =>
  codes
    .map((codeNo) => {
      const scans = facts.filter((fact) => fact.codeNo === codeNo && isPerson(fact)).length;
      return { codeNo, scans };
    })
    .filter(({ scans }) => scans > 0);

export const topOf = (counted: readonly CodeScans[], limit = Infinity): CodeScans[] =>
  counted.toSorted((a, b) => b.scans - a.scans || a.codeNo - b.codeNo).slice(0, limit);

/** Scanners: whole IPv4 addresses, /64 of IPv6, with the user agent. */
const scannerOf = ({ address, agent }: ScanFact): string =>
  `${Buffer.from(address.length === 16 ? address.subarray(0, 8) : address).toString('hex')} ${agent}`;

export function analyticsOf(facts: readonly ScanFact[]) {
  const people = facts.filter(isPerson);
  const platforms = people.map((fact) => classOf(fact.agent).platform);
  const count = (platform: Platform): number =>
    platforms.filter((found) => found === platform).length;
  return {
    totalScans: people.length,
    uniqueScanners: new Set(people.map(scannerOf)).size,
    devices: {
      ios: count(Platform.ios),
      android: count(Platform.android),
      other: count(Platform.other),
    },
    topCountries: people.length === 0 ? [] : [{ code: 'ZZ', scans: people.length }],
  };
}

/** The referers that the tests send, and the host that each must count as. */
export const refererHosts: Readonly<Record<string, string>> = {
  '': '',
  'https://www.example.org/a?b=c': 'example.org',
  'http://shop.example:8080/': 'shop.example:8080',
  'android-app://com.google.android.gm/': 'com.google.android.gm',
  'not a url': '',
};

/** What each breakdown counts a scan as. */
const keysOf = {
  country: () => 'ZZ',
  city: () => '',
  os: ({ agent }) => osNames[classOf(agent).os]!,
  browser: ({ agent }) => browserNames[classOf(agent).browser]!,
  device: ({ agent }) => deviceNames[classOf(agent).device]!,
  referer: ({ referer }) => refererHosts[referer]!,
  hour: ({ timeMs }) => new Date(timeMs).toISOString().slice(11, 13),
  bot: (fact) => botReasonNames[botOf(fact)]!,
} satisfies Partial<Record<BreakdownBy, (fact: ScanFact) => string>>;
type PlainBy = keyof typeof keysOf;
export const breakdowns = Object.keys(keysOf) as PlainBy[];

function countBy(
  facts: readonly ScanFact[],
  keyOf: (fact: ScanFact) => string,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const fact of facts) counts.set(keyOf(fact), (counts.get(keyOf(fact)) ?? 0) + 1);
  return counts;
}

export const breakdownOf = (facts: readonly ScanFact[], by: PlainBy): BreakdownRow[] =>
  rowsOf(countBy(facts.filter(by === 'bot' ? isBot : isPerson), keysOf[by]));

const rowsOf = (counts: ReadonlyMap<string, number>): BreakdownRow[] =>
  Array.from(counts, ([key, scans]) => ({ key, scans })).sort(
    (a, b) => b.scans - a.scans || (a.key < b.key ? -1 : 1),
  );

export function timeseriesOf(facts: readonly ScanFact[], from: number, to: number, hours: number) {
  const rows: Array<{ start: string; scans: number }> = [];
  const stepMs = hours * 3_600_000;
  for (let at = from * dayMs; at < (to + 1) * dayMs; at += stepMs) {
    const scans = facts.filter(
      (fact) => isPerson(fact) && fact.timeMs >= at && fact.timeMs < at + stepMs,
    ).length;
    rows.push({ start: new Date(at).toISOString(), scans });
  }
  return rows;
}

/** What people's scans led to, and whom a code led nowhere. */
export function routesOf(facts: readonly ScanFact[], by: RouteBreakdownBy): BreakdownRow[] {
  const own = facts.filter((fact) => !isBot(fact) && isInVain(fact) !== (by === 'route'));
  return rowsOf(
    countBy(own, (fact) =>
      by === 'route' ? labelOf(fact) : (missedReasonOf(fact.route ?? 0) ?? ''),
    ),
  );
}

export const labelOf = ({ route = 0 }: ScanFact): string =>
  route === 0 ? 'target' : `label-${route}`;

/** The event that a person's scan must give, id included. */
export function eventOf(fact: ScanFact, { id: qrId, routing }: ScannedCode) {
  const since = routing?.labelsSinceMs ?? Infinity;
  const namesRoute = routing !== undefined && (fact.route !== 0 || fact.timeMs >= since);
  const { device, os } = classOf(fact.agent);
  const at = new Date(fact.timeMs).toISOString();
  return {
    id: positionId('evt', fact.timeMs, fact.journal, fact.position),
    event: 'qr.scanned',
    createdAt: at,
    data: {
      qrId,
      scannedAt: at,
      country: 'ZZ',
      city: '',
      device: deviceNames[device]!,
      os: osNames[os]!,
      referer: fact.referer === '' ? null : fact.referer,
      ...(namesRoute ? { route: labelOf(fact) } : {}),
    },
  };
}

const formats = new Map<string, Intl.DateTimeFormat>();
const weekdayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** What the clock on the wall shows, by `Intl` and without a calendar: Swedes write 2026-03-08 07:05. */
export function localTime(zone: string, timeMs: number) {
  let format = formats.get(zone);
  if (format === undefined) {
    const style = { timeZone: zone, dateStyle: 'short', timeStyle: 'short' } as const;
    formats.set(zone, (format = new Intl.DateTimeFormat('sv-SE', style)));
  }
  const [date = '', hour = '', minute = ''] = format.format(timeMs).split(/[ :]/);
  return { date, hour, minute, weekday: weekdayNames[new Date(date).getUTCDay()]! };
}

/** Facts on the local days of a range, both included. */
export const onDays = (
  facts: readonly ScanFact[],
  zone: string,
  from: string,
  to: string,
): ScanFact[] =>
  facts.filter(({ timeMs }) => {
    const { date } = localTime(zone, timeMs);
    return date >= from && date <= to;
  });

/** Scans by what the zone's clocks show when a point begins: two hours of one name count together. */
export const byPoint = (
  facts: readonly ScanFact[],
  zone: string,
  interval: 'day' | 'quarter_hour',
): Map<string, number> =>
  countBy(facts.filter(isPerson), ({ timeMs }) => {
    const { date, hour, minute } = localTime(zone, timeMs);
    const quarter = String(Math.floor(Number(minute) / 15) * 15).padStart(2, '0');
    return interval === 'day' ? date : `${date}T${hour}:${quarter}`;
  });

export function byHourOfWeek(facts: readonly ScanFact[], zone: string): BreakdownRow[] {
  const counts = countBy(facts.filter(isPerson), ({ timeMs }) => {
    const { weekday, hour } = localTime(zone, timeMs);
    return `${weekday}-${hour}`;
  });
  const rows = Array.from(counts, ([key, scans]) => ({ key, scans }));
  return rows.sort((a, b) => (a.key < b.key ? -1 : 1));
}
