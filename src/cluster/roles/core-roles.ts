/**
 * Opens what belongs to a role of a core: the services of a leader, or the port of a standby, which passes requests on to the
 * leader. In both, the core answers other nodes and sends links to edges. LeaderLifecycle says when.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ForwardingHandler } from '../forward/forwarding.ts';
import { LinkFeed } from '../links/link-feed.ts';
import { storageFull } from '../log/ordered-log.ts';
import { firstLinksCheck } from '../nodes/first-links.ts';
import { ClusterCounting } from '../scans/cluster-counting.ts';
import { type Closers, openWithClosers } from '../../platform/closers.ts';
import { createMetrics, registerEngineMetrics } from '../../app/metrics/engine-metrics.ts';
import type { FirstSecrets, FirstStart } from '../../app/folder/first-start.ts';
import { engineChecks, meteredHealth } from '../../app/metrics/operator-metrics.ts';
import { StoredData } from '../../app/metrics/stored-data.ts';
import { openFirstStart } from '../../app/modules.ts';
import { type ClusterEndpoints, openPorts } from '../../app/ports.ts';
import { openServices, type Services, type ServicesCluster } from '../../app/services.ts';
import { systemTimers } from '../../platform/system-clock.ts';
import type { HealthCheck } from '../../platform/health.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import { addressQuota } from '../../product/workspaces/memory-quota.ts';
import { registerClusterMetrics } from './cluster-metrics.ts';
import type { CoreControl } from './core-control.ts';
import { exchangeChecks } from './core-exchange.ts';
import type { FollowingCore } from './core-following.ts';
import type { OpenRole } from './leader-lifecycle.ts';

/** A change that takes longer is answered with an unknown outcome: brokers elect a leader within 9 s. */
const answerWithinMs = 5_000;
/** A deposed leader waits so long for attempts in flight. The next leader waits for it, so slow receivers do not count. */
const attemptsMsMax = 500;
/** And so long to store their results, on a busy machine or without the log. */
const resultsMsMax = 5_000;

/** Deliveries are the leader's. */
const noWebhooks = { problem: undefined, behind: undefined, threadDeaths: 0 };

export class CoreRoles {
  readonly #core: FollowingCore;
  readonly #control: CoreControl;
  readonly #checks: readonly HealthCheck[];
  #closing: Promise<void> = Promise.resolve();
  readonly #firstStart: FirstStart;
  #services: Pick<Services, 'endDeliveries'> | undefined;
  firstSecrets: FirstSecrets | undefined;

  /** @param workspaces for the first start */
  constructor(core: FollowingCore, control: CoreControl, workspaces: WorkspaceServices) {
    this.#core = core;
    this.#control = control;
    this.#firstStart = openFirstStart(core.base, workspaces);
    this.#checks = checksOf(core);
  }

  secretsShown(): void {
    this.#firstStart.shown();
  }

