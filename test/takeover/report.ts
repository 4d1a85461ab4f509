/** The criteria that a run must meet. */
import type { ServiceResult } from './service-under-load.ts';

export interface Criterion {
  readonly what: string;
  readonly holds: boolean;
}

const resetsPer100kMax = 1;
const slowerMax = 2;

/** Whatever was killed: nothing is lost, nothing is doubled. */
export function correctness(result: ServiceResult): Criterion[] {
  const { scans, changed, limited, receipts, notes, exitCode } = result;
  const lost = changed.lost + limited.lost;
  const doubled = changed.duplicated + limited.duplicated;
  return [
    { what: 'no scan lost', holds: lost === 0 },
    { what: 'no scan counted twice', holds: doubled === 0 },
    { what: 'no redirect loop', holds: scans.faults['redirect loop'] === 0 },
    { what: 'no acknowledged write lost', holds: changed.writesLost === 0 },
    { what: 'every event delivered as it is', holds: receipts.missing + receipts.altered === 0 },
    { what: 'no event twice without a kill or a hang', holds: receipts.repeats.unexplained === 0 },
    { what: 'nothing unexpected', holds: notes.length + changed.unexpected === 0 },
    { what: 'ended with 0', holds: exitCode === 0 },
  ];
}

/** Where nothing is killed: clients notice nothing. */
export function availability(result: ServiceResult): Criterion[] {
  const { scans, changed, limited } = result;
  const { faults, times } = scans;
  const answered = changed.answered + limited.redirects;
  const counted = changed.counted + limited.counted;
  const unanswered = scans.sent - scans.answered + result.keepAliveBroken;
  return [
    { what: 'no connection refused', holds: faults.refused === 0 },
    { what: 'at most one reset in 100,000', holds: resetsOf(result) <= resetsPer100kMax },
    { what: 'no scan timed out', holds: faults['timed out'] === 0 },
    { what: 'p99 at most doubled', holds: times.takeover.p99Ms <= slowerMax * times.steady.p99Ms },
    { what: 'as many counted as answered', holds: counted - answered <= unanswered },
  ];
}

const resetsOf = ({ scans }: ServiceResult): number =>
  (scans.faults.reset / Math.max(1, scans.sent)) * 100_000;
