/** The metrics of a core as a part of its cluster. */
import type { StoreReplication } from '../cluster/store-replication.ts';
import { type RedirectThreads, redirectTotals } from '../engine/redirect-threads.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { CoreExchange } from './core-exchange.ts';

export interface ClusterFigures {
  readonly replication: StoreReplication;
  readonly exchange: Pick<CoreExchange, 'figures' | 'pruning'>;
  /** Undefined until they have started. */
  readonly redirects: () => RedirectThreads | undefined;
}

export function registerClusterMetrics(metrics: Metrics, figures: ClusterFigures): void {
  const { replication, exchange, redirects } = figures;
  registerRefused(metrics, redirects);
  metrics.gauge(
    'quietzone_cluster_role',
    'What this node is now, 1 for one of the roles',
    ['role'],
    () => [
      { labels: { role: replication.status.state === 'leader' ? 'active' : 'standby' }, value: 1 },
    ],
  );
  metrics.gauge(
    'quietzone_cluster_epoch',
    'Leaders that the cluster has had',
    [],
    () => replication.status.position.epoch,
  );
  metrics.total(
    'quietzone_cluster_entries_ignored_total',
    'Entries of the log that did not count: of a former leader, or sent twice',
    [],
    () => replication.status.ignored,
  );
  metrics.total(
    'quietzone_cluster_consumer_restarts_total',
    'Readings of the log that ended or stood still, and were begun again',
    [],
    () => replication.status.restarts,
  );
  metrics.gauge(
    'quietzone_cluster_uplink_backlog_bytes',
    'Journaled here, and not acknowledged by the brokers',
    [],
    () => exchange.figures?.backlogBytes ?? 0,
  );
  metrics.gauge(
    'quietzone_cluster_scans_behind',
    'Messages of other nodes that the brokers have and this core has not read',
    [],
    () => exchange.figures?.behind ?? 0,
  );
  metrics.gauge(
    'quietzone_cluster_standby_silent_seconds',
    'With cluster.ack standby, for how long no standby has had all changes: they wait for one; 0 where this core does not lead',
    [],
    () => replication.standbySilentMs / 1_000,
  );
  metrics.gauge(
    'quietzone_cluster_log_entries',
    'Entries of a log on the brokers, after the last round of pruning; of the core that leads',
    ['log'],
    () =>
      [...exchange.pruning].flatMap(([log, { entries }]) =>
        entries === undefined ? [] : [{ labels: { log }, value: entries }],
      ),
  );
  metrics.gauge(
    'quietzone_cluster_cores_left_behind',
    'Cores that were away for so long that entries they lack were removed from a log; of the core that leads',
    ['log'],
    () =>
      [...exchange.pruning].flatMap(([log, { entries, leftBehind }]) =>
        entries === undefined ? [] : [{ labels: { log }, value: leftBehind.length }],
      ),
  );
}

/** Of every node. */
export function registerRefused(metrics: Metrics, redirects: ClusterFigures['redirects']): void {
  metrics.total(
    'quietzone_cluster_refused_redirects_total',
    'Scans answered with 503 because links here may be old (cluster.staleLinks: refuse)',
    [],
    () => {
      const states = redirects()?.states ?? [];
      return states.reduce((sum, state) => sum + redirectTotals(state).refused.stale, 0);
    },
  );
}
