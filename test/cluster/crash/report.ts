/** What a run prints. */
import type { CrashResult } from './crash.ts';

export function rowsOf(result: CrashResult): Array<[name: string, value: string]> {
  const { ledger, failovers, faultCounts, loadMs, batches, ignored, restarts } = result;
  const counts = [...faultCounts].map(([kind, count]) => `${kind} ${count}`);
  const answers = (['done', 'refused', 'thrown', 'unknown', 'failed'] as const).map(
    (kind) => `${kind} ${ledger.count(kind)}`,
  );
  const seconds = loadMs / 1_000;
  return [
    ['faults', counts.join(', ') || 'none'],
    ['writes', answers.join(', ')],
    ['reads under a lease', String(ledger.reads)],
    ['entries ignored', String(ignored)],
    ['readings begun again', String(restarts)],
    ...[...failovers.measured].map(([kind, ms]): [string, string] => [
      `until written, ${kind}`,
      spread(ms),
    ]),
    ['write', spread(ledger.latencies)],
    ['writes a second', (ledger.latencies.length / seconds).toFixed(0)],
    ...(faultCounts.size === 0
      ? [['batches a second', (batches / seconds).toFixed(0)] as [string, string]]
      : []),
    ['healed, until equal', milliseconds(result.equalMs)],
    ['healed, until written', milliseconds(result.writtenMs)],
  ];
}

export function spread(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number): string =>
    milliseconds(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
  return `${sorted.length}: min ${at(0)}, p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`;
}

export const milliseconds = (ms: number | undefined): string =>
  ms === undefined ? '-' : `${ms < 100 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
