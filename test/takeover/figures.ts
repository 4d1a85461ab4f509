/** What a run has measured, as a table, and what must hold of it. */
import type { Kill } from './kills.ts';
import type { StageResult, Takeover } from './stage.ts';
import type { Times } from './phones.ts';

export interface Criterion {
  readonly what: string;
  readonly holds: boolean;
}

export type Row = readonly [name: string, value: string];

const resetsPer100kMax = 1;
const slowerMax = 2;

/** Whatever was killed: nothing is lost, nothing is doubled. */
export function soundness(result: StageResult): Criterion[] {
  const { phones, changed, field, limited, receipts, notes, exitCode } = result;
  const lost = changed.lost + field.lost + limited.lost;
  const doubled = changed.duplicated + field.duplicated + limited.duplicated;
  return [
    { what: 'no scan lost', holds: lost === 0 },
    { what: 'no scan counted twice', holds: doubled === 0 },
    { what: 'no redirect astray', holds: phones.faults.astray === 0 },
    { what: 'no acknowledged write lost', holds: changed.writesLost === 0 },
    { what: 'every event delivered as it is', holds: receipts.missing + receipts.altered === 0 },
    { what: 'no event twice without a kill', holds: receipts.repeats.unexplained === 0 },
    { what: 'nothing unexpected', holds: notes.length + changed.unexpected === 0 },
    { what: 'ended with 0', holds: exitCode === 0 },
  ];
}

/** Where nothing is killed, nobody notices. */
export function speed(result: StageResult): Criterion[] {
  const { phones, changed, field, limited } = result;
  const { faults, times } = phones;
  const answered = changed.answered + field.answered + limited.redirects;
  const counted = changed.counted + field.counted + limited.counted;
  const unanswered = phones.sent - phones.answered + result.keptBroken;
  return [
    { what: 'no connection refused', holds: faults.refused === 0 },
    { what: 'at most one reset in 100,000', holds: resetsOf(result) <= resetsPer100kMax },
    { what: 'no scan timed out', holds: faults['timed out'] === 0 },
    { what: 'p99 at most doubled', holds: times.takeover.p99Ms <= slowerMax * times.steady.p99Ms },
    { what: 'as many counted as answered', holds: counted - answered <= unanswered },
  ];
}

const resetsOf = ({ phones }: StageResult): number =>
  (phones.faults.reset / Math.max(1, phones.sent)) * 100_000;

export function figuresOf(result: StageResult, takeovers: readonly Takeover[]): Row[] {
  const { phones, changed, field, limited, receipts, writing } = result;
  const { faults, faultsByPhase, times } = phones;
  return [
    ['scans on new connections', String(phones.sent)],
    ['  answered', String(phones.answered)],
    ['  refused', String(faults.refused)],
    ['  reset', `${faults.reset} (${resetsOf(result).toFixed(2)} of 100,000)`],
    [
      '  timed out, astray, own faults',
      `${faults['timed out']}, ${faults.astray}, ${faults.unable}`,
    ],
    ['  faults steady, boot, change', Object.values(faultsByPhase).join(', ')],
    ['  redirected to themselves', String(phones.followed)],
    ['broken on kept connections', String(result.keptBroken)],
    ['generator late at most', `${phones.lateMsMax.toFixed(1)} ms`],
    ['time steady', timesText(times.steady)],
    ['time during a takeover', timesText(times.takeover)],
    ['  while the successor boots', timesText(times.booting)],
    ['  in the change', timesText(times.changing)],
    ['changed codes: answered, counted', `${changed.answered}, ${changed.counted}`],
    ['field: answered, counted', `${field.answered}, ${field.counted}`],
    ['limited: redirects, counted', `${limited.redirects}, ${limited.counted}`],
    ['limited codes, ended', `${limited.codes}, ${limited.ended}`],
    ['lost', `${changed.lost}, ${field.lost}, ${limited.lost} ${changed.lostScans.join(' ')}`],
    ['counted twice', `${changed.duplicated}, ${field.duplicated}, ${limited.duplicated}`],
    ['API writes acknowledged, lost', `${changed.writes}, ${changed.writesLost}`],
    ['API writes held off, broken', `${writing.heldOff}, ${writing.broken}`],
    ['longest time without a write', `${writing.pauseMsMax.toFixed(0)} ms`],
    ['events committed, missing', `${receipts.committed}, ${receipts.missing}`],
    ['events altered, twice', `${receipts.altered}, ${receipts.duplicated}`],
    ['  twice without a kill', String(receipts.repeats.unexplained)],
    ...takeoverRows(takeovers),
  ];
}

function takeoverRows(takeovers: readonly Takeover[]): Row[] {
  if (takeovers.length === 0) return [];
  const names = [...new Set(takeovers.flatMap(({ intervals }) => intervals.map((i) => i.name)))];
  const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
  const most = (of: (takeover: Takeover) => number): number => Math.max(...takeovers.map(of));
  return [
    ['takeover', quantiles(takeovers.map(({ ms }) => ms))],
    ...names.map((name): Row => {
      const all = takeovers.flatMap(({ intervals }) => intervals);
      return [`  up to ${name}`, quantiles(all.filter((i) => i.name === name).map(({ ms }) => ms))];
    }),
    ['predecessor, resident at most', megabytes(most((takeover) => takeover.predecessorBytes))],
    ['successor, resident at most', megabytes(most((takeover) => takeover.successorBytes))],
  ];
}

const timesText = ({ count, p50Ms, p99Ms, maxMs }: Times): string =>
  `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, max ${maxMs.toFixed(1)} ms, ${count} scans`;

function quantiles(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    String(Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? NaN));
  return sorted.length === 0 ? '-' : `p50 ${at(0.5)} ms, max ${at(1)} ms`;
}

export function killRows(kills: readonly Kill[]): Row[] {
  const steps = [...new Set(kills.map(({ after }) => after))];
  const served = (of: (kill: Kill) => boolean): string =>
    quantiles(kills.filter(of).map(({ servedMs }) => servedMs ?? Infinity));
  return [
    ['kills', String(kills.length)],
    ...steps.flatMap((name): Row[] =>
      (['predecessor', 'successor'] as const).map((victim) => [
        `  ${victim}, after ${name}`,
        `${kills.filter((kill) => kill.after === name && kill.victim === victim).length}, served after ` +
          served((kill) => kill.after === name && kill.victim === victim),
      ]),
    ),
    ['served after a kill', served(() => true)],
  ];
}
