/** Health checks and metrics for an operator's alerts, on each node. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../platform/config/config.ts';
import { certificateEndMs } from '../../platform/uws/port.ts';
import type { Clock } from '../../model/clock.ts';
import { shipped } from '../../platform/shipped.ts';
import { freeBytes } from '../../store/space-guard.ts';
import { checkHealth, type HealthCheck, type HealthReport } from '../../platform/health.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { Ticker } from '../../platform/ticker.ts';
import { type DataFolder, lastBackupName } from '../folder/data-folder.ts';
import type { Base } from '../modules.ts';
import type { Engine } from '../open-engine.ts';
import type { StoredData } from './stored-data.ts';

interface Node {
  readonly config: Config;
  readonly clock: Clock;
  readonly folder: DataFolder;
}

/** @returns a function that makes the answer of `/health/ready` */
export function meteredHealth(
  metrics: Metrics,
  { config, clock, folder }: Node,
  checks: readonly HealthCheck[],
): () => HealthReport {
  const health = (): HealthReport => checkHealth(checks);
  metrics.gauge('quietzone_ready', '1 = this check of /health/ready passes', ['check'], () =>
    Object.fromEntries(health().checks.map(({ name, ok }) => [name, Number(ok)])),
  );
  const { version, commit } = shipped;
  metrics.gauge(
    'quietzone_build_info',
    'Version and commit of the program, always 1',
    ['version', 'commit'],
    () => [{ labels: { version, commit }, value: 1 }],
  );
  // No value while the folder is away: `quietzone_ready` shows that.
  metrics.gauge('quietzone_data_free_bytes', 'Free disk of the data folder', [], () =>
    existsSync(folder.path) ? freeBytes(folder.path) : [],
  );
  metrics.gauge('quietzone_backup_age_seconds', 'Age of the last backup, +Inf = none', [], () => {
    const made = statSync(join(folder.path, lastBackupName), { throwIfNoEntry: false });
    return (clock.now() - (made?.mtimeMs ?? -Infinity)) / 1_000;
  });
  const certificates = Object.entries({ api: config.api, redirect: config.redirect })
    .filter(([, { tlsCertFile }]) => tlsCertFile !== '')
    .map(([listener, files]) => [listener, certificateEndMs(files)] as const);
  metrics.gauge(
    'quietzone_certificate_seconds',
    'Time until the certificate of a listener expires',
    ['listener'],
    () =>
      Object.fromEntries(
        certificates.map(([listener, endMs]) => [listener, (endMs - clock.now()) / 1_000]),
      ),
  );
  return health;
}

export function engineChecks(options: {
  readonly base: Pick<Base, 'management'>;
  readonly engine: Pick<Engine, 'threads' | 'codes'>;
  readonly webhooks: { readonly problem: string | undefined; readonly behind: string | undefined };
  readonly stored: StoredData;
  readonly isStopping?: () => boolean;
}): HealthCheck[] {
  const { base, engine, webhooks, stored } = options;
  const { management } = base;
  const { threads, codes } = engine;
  const { links } = codes;
  const { isStopping = () => threads.isStopping } = options;
  const full = 'cannot write to the store: changes are refused, redirects continue';
  const damaged = 'short links are refused: their targets are damaged, restore a backup';
  const excess = 'changed links do not fit into the link table: delete codes';
  const lost = 'a journal lost its newest segment before this start: see the log';
  return [
    { name: 'running', problem: () => (isStopping() ? 'the service is stopping' : undefined) },
    threads.folder.healthCheck,
    ...threads.redirects.checks,
    ...threads.shards.checks,
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

const shedEveryMs = 10_000;

/** Counts and logs connections closed because their listener was full. @returns ends the watch */
export function watchShedConnections(
  metrics: Metrics,
  log: Logger,
  listeners: Readonly<Record<string, { readonly shed: number }>>,
): () => Promise<void> {
  metrics.total(
    'quietzone_connections_shed_total',
    'Connections closed because their listener was full',
    ['listener'],
    () =>
      Object.fromEntries(Object.entries(listeners).map(([listener, { shed }]) => [listener, shed])),
  );
  const logged = new Map<string, number>();
  const ticker = new Ticker({
    everyMs: shedEveryMs,
    log,
    failed: 'watching connections failed',
    resumed: 'watching connections resumed',
    run: () => {
      for (const [listener, { shed }] of Object.entries(listeners)) {
        const connections = shed - (logged.get(listener) ?? 0);
        if (connections <= 0) continue;
        logged.set(listener, shed);
        log.warn({ listener, connections }, 'connections closed, listener is full');
      }
    },
  });
  ticker.start();
  return () => ticker.close();
}