  async lead(): Promise<OpenRole> {
    const { base, engine, delivery, copies } = this.#core;
    // The services that last led may still be closing.
    await this.#closing;
    await delivery.lead();
    await engine.refresher.refresh();
    this.firstSecrets = await this.#firstStart.open();
    return await openWithClosers(async (closers) => {
      const feed = openFeed(this.#core);
      closers.push(() => feed.close());
      const cluster = this.#answers(feed);
      const services = await openServices({ base, engine, cluster });
      this.#services = services;
      closers.push(() => {
        const closed = services.close();
        this.#closing = closed.catch(() => undefined);
        return closed;
      });
      closers.push(() => {
        // Edges ask again and again, copies are long, and the port would wait for them.
        feed.close();
        copies.cut();
      });
      return {};
    });
  }

  /** @param isStopping the process stops, and not only the role that it had before */
  async standBy(isStopping: () => boolean): Promise<OpenRole> {
    const { base, engine, delivery } = this.#core;
    await this.#giveDeliveriesAway();
    return await openWithClosers(async (closers) => {
      const feed = openFeed(this.#core);
      closers.push(() => feed.close());
      const { handler, metrics } = this.#openForwarding(isStopping, closers);
      const { redirects } = engine.threads;
      const first = clusterEndpoints(this.#control, feed);
      const ipQuota = addressQuota(base.clock);
      await openPorts(base, { handler, first, metrics, redirects, ipQuota }, closers);
      closers.push(delivery.followSettled(engine));
      closers.push(() => {
        // Streams never end, edges ask again and again, and the port would wait for them.
        handler.endStreams();
        feed.close();
      });
      return {};
    });
  }

  /**
   * Before the services close, as the next leader waits for this. It would send again what has no stored result: results are
   * stored first, while this core still leads that log.
   */
  async #giveDeliveriesAway(): Promise<void> {
    const { delivery } = this.#core;
    const services = this.#services;
    this.#services = undefined;
    if (services !== undefined && delivery.replication.isHeld) {
      const ended = services.endDeliveries(attemptsMsMax).catch(() => undefined);
      await Promise.race([ended, pause(resultsMsMax, undefined, { ref: false })]);
    }
    delivery.release();
  }

  /** The health and metrics of a standby, and the way to the leader. */
  #openForwarding(
    isStopping: () => boolean,
    closers: Closers,
  ): { readonly handler: ForwardingHandler; readonly metrics: Metrics } {
    const { base, context, engine, replication, proof } = this.#core;
    const { config, log, management } = base;
    const { threads, scans } = engine;
    const metrics = createMetrics(log);
    registerEngineMetrics(metrics, { base, engine, webhooks: noWebhooks });
    registerClusterMetrics(metrics, this.#core);
    const environments = [management.environment, scans.environment];
    const stored = new StoredData({ environments, shards: threads.shards, log }, metrics);
    closers.push(() => stored.close());
    const checks = engineChecks({ base, engine, webhooks: noWebhooks, stored, isStopping });
    const handler = new ForwardingHandler({
      leader: () => {
        const { leader } = replication.status;
        return leader?.owner === context.self.owner ? undefined : leader;
      },
      proof,
      health: meteredHealth(metrics, base, [...checks, ...this.#checks]),
      docsUrl: `${config.api.publicUrl}/docs`,
      log,
    });
    closers.push(() => handler.close());
    return { handler, metrics };
  }

  /** How its API answers while it leads. */
  #answers(feed: LinkFeed): ServicesCluster {
    const core = this.#core;
    const { identity, nodes, beats, replication, delivery, proof } = core;
    return {
      webhooks: delivery.webhooks(identity.node),
      counting: (local) =>
        new ClusterCounting({
          local,
          name: identity.name,
          nodes: () => nodes.nodes(),
          last: (name) => beats.last(name),
        }),
      api: {
        ...this.#control.cluster,
        scanStore: identity.node,
        changesFollowed: () => changesFollowed(core),
        isStale: () => !replication.isHeld,
        changesRefused: () => (replication.isStorageFull ? storageFull : undefined),
        answerWithinMs,
      },
      forwarded: proof,
      first: clusterEndpoints(this.#control, feed),
      checks: this.#checks,
      registerMetrics: (metrics) => registerClusterMetrics(metrics, core),
    };
  }
}

/** Answers to other nodes. */
const clusterEndpoints = ({ endpoints }: CoreControl, feed: LinkFeed): ClusterEndpoints => ({
  reply: (request) => endpoints.reply(request) ?? feed.reply(request),
});

/** Sends links to edges. A role has its own: what waits for a change is answered when it ends. */
function openFeed({ context, base, engine, keys, nodes, replication }: FollowingCore): LinkFeed {
  const { codes, queries } = engine;
  return new LinkFeed({
    store: base.management,
    clock: base.clock,
    docsUrl: `${context.config.api.publicUrl}/docs`,
    cluster: () => nodes.clusterId ?? '',
    isLeading: () => replication.isHeld,
    isCurrent: () => replication.isCurrent,
    // Not of an edge that has registered again since, or left.
    isEdge: (token) => {
      const edge = keys.readToken(token);
      const node = edge && nodes.find(edge.name);
      return node?.role === 'edge' && node.run === edge?.run;
    },
    limitedTotals: () =>
      Array.from(codes.links.limitedCodes, (no) => [no, queries.analytics.lifetimeScans(no)]),
  });
}

/** Resolves when all connected nodes redirect by the changes so far, or after 2 s: to how many do not. */
async function changesFollowed({ base, engine, beats }: FollowingCore): Promise<number> {
  await engine.refresher.refresh();
  return await beats.linksFollowed(base.management.last('link'));
}

function checksOf({
  context,
  beats,
  replication,
  problem,
  exchange,
}: FollowingCore): HealthCheck[] {
  const { connection } = context;
  const away = (): string | undefined => {
    const names = replication.isLeading ? beats.away() : [];
    if (names.length === 0) return undefined;
    return `away, and not stopped cleanly: ${names.join(', ')}; if they run, they may redirect by old links`;
  };
  return [
    firstLinksCheck(systemTimers, beats),
    { name: 'cluster', isWarning: true, problem },
    { name: 'nodes', isWarning: true, problem: away },
    { name: 'brokers', isWarning: true, problem: () => connection.problem },
    ...exchangeChecks(exchange),
  ];
}
