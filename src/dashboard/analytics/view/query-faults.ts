/** Refusals of a range, a zone or a filter, and what there would be numbers for. */
import type { FieldFault, Problem } from '../../client/problem.ts';
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
const unfiltered: Way = { label: 'Remove the filters', change: noFilters };

/** By the code of the fault. */
const explanations: Readonly<Record<string, (zone: string) => Explained>> = {
  raw_scans_expired: () => ({
    title: 'Filters do not reach back this far',
    ways: [unfiltered, week],
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
    ways: [{ label: 'Compare with the period before', change: { compare: undefined } }],
  }),
};

const faultIn = ({ faults }: Problem): FieldFault | undefined =>
  faults.find(({ code }) => code in explanations);

/** In words, where asking again gives the same. @param zone that was asked for */
export function explain(
  problem: Problem,
  zone: string,
): (Explained & { readonly message: string }) | undefined {
  const fault = faultIn(problem);
  const explained = fault && explanations[fault.code]?.(zone);
  return explained && { ...explained, message: fault.message };
}

export const isAboutQuery = (problem: Problem | undefined): boolean =>
  problem !== undefined && faultIn(problem) !== undefined;
