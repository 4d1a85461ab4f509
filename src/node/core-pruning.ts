/** What removes entries that all cores have from the three logs of a cluster, while this core leads. */
import { LogPruning, type LogPruningOptions } from '../cluster/log/log-pruning.ts';
import type { LogName } from '../cluster/nats/log-streams.ts';
import { NatsLog } from '../cluster/nats/nats-log.ts';
import type { Marks } from '../cluster/scans/marks.ts';
import { scanStream, scanSubject } from '../cluster/scans/scan-channels.ts';
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
 * A leader beats twice a second, and a beat moves no position on: without any change its beats could never be removed. After so
 * many, 83 minutes, something is written.
 */
const beatsMax = 10_000;

/** For cores that lack entries which were removed. */
export const leftBehindRemedy =
  'stop each, run `quietzone cluster join` there, or take it out with `quietzone cluster leave`';

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
  const { context, replication, deliveries, marks } = options;
  const { connection, config } = context;
  const { nodeName } = config.cluster;
  const scans = new NatsLog({ connection, stream: scanStream, subject: scanSubject(nodeName) });
  const pruning = new Map<PrunedLog, LogPruning>([
    ['core', new LogPruning(ofChanges(options, 'core', replication))],
    ['delivery', new LogPruning(ofChanges(options, 'delivery', deliveries))],
    [
      'scans',
      new LogPruning({
        ...ofAny(options, 'scans'),
        log: scans,
        everyMs: scansMs,
        isLeader: () => replication.isHeld,
        stored: () => marks.saved(),
      }),
    ],
  ]);
  for (const one of pruning.values()) one.start();
  const close = async (): Promise<void> => {
    for (const one of pruning.values()) one.stop();
    await scans.close();
  };
  return { pruning, close };
}

function ofAny(
  { base }: CorePruningOptions,
  name: PrunedLog,
): Pick<LogPruningOptions, 'clock' | 'timers' | 'onLeftBehind'> {
  return {
    clock: base.clock,
    timers: systemTimers,
    onLeftBehind: (cores, to) => {
      const entry = { log: name, cores, to, remedy: leftBehindRemedy };
      base.log.error(entry, 'entries that these cores never had are removed from a log');
    },
  };
}

function ofChanges(
  options: CorePruningOptions,
  name: LogName,
  replication: StoreReplication,
): LogPruningOptions {
  const { context, base, marks } = options;
  const of = name === 'core' ? 0 : 1;
  return {
    ...ofAny(options, name),
    log: replication.messages,
    everyMs: changesMs,
    isLeader: () => replication.isHeld,
    stored: () => {
      const applied = marks.applied(systemTimers.monotonicMs());
      return new Map([...applied].map(([core, seqs]) => [core, seqs?.[of]]));
    },
    replayedBy: context.config.cluster.nodeName,
    onRound: (last) => {
      if (last - replication.storedSeq <= beatsMax) return;
      // Where it fails, another core leads, and does it.
      replication.moveOn(base.clock.now()).catch(() => undefined);
    },
  };
}
