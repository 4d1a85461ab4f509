/** Refusals of a range, a zone or a filter, and what there would be numbers for. */
import type { Problem } from '../../client/problem.ts';
import { noFilters, type QueryChange } from '../state/view-state.ts';
import { zoneLabel } from '../state/labels.ts';

interface Way {
  readonly label: string;
  readonly change: QueryChange;
}

interface Explained {
  readonly title: string;
  readonly ways: readonly Way[];
}

const noRange: QueryChange = { range: undefined, from: undefined, to: undefined };
const week: Way = { label: 'Show the last 7 days', change: { ...noRange, range: '7d' } };
const inUtc: Way = { label: 'Show in UTC', change: { zone: 'UTC' } };
const uncompared: Way = { label: 'Compare with nothing', change: { compare: 'none' } };
const unfiltered: Way = { label: 'Remove the filters', change: noFilters };

/** By the code of the fault. */
const explanations: Readonly<Record<string, (zone: string) => Explained>> = {
  raw_scans_expired: () => ({
    title: 'Filters do not reach back this far',
    ways: [uncompared, unfiltered, week],
  }),
  timezone_unavailable: (zone) => ({
    title: `These days cannot be counted in ${zoneLabel(zone)}`,
    ways: [inUtc, week],
  }),
  unknown_timezone: (zone) => ({ title: `The service does not know ${zone}`, ways: [inUtc] }),
  range_too_long: () => ({
    title: 'These are too many days at once',
    ways: [{ label: 'Show fewer points', change: { interval: undefined } }, week],
  }),
  compare_length: () => ({
    title: 'The two periods differ in length',
    ways: [{ label: 'Compare with the same weekdays before', change: { compare: undefined } }],
  }),
};

/** In words, where asking again gives the same; undefined for any other problem. @param zone that was asked for */
export function explain(
  { status, faults, message }: Problem,
  zone: string,
): (Explained & { readonly message: string }) | undefined {
  const known = faults.find(({ code }) => code in explanations);
  const explained = known && explanations[known.code]?.(zone);
  if (explained !== undefined) return { ...explained, message: known?.message ?? message };
  // A value or an id that an address had, and the service has not.
  if (status !== 422 && status !== 404) return undefined;
  const title = 'Nothing can be counted for this';
  return { title, ways: [unfiltered], message: faults[0]?.message ?? message };
}

export const isAboutQuery = (problem: Problem | undefined): boolean =>
  problem !== undefined && explain(problem, '') !== undefined;
