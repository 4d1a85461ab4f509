/** The metrics of a core as a part of its cluster. */
import type { StoreReplication } from '../log/store-replication.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { CoreExchange } from './core-exchange.ts';
import type { FollowingCore } from './core-following.ts';
import type { Upkeep } from './upkeep.ts';

export function registerClusterMetrics(metrics: Metrics, core: FollowingCore): void {
  const { replication, beats, upkeep, exchange } = core;
  registerNode(metrics, {
    role: () => (replication.isLeading ? 'active' : 'standby'),
    linksBehind: () => beats.linksBehind ?? 0,
    upkeep,
  });
  metrics.gauge(
    'quietzone_cluster_epoch',
    'Leaders that the cluster has had',
    [],
    () => replication.status.position.epoch,
  );
  metrics.total(
    'quietzone_cluster_failovers_total',
    'Cores that began to lead since this process started',
    [],
    () => replication.failovers,
  );
  registerReading(metrics, replication);
  registerExchange(metrics, exchange);
  registerLogs(metrics, exchange);
}

/** Of the log of changes. */
function registerReading(metrics: Metrics, replication: StoreReplication): void {
  metrics.gauge(
    'quietzone_cluster_log_lag',
    'Entries of the log of changes that the brokers have and this core has not read',
    [],
    () => replication.status.behind,
  );
  metrics.total(
    'quietzone_cluster_entries_ignored_total',
    'Entries of the log that did not count: of a former leader, or sent twice',
    [],
    () => replication.status.ignored,
  );
  metrics.total(
    'quietzone_cluster_consumer_restarts_total',
    'Readings of the log that ended or stalled, and began again',
    [],
    () => replication.status.restarts,
  );
  metrics.gauge(
    'quietzone_cluster_append_refused_seconds',
    'For how long this core could append nothing to the log of changes, 0 while it can: `storage` = the brokers are out of storage',
    ['reason'],
    () =>
      ['storage', 'other'].map((reason) => ({
        labels: { reason },
        value:
          replication.isStorageFull === (reason === 'storage') ? replication.refusedMs / 1_000 : 0,
      })),
  );
}

/** What goes between this core and other nodes. */
function registerExchange(metrics: Metrics, { transfer }: CoreExchange): void {
  metrics.gauge(
    'quietzone_cluster_uplink_backlog_bytes',
    'Journaled here, and not acknowledged by the brokers',
    [],
    () => transfer.figures.backlogBytes,
  );
  metrics.gauge(
    'quietzone_cluster_scans_behind',
    'Messages of other nodes that the brokers have and this core has not read',
    [],
    () => transfer.figures.behind,
  );
  metrics.total(
    'quietzone_cluster_refused_frames_total',
    'Frames of scans of other nodes with an impossible time or code, which do not count',
    [],
    () => transfer.refusedFrames,
  );
}

/** What the brokers keep. */
function registerLogs(metrics: Metrics, { pruning }: CoreExchange): void {
  metrics.gauge(
    'quietzone_cluster_log_entries',
    'Entries of a log on the brokers, after the last round of pruning; of the core that leads',
    ['log'],
    () =>
      [...pruning].flatMap(([log, { entries }]) =>
        entries === undefined ? [] : [{ labels: { log }, value: entries }],
      ),
  );
}

export interface NodeFigures {
  readonly role: () => 'active' | 'standby' | 'edge';
  readonly linksBehind: () => number;
  readonly upkeep: Pick<Upkeep, 'staleRedirects'>;
}

/** Of every node. */
export function registerNode(metrics: Metrics, { role, linksBehind, upkeep }: NodeFigures): void {
  metrics.gauge(
    'quietzone_cluster_role',
    'What this node is now, 1 for one of the roles',
    ['role'],
    () => ({ [role()]: 1 }),
  );
  metrics.gauge(
    'quietzone_cluster_links_behind',
    'Changes of links that another core reports and that are not in the link table',
    [],
    linksBehind,
  );
  metrics.total(
    'quietzone_cluster_stale_redirects_total',
    'Redirects that were answered while no core could say whether links had changed, within half a second of each end',
    [],
    () => upkeep.staleRedirects,
  );
}
