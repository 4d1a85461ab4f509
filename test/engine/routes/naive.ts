/** Where a scan leads, from the code's record alone and in the plainest way: what a program must agree with. */
import type { QrCodeRecord } from '../../../src/model/code.ts';
import type { RouteConditions, RouteOutcome, Routing } from '../../../src/model/routing/routing.ts';
import { weekdays } from '../../../src/model/day.ts';
import { localTime } from '../counting/plain-model.ts';

/** A scan in words. */
export interface NaiveScan {
  readonly nowMs: number;
  readonly device: string;
  readonly os: string;
  readonly browser: string;
  readonly country: string;
  /** Lower case; empty = none. */
  readonly language: string;
  readonly query: ReadonlyArray<readonly [name: string, value: string]>;
  /** From 0 up to 2^32. */
  readonly point: number;
}

interface Led {
  readonly label: string;
  readonly target: string;
}

export function naiveRoute(
  { target, routing }: Pick<QrCodeRecord, 'target'> & { readonly routing: Routing },
  scan: NaiveScan,
): Led {
  const rule = routing.rules.find((one) => holds(one.if, scan));
  if (rule !== undefined) return outcome(rule.then, rule.label, scan.point);
  if (routing.split !== undefined) return outcome({ split: routing.split }, '', scan.point);
  return { label: 'target', target };
}

function outcome(then: RouteOutcome, label: string, point: number): Led {
  if ('target' in then) return { label, target: then.target };
  const tickets = then.split.flatMap((one) => Array.from({ length: one.weight }, () => one));
  return tickets[Math.floor((point / 2 ** 32) * tickets.length)]!;
}

function holds(conditions: RouteConditions, scan: NaiveScan): boolean {
  const { device, os, browser, country, language, time, date, query } = conditions;
  const isIn = (values: readonly string[] | undefined, value: string): boolean =>
    values === undefined || values.includes(value);
  return (
    isIn(device, scan.device) &&
    isIn(os, scan.os) &&
    isIn(browser, scan.browser) &&
    isIn(country, scan.country) &&
    (language === undefined || language.some((range) => speaks(scan.language, range))) &&
    (time === undefined || isTime(time, scan.nowMs)) &&
    (date?.from === undefined || Date.parse(date.from) <= scan.nowMs) &&
    (date?.to === undefined || scan.nowMs < Date.parse(date.to)) &&
    Object.entries(query ?? {}).every(([name, value]) =>
      scan.query.some(([own, its]) => own === name && (value === '*' || its === value)),
    )
  );
}

function speaks(language: string, range: string): boolean {
  const wanted = range.toLowerCase().split('-');
  return language !== '' && language.split('-').slice(0, wanted.length).join() === wanted.join();
}

/** By the clock on the wall, as a person would read it. */
function isTime(
  { days = weekdays, from = '00:00', to = '24:00', timezone }: NonNullable<RouteConditions['time']>,
  nowMs: number,
): boolean {
  const { weekday: name, hour, minute } = localTime(timezone, nowMs);
  const weekday = weekdays.find((day) => day === name)!;
  const clock = `${hour}:${minute}`;
  const before = weekdays[(weekdays.indexOf(weekday) + 6) % 7]!;
  if (from < to) return days.includes(weekday) && from <= clock && clock < to;
  return (days.includes(weekday) && from <= clock) || (days.includes(before) && clock < to);
}
