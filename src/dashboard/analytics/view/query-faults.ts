/** Errors of a range, a zone or a filter, and the choices that work. */
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
const uncompared: Way = { label: 'Do not compare', change: { compare: 'none' } };
const unfiltered: Way = { label: 'Remove the filters', change: noFilters };

/** By error code. */
const explanations: Readonly<Record<string, (zone: string) => Explained>> = {
  raw_scans_expired: () => ({
    title: 'Filters are not available for days this far back',
    ways: [uncompared, unfiltered, week],
  }),
  timezone_unavailable: (zone) => ({
    title: `These days are not available in ${zoneLabel(zone)}`,
    ways: [inUtc, week],
  }),
  unknown_timezone: (zone) => ({ title: `Unknown time zone: ${zone}`, ways: [inUtc] }),
  range_too_long: () => ({
    title: 'Too many days',
    ways: [{ label: 'Show fewer points', change: { interval: undefined } }, week],
  }),
  compare_length: () => ({
    title: 'The two periods have different lengths',
    ways: [{ label: 'Compare with the same weekdays before', change: { compare: undefined } }],
  }),
};

/** The text for an error that a retry would not fix; undefined for any other error. @param zone requested zone */
export function explain(
  { status, faults, message }: Problem,
  zone: string,
): (Explained & { readonly message: string }) | undefined {
  const known = faults.find(({ code }) => code in explanations);
  const explained = known && explanations[known.code]?.(zone);
  if (explained !== undefined) return { ...explained, message: known?.message ?? message };
  // The address has a value or an id that the service does not know.
  if (status !== 422 && status !== 404) return undefined;
  const title = 'No numbers for this selection';
  return { title, ways: [unfiltered], message: faults[0]?.message ?? message };
}

export const isAboutQuery = (problem: Problem | undefined): boolean =>
  problem !== undefined && explain(problem, '') !== undefined;
