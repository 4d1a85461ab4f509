/** The metrics of a core as a part of its cluster. */
import type { ScanTransferFigures } from '../cluster/scans/scan-transfer-thread.ts';
import type { StoreReplication } from '../cluster/store-replication.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export interface ClusterFigures {
  readonly replication: StoreReplication;
  readonly transfer: () => ScanTransferFigures | undefined;
}

export function registerClusterMetrics(metrics: Metrics, figures: ClusterFigures): void {
  const { replication, transfer } = figures;
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
    () => transfer()?.backlogBytes ?? 0,
  );
  metrics.gauge(
    'quietzone_cluster_scans_behind',
    'Messages of other nodes that the brokers have and this core has not read',
    [],
    () => transfer()?.behind ?? 0,
  );
}
