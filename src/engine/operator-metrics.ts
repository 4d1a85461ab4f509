/** What an operator alerts on: health by check, the program, free disk, the last backup, certificates. Of each node. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { certificateEndMs } from '../http/tls-files.ts';
import type { Clock } from '../model/clock.ts';
import { shipped } from '../shipped.ts';
import { freeBytes } from '../store/space-guard.ts';
import { checkHealth, type HealthCheck, type HealthReport } from '../telemetry/health.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type DataFolder, lastBackupName } from './data-folder.ts';

interface Node {
  readonly config: Config;
  readonly clock: Clock;
  readonly folder: DataFolder;
}

/** @returns what `/health/ready` answers */
export function meteredHealth(
  metrics: Metrics,
  { config, clock, folder }: Node,
  checks: readonly HealthCheck[],
): () => HealthReport {
  const health = (): HealthReport => checkHealth(checks);
  metrics.gauge('quietzone_ready', '1 = a check of /health/ready is fine', ['check'], () =>
    health().checks.map(({ name, ok }) => ({ labels: { check: name }, value: Number(ok) })),
  );
  const { version, commit } = shipped;
  metrics.gauge('quietzone_build_info', 'The program, always 1', ['version', 'commit'], () => [
    { labels: { version, commit }, value: 1 },
  ]);
  // None while the folder is away: `quietzone_ready` says that.
  metrics.gauge('quietzone_data_free_bytes', 'Free disk of the data folder', [], () =>
    existsSync(folder.path) ? freeBytes(folder.path) : [],
  );
  metrics.gauge('quietzone_backup_age_seconds', 'Age of the last backup, +Inf = none', [], () => {
    const made = statSync(join(folder.path, lastBackupName), { throwIfNoEntry: false });
    return (clock.now() - (made?.mtimeMs ?? -Infinity)) / 1_000;
  });
  const certificates = Object.entries({ api: config.api, redirect: config.redirect })
    .filter(([, { tlsCertFile }]) => tlsCertFile !== '')
    .map(([listener, files]) => ({ listener, endMs: certificateEndMs(files) }));
  const help = 'Time until the certificate of a listener expires';
  metrics.gauge('quietzone_certificate_seconds', help, ['listener'], () =>
    certificates.map(({ listener, endMs }) => ({
      labels: { listener },
      value: (endMs - clock.now()) / 1_000,
    })),
  );
  return health;
}
