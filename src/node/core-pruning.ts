/** Removes entries that all cores have from the three logs of a cluster, while this core leads. */
import { LogPruning, type LogPruningOptions } from '../cluster/log/log-pruning.ts';
import type { LogName } from '../cluster/nats/log-streams.ts';
import { NatsLog } from '../cluster/nats/nats-log.ts';
import type { Marks } from '../cluster/scans/marks.ts';
import { scanStream, scanSubject } from '../cluster/scans/scan-messages.ts';
import type { StoreReplication } from '../cluster/store-replication.ts';
import type { Base } from '../modules.ts';
import { systemTimers } from '../system-clock.ts';
import type { NodeContext } from './context.ts';

/** A log whose entries are removed when all cores have them. */
export type PrunedLog = LogName | 'scans';

/** Scans hold addresses of visitors. */
const scansMs = 10_000;
const changesMs = 60_000;
/**
 * A leader beats twice a second, and a beat does not move a position: without a change its beats could never be removed.
 * After so many, 83 minutes, the leader writes something.
 */
const beatsMax = 10_000;

export interface CorePruningOptions {
  readonly context: NodeContext;
  readonly base: Base;
  readonly replication: StoreReplication;
  /** Of deliveries. */
  readonly deliveries: StoreReplication;
  readonly marks: Marks;
}

export interface CorePruning {
  readonly pruning: ReadonlyMap<PrunedLog, LogPruning>;
  close(): Promise<void>;
}

/** Begins at once. */
export function openPruning(options: CorePruningOptions): CorePruning {
  const { context, base, replication, deliveries, marks } = options;
  const { connection, config } = context;
  const { nodeName } = config.cluster;
  const { clock } = base;
  const common = { clock, timers: systemTimers };
  const ofChanges = (at: 0 | 1, log: StoreReplication): LogPruningOptions => ({
    ...common,
    log: log.messages,
    everyMs: changesMs,
    isLeader: () => log.isHeld,
    stored: () => new Map([...marks.applied()].map(([core, seqs]) => [core, seqs[at]])),
    replayedBy: nodeName,
    onRound: (last) => {
      if (last - log.storedSeq <= beatsMax) return;
      // If it fails, another core leads, and does it.
      log.moveOn(clock.now()).catch(() => undefined);
    },
  });
  const scans = new NatsLog({ connection, stream: scanStream, subject: scanSubject(nodeName) });
  const ofScans = {
    ...common,
    log: scans,
    everyMs: scansMs,
    isLeader: () => replication.isHeld,
    stored: () => marks.saved(),
  };
  const pruning = new Map<PrunedLog, LogPruning>([
    ['core', new LogPruning(ofChanges(0, replication))],
    ['delivery', new LogPruning(ofChanges(1, deliveries))],
    ['scans', new LogPruning(ofScans)],
  ]);
  for (const one of pruning.values()) one.start();
  const close = async (): Promise<void> => {
    for (const one of pruning.values()) one.stop();
    await scans.close();
  };
  return { pruning, close };
}
