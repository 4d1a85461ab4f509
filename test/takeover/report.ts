/** The table of what a run has measured, and the criteria that it must meet. */
import type { Times } from './scan-generator.ts';
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

export function rowsOf(
  result: ServiceResult,
): ReadonlyArray<readonly [name: string, value: string]> {
  const { scans, changed, limited, receipts } = result;
  const { faults, times } = scans;
  return [
    ['scans on new connections', String(scans.sent)],
    ['  answered', String(scans.answered)],
    ['  refused', String(faults.refused)],
    ['  reset', `${faults.reset} (${resetsOf(result).toFixed(2)} of 100,000)`],
    ['  timed out, redirect loops', `${faults['timed out']}, ${faults['redirect loop']}`],
    ['  local errors of the generator', String(faults['local error'])],
    ['broken on keep-alive connections', String(result.keepAliveBroken)],
    ['generator late at most', `${scans.lateMsMax.toFixed(1)} ms`],
    ['response time, steady', timesText(times.steady)],
    ['response time, during takeovers', timesText(times.takeover)],
    ['changed codes: answered, counted', `${changed.answered}, ${changed.counted}`],
    ['limited codes: redirects, counted', `${limited.redirects}, ${limited.counted}`],
    ['lost', `${changed.lost}, ${limited.lost} ${changed.lostScans.join(' ')}`],
    ['counted twice', `${changed.duplicated}, ${limited.duplicated}`],
    ['API writes acknowledged, lost', `${changed.writes}, ${changed.writesLost}`],
    ['longest time without a write', `${result.writePauseMsMax.toFixed(0)} ms`],
    ['events committed, missing', `${receipts.committed}, ${receipts.missing}`],
    ['events altered, twice', `${receipts.altered}, ${receipts.duplicated}`],
    ['  without a kill or a hang', String(receipts.repeats.unexplained)],
  ];
}

const timesText = ({ count, p50Ms, p99Ms, maxMs }: Times): string =>
  `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, max ${maxMs.toFixed(1)} ms, ${count} scans`;
