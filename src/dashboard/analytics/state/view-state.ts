/**
 * The state of an analytics page, to and from its address:
 *
 *   ?range=7d  ?range=custom&from=2026-03-01&to=2026-03-09   absent = the page's standard
 *   &interval=hour                                           absent = what fits the range
 *   &compare=last_year  &compare=2026-02-01..2026-02-09      absent = what fits the range
 *   &zone=UTC                                                absent = the workspace's
 *   &country=DE&os=iOS …                                     filters, all at once
 *
 * Impossible values in an address are ignored. This file does not read the clock.
 */
import { isDay } from './days.ts';
import {
  addressOfKey,
  type FilterName,
  filterNames,
  type Filters,
  keyInAddress,
} from './filters.ts';
import {
  type Days,
  daysBefore,
  daysFrom,
  daysOf,
  type Interval,
  intervalsFor,
  type Preset,
  presets,
  standardInterval,
} from './ranges.ts';

export const compareOptions = [
  { value: 'previous_weekdays', label: 'Compare with the same weekdays before' },
  { value: 'last_month_days', label: 'Compare with the same days last month' },
  { value: 'last_year', label: 'Compare with last year' },
  { value: 'custom', label: 'Compare with other days' },
  { value: 'none', label: 'No comparison' },
] as const;
export type Compare = (typeof compareOptions)[number]['value'];

export interface ViewState {
  readonly preset: Preset;
  readonly range: Days;
  readonly interval: Interval;
  readonly compare: Compare;
  /** Days of `custom`; for other comparisons, the API's answer has the days. */
  readonly comparedTo?: Days;
  /** An IANA zone, or `workspace`. */
  readonly zone: string;
  readonly filters: Filters;
}

export interface ViewBounds {
  /** Today in the shown zone. */
  readonly today: string;
  /** First day of a code or campaign, and its last day or today. Undefined = `all` is not offered. */
  readonly whole?: Days | undefined;
  /** `compare` absent = what fits the range. */
  readonly standard: { readonly preset: Exclude<Preset, 'custom'>; readonly compare?: 'none' };
  readonly filters: readonly FilterName[];
}

export type QueryChange = Readonly<Record<string, string | undefined>>;

export const workspaceZone = 'workspace';
/** The zone in which all numbers are exact, offered in addition to the workspace's zone. */
const otherZone = 'UTC';

export const zoneIn = (query: URLSearchParams): string =>
  query.get('zone') === otherZone ? otherZone : workspaceZone;

export function readState(query: URLSearchParams, bounds: ViewBounds): ViewState {
  const { preset, range } = readRange(query, bounds);
  const interval =
    intervalsFor(range).find(({ value }) => value === query.get('interval'))?.value ??
    standardInterval(range);
  return {
    preset,
    range,
    interval,
    ...readCompare(query, range, standardCompare(preset, bounds)),
    zone: zoneIn(query),
    filters: readFilters(query, bounds.filters),
  };
}

function readRange(
  query: URLSearchParams,
  { today, whole, standard }: ViewBounds,
): Pick<ViewState, 'preset' | 'range'> {
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
  const named = presets.find(({ value }) => value === query.get('range'))?.value;
  const isCustom = named === 'custom' && isDay(from) && isDay(to) && from <= to;
  if (isCustom) return { preset: 'custom', range: { from, to } };
  const isPossible = named !== undefined && named !== 'custom' && (named !== 'all' || whole);
  const preset = isPossible ? named : standard.preset;
  return { preset, range: daysOf(preset, today, whole ?? { from: today, to: today }) };
}

const standardCompare = (preset: Preset, { standard }: Pick<ViewBounds, 'standard'>): Compare =>
  standard.compare ?? (preset === 'month' ? 'last_month_days' : 'previous_weekdays');

function readCompare(
  query: URLSearchParams,
  range: Days,
  standard: Compare,
): Pick<ViewState, 'compare' | 'comparedTo'> {
  const text = query.get('compare');
  const [first = ''] = text?.split('..') ?? [];
  // As long as the range, whatever the address says.
  if (isDay(first)) return { compare: 'custom', comparedTo: daysFrom(first, range) };
  const named = compareOptions.find(({ value }) => value === text && value !== 'custom');
  return { compare: named?.value ?? standard };
}

function readFilters(query: URLSearchParams, names: readonly FilterName[]): Filters {
  const found = names.flatMap((name): Array<[FilterName, string]> => {
    const value = query.get(name);
    return value === null || value === '' ? [] : [[name, keyInAddress(value)]];
  });
  return Object.fromEntries(found);
}

/** The interval and comparison of the previous range would not fit. */
const rangeDefaults: QueryChange = { interval: undefined, from: undefined, to: undefined };

export function rangeChange(
  preset: Preset,
  state: ViewState,
  { standard }: ViewBounds,
): QueryChange {
  const compare = state.compare === 'custom' ? { compare: undefined } : {};
  if (preset === 'custom') return { ...rangeDefaults, ...compare, range: preset, ...state.range };
  return { ...rangeDefaults, ...compare, range: preset === standard.preset ? undefined : preset };
}

export function daysChange(range: Days, state: ViewState): QueryChange {
  const compare = state.compare === 'custom' ? { compare: undefined } : {};
  return { ...compare, interval: undefined, range: 'custom', ...range };
}

export function compareChange(
  compare: Compare,
  { preset, range }: ViewState,
  bounds: Pick<ViewBounds, 'standard'>,
): QueryChange {
  if (compare === 'custom') return { compare: compareText(daysBefore(range)) };
  return { compare: compare === standardCompare(preset, bounds) ? undefined : compare };
}

export const compareText = ({ from, to }: Days): string => `${from}..${to}`;

/** @param value the key; undefined removes the filter */
export const filterChange = (name: FilterName, value: string | undefined): QueryChange => ({
  [name]: value === undefined ? undefined : addressOfKey(value),
});

export const noFilters: QueryChange = Object.fromEntries(
  filterNames.map((name) => [name, undefined]),
);
