/** Removes entries that all cores have from the three logs of a cluster, while this core leads. */
import { LogPruning, type LogPruningOptions } from '../log/log-pruning.ts';
import type { LogName } from '../nats/log-streams.ts';
import { NatsLog } from '../nats/nats-log.ts';
import { scanStream, scanSubject } from '../scans/scan-messages.ts';
import type { StoreReplication } from '../log/store-replication.ts';
import type { Closers } from '../../platform/closers.ts';
import { systemTimers } from '../../platform/system-clock.ts';
import type { CoreNode } from './core-node.ts';

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

export function startPruning(
  { context, base, identity, beats, replication, delivery }: CoreNode,
  closers: Closers,
): ReadonlyMap<PrunedLog, LogPruning> {
  const { connection } = context;
  const { marks } = beats;
  const { clock } = base;
  const { name } = identity;
  const common = { clock, timers: systemTimers };
  const ofChanges = (at: 0 | 1, log: StoreReplication): LogPruningOptions => ({
    ...common,
    log: log.messages,
    everyMs: changesMs,
    isLeader: () => log.isHeld,
    stored: () => new Map([...marks.applied()].map(([core, seqs]) => [core, seqs[at]])),
    replayedBy: name,
    onRound: (last) => {
      if (last - log.storedSeq <= beatsMax) return;
      // If it fails, another core leads, and does it.
      log.moveOn(clock.now()).catch(() => undefined);
    },
  });
  const scans = new NatsLog({ connection, stream: scanStream, subject: scanSubject(name) });
  const ofScans = {
    ...common,
    log: scans,
    everyMs: scansMs,
    isLeader: () => replication.isHeld,
    stored: () => marks.saved(),
  };
  const pruning = new Map<PrunedLog, LogPruning>([
    ['core', new LogPruning(ofChanges(0, replication))],
    ['delivery', new LogPruning(ofChanges(1, delivery.replication))],
    ['scans', new LogPruning(ofScans)],
  ]);
  for (const one of pruning.values()) {
    one.start();
    closers.push(() => one.stop());
  }
  return pruning;
}
