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
    'Number of the current leadership: grows with each change of the leader',
    [],
    () => replication.status.position.epoch,
  );
  metrics.total(
    'quietzone_cluster_failovers_total',
    'Changes of the leader since this process started',
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
    'Entries of the log of changes that this core has not read',
    [],
    () => replication.status.behind,
  );
  metrics.total(
    'quietzone_cluster_entries_ignored_total',
    'Log entries ignored: from a former leader, or sent twice',
    [],
    () => replication.status.ignored,
  );
  metrics.total(
    'quietzone_cluster_consumer_restarts_total',
    'Restarts of reading the log after it ended or stalled',
    [],
    () => replication.status.restarts,
  );
  metrics.gauge(
    'quietzone_cluster_append_refused_seconds',
    'How long this core has failed to append to the log of changes, 0 = it can; storage: the brokers are full',
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
    'Journal bytes that the brokers have not acknowledged',
    [],
    () => transfer.figures.backlogBytes,
  );
  metrics.gauge(
    'quietzone_cluster_scans_behind',
    'Messages of other nodes that this core has not read',
    [],
    () => transfer.figures.behind,
  );
  metrics.total(
    'quietzone_cluster_refused_frames_total',
    'Scan frames of other nodes refused because of an impossible time or code',
    [],
    () => transfer.refusedFrames,
  );
}

/** What the brokers keep. */
function registerLogs(metrics: Metrics, { pruning }: CoreExchange): void {
  metrics.gauge(
    'quietzone_cluster_log_entries',
    'Log entries on the brokers after the last pruning, reported by the leader',
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
    'Current role of this node: 1 for one role',
    ['role'],
    () => ({ [role()]: 1 }),
  );
  metrics.gauge(
    'quietzone_cluster_links_behind',
    'Link changes that another core reports and this link table does not have',
    [],
    linksBehind,
  );
  metrics.total(
    'quietzone_cluster_stale_redirects_total',
    'Redirects answered while this node could not learn of changed links, within half a second at each end',
    [],
    () => upkeep.staleRedirects,
  );
}
