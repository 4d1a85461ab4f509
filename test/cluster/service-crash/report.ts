/** What a run of whole services prints. */
import { milliseconds, spread } from '../crash/report.ts';
import { agesShown, type RepeatSums } from './repeats.ts';
import type { ServiceCrashResult } from './service-crash.ts';

export function rowsOf(result: ServiceCrashResult): Array<[name: string, value: string]> {
  const { ledger, failovers, faultCounts, nodes, probes, comparisons, repeats, loadMs } = result;
  const counts = [...faultCounts].map(([kind, count]) => `${kind} ${count}`);
  const outcomes = [...ledger.outcomes].toSorted(([one], [other]) => one.localeCompare(other));
  return [
    ['faults', counts.join(', ') || 'none'],
    ['writes answered', `${ledger.acknowledged}, of these sent again ${ledger.repeated}`],
    ['tries of writes', outcomes.map(([what, count]) => `${what}: ${count}`).join(', ')],
    ['reads', String(ledger.reads)],
    ['asked after a write', String(probes)],
    ['nodes that must know', String(ledger.promised)],
    ['X-Links-Behind', String(ledger.linksBehind)],
    ['stale where it may not be', String(ledger.staleCount)],
    ['scans', `sent ${ledger.scans}, answered ${ledger.answered}, no link ${ledger.refused}`],
    ['scans a second', (ledger.answered / (loadMs / 1_000)).toFixed(0)],
    ...comparisons.map(({ name, counted, lost, duplicated, writesLost }): [string, string] => [
      `stored on ${name}`,
      `counted ${counted}, lost ${lost}, twice ${duplicated}; writes lost ${writesLost}`,
    ]),
    ...comparisons
      .slice(0, 1)
      .flatMap(({ receipts }): Array<[string, string]> =>
        receipts === undefined
          ? []
          : [
              [
                'webhooks',
                `${receipts.committed} events, missing ${receipts.missing}, again ${receipts.duplicated}, altered ${receipts.altered}`,
              ],
            ],
      ),
    ...(repeats === undefined ? [] : rowsOfRepeats(repeats)),
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

const rowsOfRepeats = (repeats: RepeatSums): Array<[string, string]> => [
  [
    'events again',
    `${repeats.again}: in the same request ${repeats.sameRequest}, by another node ${repeats.byOthers}, ` +
      `stored before ${repeats.stored}; webhook-ids with two contents ${repeats.doubleIds}`,
  ],
  ['events again, after', agesShown(repeats)],
  ...repeats.lines.map((line): [string, string] => ['  ', line]),
];
