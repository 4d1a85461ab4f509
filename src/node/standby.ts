/** What a core that does not lead has open beside redirects and counting: health, metrics, and the way to the leader. */
import { ForwardingHandler } from '../cluster/forward/forwarding.ts';
import type { MachineProof } from '../cluster/machine-proof.ts';
import type { Closers } from '../engine/closers.ts';
import { createMetrics, registerEngineMetrics } from '../engine/engine-metrics.ts';
import { engineChecks, meteredHealth } from '../engine/operator-metrics.ts';
import { StoredData } from '../engine/watch/stored-data.ts';
import { type Base, type ClusterEndpoints, openPorts } from '../modules.ts';
import type { HealthCheck } from '../telemetry/health.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { AddressQuota } from '../workspaces/memory-quota.ts';
import type { Engine } from '../services.ts';

export interface StandbyOptions {
  readonly base: Base;
  readonly engine: Engine;
  /** Undefined while none is known, or it is this machine. */
  readonly leader: () => { readonly url: string } | undefined;
  readonly proof: MachineProof;
  /** Answers before the leader is asked. */
  readonly first: ClusterEndpoints;
  readonly checks: readonly HealthCheck[];
  /** The process stops, and not only the role that it had before. */
  readonly isStopping: () => boolean;
  readonly registerMetrics: (metrics: Metrics) => void;
}

/** Deliveries are the leader's. */
const noWebhooks = { problem: undefined, behind: undefined, threadDeaths: 0 };

/** @throws ListenError */
export async function openStandby(
  { base, engine, leader, proof, first, checks, isStopping, registerMetrics }: StandbyOptions,
  closers: Closers,
): Promise<void> {
  const { config, log, management, clock } = base;
  const { scans, threads, codes } = engine;
  const metrics = createMetrics(log);
  registerEngineMetrics(metrics, { ...base, ...engine, webhooks: noWebhooks });
  registerMetrics(metrics);
  const environments = [management.environment, scans.environment];
  const stored = new StoredData({ environments, shards: threads.shards, log });
  stored.start(metrics);
  closers.push(() => stored.close());
  const own = engineChecks({
    ...engine,
    management,
    webhooks: noWebhooks,
    links: codes.links,
    stored,
    isStopping,
  });
  const handler = new ForwardingHandler({
    leader,
    proof,
    health: meteredHealth(metrics, base, [...own, ...checks]),
    docsUrl: `${config.api.publicUrl}/docs`,
    log,
  });
  closers.push(() => handler.close());
  const ipQuota = new AddressQuota(clock);
  const { redirects } = threads;
  await openPorts(base, { handler, first, metrics, redirects, ipQuota }, closers);
  // They have no end, and the port would wait for them.
  closers.push(() => handler.endStreams());
}
