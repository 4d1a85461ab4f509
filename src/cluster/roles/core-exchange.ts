/**
 * What a core exchanges with the other cores, next to the logs that it applies:
 *
 *   transfer   journals, to the brokers and from them
 *   mark       how far this core has counted each journal, and has the logs on its disk: data that no core needs is deleted
 *   pruning    entries of the logs that all cores have; by the core that leads
 */
import type { LogPruning } from '../log/log-pruning.ts';
import type { AppliedSeqs, Mark } from '../nodes/beat-message.ts';
import { type JournalOwner, ScanTransfer } from '../scans/scan-transfer.ts';
import type { Closers } from '../../platform/closers.ts';
import { identify } from '../../engine/journal/file-identity.ts';
import type { Engine } from '../../app/open-engine.ts';
import type { HealthCheck } from '../../platform/health.ts';
import type { CoreNode } from './core-node.ts';
import { type PrunedLog, startPruning } from './core-pruning.ts';

export interface CoreExchange {
  readonly transfer: ScanTransfer;
  readonly mark: () => Mark;
  readonly pruning: ReadonlyMap<PrunedLog, LogPruning>;
}

/** After the engine, which has recovered the journals. */
export async function openExchange(
  node: CoreNode,
  { threads }: Engine,
  closers: Closers,
): Promise<CoreExchange> {
  const { context, base, identity, nodes, beats } = node;
  const { nats, config } = context;
  const { marks } = beats;
  const owners = (): JournalOwner[] =>
    Array.from(nodes.owners(), ([journal, owner]) => ({ journal, ...owner }));
  const transfer = new ScanTransfer({
    ...base,
    ...identity,
    nats,
    threads,
    marks,
    receive: {
      store: identify(base.folder.scansFile),
      codes: identify(base.folder.managementFile),
      segmentMsMax: config.scans.segmentMsMax,
      replicas: config.cluster.replicas,
    },
    owners: owners(),
  });
  closers.push(() => transfer.stop());
  // At once: the logs keep what a core that has just registered needs.
  const setCores = (): void =>
    marks.setCores(new Map(nodes.cores().map(({ name, run }) => [name, run])));
  setCores();
  closers.push(
    nodes.changed.listen(() => {
      transfer.setOwners(owners());
      setCores();
    }),
  );
  await transfer.start();
  const applied = appliedOf(node);
  const mark = (): Mark => ({
    savedSeq: transfer.figures.savedSeq,
    counted: [...threads.shards.counted()],
    cores: nodes.cores().map(({ name }) => name),
    applied: applied(),
  });
  return { transfer, mark, pruning: startPruning(node, closers) };
}

/** What a loss of power leaves of both logs. Reported a round later: a machine that loses power applies the rest again. */
function appliedOf({ replication, delivery }: CoreNode): () => AppliedSeqs {
  let flushed: AppliedSeqs = [0, 0];
  return () => {
    Promise.all([replication.flushedSeq(), delivery.replication.flushedSeq()]).then(
      (seqs) => (flushed = seqs),
      () => undefined,
    );
    return flushed;
  };
}

export function refusedScans({ transfer }: CoreExchange): string | undefined {
  if (transfer.refusedFrames === 0) return undefined;
  return 'scans with an impossible time or code were refused: the log names the node, look at its clock';
}

export function exchangeChecks(exchange: CoreExchange): HealthCheck[] {
  const { transfer, pruning } = exchange;
  const missed = (): string | undefined =>
    transfer.missedEntries === 0
      ? undefined
      : `${transfer.missedEntries} messages with scans were removed before this core had them: its analytics lack those scans until \`quietzone cluster join\` copies the data of another core`;
  const scansKept = (): string | undefined => {
    const fault = pruning.get('scans')?.fault;
    return fault && `scans that all cores have, with addresses, stay on the brokers: ${fault}`;
  };
  const logsKept = (): string | undefined => {
    const fault = pruning.get('core')?.fault ?? pruning.get('delivery')?.fault;
    return fault && `changes that all cores have stay on the brokers: ${fault}`;
  };
  return [
    { name: 'scans of other nodes', isWarning: true, problem: () => transfer.figures.faults[0] },
    { name: 'refused scans', isWarning: true, problem: () => refusedScans(exchange) },
    { name: 'missed scans', isWarning: true, problem: missed },
    { name: 'scans on the brokers', isWarning: true, problem: scansKept },
    { name: 'logs on the brokers', isWarning: true, problem: logsKept },
  ];
}
