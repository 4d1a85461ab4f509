/** What an edge tells of itself: its metrics, under the names that every node uses, and its health. */
import type { LinkReplica } from '../cluster/links/link-replica.ts';
import type { LinkLoader } from '../codes/links/link-loader.ts';
import { redirectTotals, refusalKinds } from '../engine/redirect-threads.ts';
import type { LinkWriter } from '../links/writer.ts';
import type { Clock } from '../model/clock.ts';
import type { Management } from '../store/management/management.ts';
import type { HealthCheck } from '../telemetry/health.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { EdgeThreads } from '../engine/edge-threads.ts';

export interface EdgeParts {
  readonly threads: EdgeThreads;
  readonly replica: LinkReplica;
  readonly writer: LinkWriter;
  /** Undefined until the link table is filled. */
  readonly links: () => LinkLoader | undefined;
  readonly store: Management;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

export function edgeChecks({ threads, replica, links, store }: EdgeParts): HealthCheck[] {
  const waiting = 'no links yet: no core has sent them';
  const excess = 'changed links do not fit into the link table, delete codes';
  const full = 'the store cannot be written: links are as they were, redirects go on';
  const old = 'links may be old';
  return [
    threads.folder.healthCheck,
    { name: 'links', problem: () => (replica.hasLinks ? undefined : waiting) },
    ...threads.redirects.checks,
    {
      name: 'pending links',
      problem: () => (links()?.pendingCount ? `${links()?.pendingCount} ${excess}` : undefined),
    },
    {
      name: 'cluster',
      problem: () =>
        replica.isFresh ? undefined : `${old}: ${replica.fault ?? 'no core has answered'}`,
      isWarning: true,
    },
    {
      name: 'management',
      problem: () => (store.environment.isFull ? full : undefined),
      isWarning: true,
    },
  ];
}

export function registerEdgeMetrics(metrics: Metrics, parts: EdgeParts): void {
  registerRedirects(metrics, parts);
  const { replica, writer, links, clock } = parts;
  metrics.gauge('quietzone_links', 'Short codes in the link table', ['state'], () => {
    const damaged = links()?.damagedCount ?? 0;
    return [
      { labels: { state: 'live' }, value: writer.count },
      { labels: { state: 'gone' }, value: writer.tombstones - damaged },
      { labels: { state: 'damaged' }, value: damaged },
    ];
  });
  metrics.gauge('quietzone_link_bytes', 'Shared memory of the link table', ['use'], () => [
    { labels: { use: 'committed' }, value: writer.bytesUsed },
    { labels: { use: 'free' }, value: writer.bytesFree },
    { labels: { use: 'waiting' }, value: writer.bytesWaiting },
    { labels: { use: 'lost' }, value: writer.bytesLost },
  ]);
  metrics.gauge('quietzone_cluster_role', 'Role of this node', ['role'], () => [
    { labels: { role: 'edge' }, value: 1 },
  ]);
  metrics.gauge(
    'quietzone_cluster_links_behind',
    'Changes of links that a core has told of and that are not in the link table',
    [],
    () => [{ labels: {}, value: replica.behind }],
  );
  metrics.gauge(
    'quietzone_cluster_contact_seconds',
    'Since a leading core was last in contact with this edge; -1 = never',
    [],
    () => {
      const { lastContactMs } = replica;
      const value =
        lastContactMs === undefined ? -1 : (clock.monotonicMs() - lastContactMs) / 1_000;
      return [{ labels: {}, value }];
    },
  );
}

function registerRedirects(metrics: Metrics, { threads: { redirects } }: EdgeParts): void {
  const { states } = redirects;
  metrics.total('quietzone_redirects_total', 'Redirects answered and recorded', ['thread'], () =>
    states.map((state, thread) => ({
      labels: { thread },
      value: redirectTotals(state).redirects,
    })),
  );
  metrics.total(
    'quietzone_redirect_refusals_total',
    'Requests on the short-link port that got no redirect, by kind',
    ['kind'],
    () =>
      refusalKinds.map((kind) => ({
        labels: { kind },
        value: states.reduce((sum, state) => sum + redirectTotals(state).refused[kind], 0),
      })),
  );
  metrics.total(
    'quietzone_scans_unreplicated_total',
    'Scans answered before brokers had acknowledged them, although durability is replicated',
    [],
    () => [
      {
        labels: {},
        value: states.reduce((sum, state) => sum + redirectTotals(state).unreplicated, 0),
      },
    ],
  );
  metrics.gauge(
    'quietzone_redirect_connections',
    'Open connections on the short-link port',
    ['thread'],
    () =>
      states.map(({ figures }, thread) => ({
        labels: { thread },
        value: figures?.connections ?? 0,
      })),
  );
  metrics.gauge(
    'quietzone_scans_waiting',
    'Scans answered that wait in memory for a journal that cannot be written',
    ['thread'],
    () =>
      states.map(({ figures }, thread) => ({
        labels: { thread },
        value: figures?.waitingScans ?? 0,
      })),
  );
}
