/** Settings of all nodes of a run, drawn from its seed. */
import type { Random } from '../../crash/random.ts';

/** Short, so that a run ends; as many as the real ones. */
const retryDelaysMs = '50,100,200,400,800,1600,3200';

export const settingsOf = (random: Random): Readonly<Record<string, string>> => ({
  QZ_CLUSTER_SECRET: `secret-of-the-crash-run-${random.between(1_000_000, 10_000_000)}-0123456789`,
  QZ_BOOTSTRAP_PLAN: 'enterprise',
  QZ_TRUSTED_PROXIES: '127.0.0.0/8',
  QZ_REDIRECT_THREADS: String(random.between(1, 3)),
  QZ_SCANS_SHARDS: String(random.between(1, 3)),
  QZ_SCANS_SEGMENT_MS_MAX: String(random.pick([10, 500, 60_000])),
  QZ_IMAGES_THREADS: '1',
  QZ_WEBHOOKS_THREADS: '1',
  QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
  QZ_WEBHOOKS_RETRY_DELAYS_MS: retryDelaysMs,
});
