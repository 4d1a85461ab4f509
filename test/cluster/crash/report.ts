/** What a crash run prints. */
import type { CrashResult } from './crash.ts';

export function rowsOf(result: CrashResult): Array<[name: string, value: string]> {
  const { ledger, failovers, faultCounts, nodes, comparisons, loadMs } = result;
  const counts = [...faultCounts].map(([kind, count]) => `${kind} ${count}`);
  const outcomes = [...ledger.outcomes].toSorted(([one], [other]) => one.localeCompare(other));
  const receipts = comparisons[0]?.receipts;
  return [
    ['faults', counts.join(', ') || 'none'],
    ['writes answered', `${ledger.acknowledged}, of these sent again ${ledger.repeated}`],
    ['tries of writes', outcomes.map(([what, count]) => `${what}: ${count}`).join(', ')],
    ['reads', String(ledger.reads)],
    ['nodes that must know', String(ledger.promised)],
    ['X-Links-Behind', String(ledger.linksBehind)],
    ['stale where it may not be', String(ledger.staleCount)],
    ['scans', `sent ${ledger.scans}, answered ${ledger.answered}, no link ${ledger.refused}`],
    ['scans a second', (ledger.answered / (loadMs / 1_000)).toFixed(0)],
    ...comparisons.map(({ name, counted, lost, duplicated, writesLost }): [string, string] => [
      `stored on ${name}`,
      `counted ${counted}, lost ${lost}, twice ${duplicated}; writes lost ${writesLost}`,
    ]),
    [
      'webhooks',
      receipts === undefined
        ? 'none'
        : `${receipts.committed} events, missing ${receipts.missing}, again ${receipts.duplicated}, altered ${receipts.altered}`,
    ],
    ...nodes.map(({ name, view, broken, ends }): [string, string] => [
      `phones at ${name}`,
      `${view.answered} answered, of these ${view.stale} older than the newest, ${broken} broken, ended itself ${ends}, ` +
        `silent at most ${milliseconds(view.silentMsMax)}, ${spread(view.latencies)}`,
    ]),
    ...[...failovers.measured].map(([kind, ms]): [string, string] => [
      `until written, ${kind}`,
      spread(ms),
    ]),
    ['until written, all', spread([...failovers.measured.values()].flat())],
    ['write', spread(ledger.latencies)],
    ['healed, until written', milliseconds(result.writtenMs)],
    ['load off, until equal', milliseconds(result.equality.ms)],
  ];
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number): string =>
    milliseconds(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
  return `${sorted.length}: min ${at(0)}, p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`;
}

const milliseconds = (ms: number | undefined): string =>
  ms === undefined ? '-' : `${ms < 100 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
