/**
 * Rules that can never win, because an earlier one holds whenever they do: each condition of the earlier one follows from
 * one of theirs. Compares values: every rule that it finds is certain, and it may miss some.
 */
import type { Fault } from '../../../model/failure.ts';
import type {
  DateWindow,
  RouteConditions,
  RouteRule,
  TimeWindow,
} from '../../../model/routing/routing.ts';
import { weekdays } from '../../../model/day.ts';
import { fault } from '../rules.ts';

/** Warnings, not faults: such rules are stored as they are. At most one a rule. */
export function unreachableRules(rules: readonly RouteRule[]): Fault[] {
  return rules.flatMap(({ if: conditions }, at) => {
    const first = rules.slice(0, at).find((earlier) => follows(conditions, earlier.if));
    if (first === undefined) return [];
    const message = `It never wins: rule ${first.label} is earlier and holds whenever it does`;
    return [fault(`rules.${at}`, 'unreachable', message)];
  });
}

/** Whether `earlier` holds wherever `later` does. */
function follows(later: RouteConditions, earlier: RouteConditions): boolean {
  return (
    isAmong(later.device, earlier.device) &&
    isAmong(later.os, earlier.os) &&
    isAmong(later.browser, earlier.browser) &&
    isAmong(later.country, earlier.country) &&
    isAmong(folded(later.language), folded(earlier.language)) &&
    isInTime(later.time, earlier.time) &&
    isInDate(later.date, earlier.date) &&
    isInQuery(later.query, earlier.query)
  );
}

const folded = (ranges: readonly string[] | undefined): string[] | undefined =>
  ranges?.map((range) => range.toLowerCase());

/** Every value of `later` is one of `earlier`; without `earlier` there is no condition to hold. */
function isAmong<T>(later: readonly T[] | undefined, earlier: readonly T[] | undefined): boolean {
  if (earlier === undefined) return true;
  return later !== undefined && later.every((value) => earlier.includes(value));
}

function isInTime(later: TimeWindow | undefined, earlier: TimeWindow | undefined): boolean {
  if (earlier === undefined) return true;
  if (later === undefined || later.timezone !== earlier.timezone) return false;
  const inner = hoursOf(later);
  const outer = hoursOf(earlier);
  const isSame = inner.from === outer.from && inner.to === outer.to;
  // A window over midnight reaches into the next day: only equal hours are compared.
  const isInside =
    inner.from < inner.to &&
    outer.from < outer.to &&
    outer.from <= inner.from &&
    inner.to <= outer.to;
  return (isSame || isInside) && isAmong(later.days ?? weekdays, earlier.days ?? weekdays);
}

/** `HH:MM` sorts as text. */
const hoursOf = ({ from = '00:00', to = '24:00' }: TimeWindow) => ({ from, to });

function isInDate(later: DateWindow | undefined, earlier: DateWindow | undefined): boolean {
  if (earlier === undefined) return true;
  if (later === undefined) return false;
  const inner = rangeOf(later);
  const outer = rangeOf(earlier);
  return outer.fromMs <= inner.fromMs && inner.toMs <= outer.toMs;
}

const rangeOf = ({ from, to }: DateWindow) => ({
  fromMs: from === undefined ? -Infinity : Date.parse(from),
  toMs: to === undefined ? Infinity : Date.parse(to),
});

function isInQuery(
  later: Readonly<Record<string, string>> = {},
  earlier: Readonly<Record<string, string>> = {},
): boolean {
  const wanted = new Map(Object.entries(later));
  return Object.entries(earlier).every(([name, value]) =>
    value === '*' ? wanted.has(name) : wanted.get(name) === value,
  );
}
