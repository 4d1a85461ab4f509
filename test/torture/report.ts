/** What a run prints at its end. */
import type { Comparison } from './comparison.ts';
import type { Ledger } from './ledger.ts';
import type { Phones } from './phones.ts';

export type Row = readonly [name: string, value: string];

export interface Report {
  readonly ledger: Ledger;
  /** Figures. The faults are those of the ledger. */
  readonly rows: readonly Row[];
}

/** What the load was answered. */
export function rowsOfLoad(ledger: Ledger): Row[] {
  const outcomes = [...ledger.outcomes].toSorted(([one], [other]) => one.localeCompare(other));
  const { acknowledged, repeated, scans, answered, refused } = ledger;
  return [
    ['scans', `sent ${scans.length}, answered ${answered}, no link ${refused}`],
    ['writes answered', `${acknowledged}, of these sent again ${repeated}; reads ${ledger.reads}`],
    ['tries of writes', outcomes.map(([what, count]) => `${what}: ${count}`).join(', ')],
    ['write', spread(ledger.latencies)],
    ['longest without a write', milliseconds(ledger.writePauseMsMax)],
  ];
}

export function rowsOfPhones({ view, faults, unanswered }: Phones): Row[] {
  const counts = Object.entries(faults).map(([what, count]) => `${what} ${count}`);
  const { name, sent, answered, silentMsMax, latencies } = view;
  return [
    [`phones at ${name}`, `sent ${sent}, answered ${answered}, unanswered ${unanswered}`],
    ['  of these', `${counts.join(', ')}; silent at most ${milliseconds(silentMsMax)}`],
    ['  steady', spread(latencies.steady)],
    ['  during takeovers', spread(latencies.takeover)],
  ];
}

/** What a machine has stored, and what the receiver has seen of it. */
export function rowsOfComparison(name: string, comparison: Comparison): Row[] {
  const { counted, lost, duplicated, writesLost, receipts } = comparison;
  const scans = `counted ${counted}, lost ${lost}, twice ${duplicated}`;
  const sums = Object.entries(receipts ?? {}).map(([key, count]) => `${key} ${count}`);
  return [
    [`stored on ${name}`, `${scans}; writes lost ${writesLost}`],
    [`events of ${name}`, sums.join(', ')],
  ];
}

/** @param share of them that are faster */
export function quantile(times: readonly number[], share: number): number | undefined {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

export function spread(times: readonly number[]): string {
  if (times.length === 0) return 'none';
  const at = (share: number): string => milliseconds(quantile(times, share));
  return `${times.length}: min ${at(0)}, p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`;
}

export const milliseconds = (ms: number | undefined): string =>
  ms === undefined ? '-' : `${ms < 100 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
