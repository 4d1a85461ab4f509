/** The health checks of the running service: of the threads, the stores, the link table and webhooks. */
import type { Management } from '../store/management/management.ts';
import type { HealthCheck } from '../telemetry/health.ts';
import type { GeoOpening } from './geo-data.ts';
import type { StoredData } from './watch/stored-data.ts';
import type { EngineThreads } from './threads.ts';

export function engineChecks(options: {
  readonly threads: EngineThreads;
  readonly management: Management;
  readonly geo: GeoOpening;
  readonly links: { readonly pendingCount: number; readonly damagedCount: number };
  readonly webhooks: { readonly problem: string | undefined; readonly behind: string | undefined };
  readonly stored: StoredData;
  /** Absent = as the threads have it. */
  readonly isStopping?: () => boolean;
}): HealthCheck[] {
  const { threads, management, geo, links, webhooks, stored } = options;
  const { isStopping = () => threads.isStopping } = options;
  const full = 'the store cannot be written: no changes are taken, redirects go on';
  const damaged = 'short links are refused: nothing sound says where they lead, restore a backup';
  const excess = 'changed links do not fit into the link table, delete codes';
  const lost = 'this start found a journal without its newest segment: the log says what is lost';
  return [
    {
      name: 'running',
      problem: () => (isStopping() ? 'the service is stopping' : undefined),
    },
    threads.folder.healthCheck,
    ...threads.redirects.checks,
    ...threads.shards.checks,
    geo.check,
    { name: 'management', problem: () => (management.environment.isFull ? full : undefined) },
    {
      name: 'links',
      problem: () => (links.pendingCount ? `${links.pendingCount} ${excess}` : undefined),
    },
    {
      name: 'damaged links',
      problem: () => (links.damagedCount ? `${links.damagedCount} ${damaged}` : undefined),
      isWarning: true,
    },
    {
      name: 'journals',
      problem: () => (threads.journals.missingBytes.size > 0 ? lost : undefined),
      isWarning: true,
    },
    { name: 'webhooks', problem: () => webhooks.problem },
    { name: 'late webhooks', problem: () => webhooks.behind, isWarning: true },
    stored.check,
  ];
}
