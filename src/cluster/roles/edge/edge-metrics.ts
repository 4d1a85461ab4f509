/** The health checks of an edge, and its metrics, under the names that every node uses. */
import type { LinkReplica } from '../../links/link-replica.ts';
import type { LinkLoader } from '../../../product/codes/links/link-loader.ts';
import { registerLinkTable, registerRedirects } from '../../../app/metrics/engine-metrics.ts';
import type { LinkWriter } from '../../../engine/links/writer.ts';
import type { Management } from '../../../store/management/management.ts';
import type { HealthCheck } from '../../../platform/health.ts';
import type { Metrics } from '../../../platform/metrics.ts';
import type { EdgeThreads } from '../../../engine/threads.ts';
import { registerNode } from '../cluster-metrics.ts';
import type { Upkeep } from '../upkeep.ts';

export interface EdgeParts {
  readonly threads: EdgeThreads;
  readonly replica: LinkReplica;
  readonly writer: LinkWriter;
  readonly links: Pick<LinkLoader, 'pendingCount' | 'damagedCount'>;
  readonly management: Management;
  readonly upkeep: Pick<Upkeep, 'staleRedirects'>;
}

export function edgeChecks({ threads, replica, links, management }: EdgeParts): HealthCheck[] {
  const waiting = 'no links yet: no core has sent them';
  const excess = 'changed links do not fit into the link table, delete codes';
  const full = 'the store cannot be written: links stay as they were, redirects continue';
  const old = 'links may be old';
  return [
    threads.folder.healthCheck,
    { name: 'links', problem: () => (replica.hasLinks ? undefined : waiting) },
    ...threads.redirects.checks,
    {
      name: 'pending links',
      problem: () => (links.pendingCount ? `${links.pendingCount} ${excess}` : undefined),
    },
    {
      name: 'cluster',
      problem: () =>
        replica.isFresh ? undefined : `${old}: ${replica.fault ?? 'no core has answered'}`,
      isWarning: true,
    },
    {
      name: 'management',
      problem: () => (management.environment.isFull ? full : undefined),
      isWarning: true,
    },
  ];
}

export function registerEdgeMetrics(metrics: Metrics, parts: EdgeParts): void {
  const { threads, replica, writer, links, upkeep } = parts;
  registerRedirects(metrics, threads.redirects);
  registerNode(metrics, { role: () => 'edge', linksBehind: () => replica.behind, upkeep });
  registerLinkTable(metrics, writer, () => links.damagedCount);
  metrics.gauge(
    'quietzone_cluster_contact_seconds',
    'Time since the last contact with a core that follows the cluster, -1 = never',
    [],
    () => replica.contactSeconds ?? -1,
  );
}
