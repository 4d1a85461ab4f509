/**
 * What makes a core out of a service: its data follows the log, its scans go to the other cores and theirs come here, and
 * the nodes know of each other.
 *
 *   registry      which node writes which journal (management.mdb, so by the log)
 *   beats         who is up, and how far its link table has followed
 *   exchange      journals and marks, with the other cores (core-exchange.ts)
 *   replication   management.mdb, and delivery.mdb (core-delivery.ts)
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterAccess } from '../api/cluster/cluster.ts';
import type { NodeControl } from '../cluster/control/node-control.ts';
import { CopySender } from '../cluster/copy/copy-sender.ts';
import { MachineProof } from '../cluster/machine-proof.ts';
import { LinkFeed } from '../cluster/links/link-feed.ts';
import type { Beats } from '../cluster/nodes/beats.ts';
import { storageFull } from '../cluster/log/ordered-log.ts';
import { ClusterKeys } from '../cluster/nodes/cluster-keys.ts';
import { FirstLinks } from '../cluster/nodes/first-links.ts';
import { answerJoins } from '../cluster/nodes/join.ts';
import type { Admission } from '../cluster/nodes/join-message.ts';
import { type NodeIdentity, writeNodeFile } from '../cluster/nodes/node-file.ts';
import { Registry } from '../cluster/nodes/registry.ts';
import { checkSecret } from '../cluster/nodes/secrets.ts';
import { ClusterCounting, journaledOf } from '../cluster/scans/cluster-counting.ts';
import { ReadPositions } from '../cluster/scans/read-position.ts';
import { StoreReplication } from '../cluster/store-replication.ts';
import type { LinkRefresher } from '../codes/links/link-refresher.ts';
import { closeAll, type Closers } from '../engine/closers.ts';
import { threadCounts } from '../engine/machine/machine-plan.ts';
import type { EngineThreadsOptions } from '../engine/threads.ts';
import { messageOf } from '../model/failure.ts';
import type { Base, FirstAnswers } from '../modules.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import { systemTimers } from '../system-clock.ts';
import type { HealthCheck } from '../telemetry/health.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ClusterAnswers, Engine } from '../services.ts';
import { joinAgain, listenMs } from './claim-start.ts';
import { createBeats, type NodeContext } from './context.ts';
import { CoreDelivery } from './core-delivery.ts';
import { CoreExchange } from './core-exchange.ts';
import { CoreScans } from './scans/core-scans.ts';
import { registerClusterMetrics } from './cluster-metrics.ts';
import { type CoreControl, openControl } from './core-control.ts';
import type { FatalStop } from './fatal-stop.ts';
import { followSigningKeys } from './signing-rotation.ts';
import { StaleRedirects } from './stale-redirects.ts';

/** A change that takes longer is answered with an unknown outcome: brokers elect a leader within 9 s. */
const answerWithinMs = 5_000;

export interface CoreNodeOptions {
  readonly context: NodeContext;
  readonly base: Base;
  readonly identity: NodeIdentity;
  /** This process leads now, or no longer. */
  readonly onRole: () => void;
  readonly stop: FatalStop;
}

export class CoreNode {
  readonly #options: CoreNodeOptions;
  readonly #keys: ClusterKeys;
  readonly #closers: Closers = [];
  readonly nodes: Registry;
  readonly replication: StoreReplication;
  readonly delivery: CoreDelivery;
  readonly copies: CopySender;
  readonly proof: MachineProof;
  /** Answers the other machines, leading or not. */
  readonly control: NodeControl;
  readonly commands: CoreControl['commands'];
  readonly #cluster: ClusterAccess;

  readonly #exchange: CoreExchange;
  readonly #beats: Beats;
  readonly #firstLinks: FirstLinks;
  #stale: StaleRedirects | undefined;
  #refresher: LinkRefresher | undefined;
  #scans: CoreScans | undefined;

  /**
   * Follows nothing before `follow`. From here on management.mdb is written by way of the log alone.
   * @throws NodeError where `cluster.secret` is another one than that of the cluster
   */
  constructor(options: CoreNodeOptions) {
    this.#options = options;
    const { context, base, onRole } = options;
    const { management: store, ids, clock } = base;
    const { secret, replicas } = context.config.cluster;
    this.#keys = new ClusterKeys(secret);
    checkSecret({ store, keys: this.#keys });
    const shared = { store, folder: base.folder.path, keys: this.#keys, log: base.log };
    this.#closers.push(followSigningKeys(shared));
    this.proof = new MachineProof(this.#keys.requests, clock);
    const registered = (): string[] =>
      this.nodes.nodes().flatMap((node) => (node.role === 'core' ? [] : [node.name]));
    const beats = createBeats(context, (detail) => options.stop.report(detail), registered);
    this.#beats = beats;
    this.#firstLinks = new FirstLinks(systemTimers, beats);
    this.#closers.push(() => beats.close());
    const instanceOf = (name: string): string | undefined => beats.instanceOf(name);
    this.nodes = new Registry({ store, ids, clock, instanceOf });
    this.#closers.push(() => this.nodes.close());
    this.replication = new StoreReplication({
      ...context,
      environment: store.environment,
      name: 'core',
      replicas,
      timers: systemTimers,
      random: base.random,
      onChanged: onRole,
    });
    this.#closers.push(() => this.replication.close());
    this.delivery = new CoreDelivery({ ...options, mayLead: () => this.isLeading });
    this.#closers.push(() => this.delivery.close());
    this.#exchange = new CoreExchange({
      ...options,
      nodes: this.nodes,
      replication: this.replication,
      deliveries: this.delivery.replication,
    });
    const { folder, log } = base;
    const cluster = (): string => this.nodes.clusterId ?? '';
    const diverged = (): string | undefined =>
      this.replication.diverged ?? this.delivery.replication.diverged;
    const copies = new CopySender({ folder, cluster, diverged, log });
    this.copies = copies;
    this.#closers.push(() => copies.close());
    const opened = openControl({
      ...options,
      copies,
      keys: this.#keys,
      nodes: this.nodes,
      replication: this.replication,
      beats: () => this.#beats,
      marks: () => this.#exchange.marks,
      problem: () => this.#problem ?? this.#exchange.refusedScans,
    });
    this.control = opened.control;
    this.commands = opened.commands;
    this.#cluster = opened.cluster;
  }

  /** What the engine has of it. @param scans the store that also says how far journals of other nodes are whole */
  engineNode({ environment }: ScanStore): EngineThreadsOptions['node'] {
    const { config } = this.#options.context;
    const own = this.#options.identity.journals;
    // More threads than before have journals from the next start on: by then the leader has given them out.
    const threads = Math.min(threadCounts(config).redirect, own.length);
    const received = new ReadPositions(environment);
    return {
      redirectThreads: config.cluster.role === 'core' ? 0 : threads,
      journals: {
        own,
        keptFrom: (journal) =>
          own.includes(journal) ? (this.#exchange.marks?.counted(journal) ?? 0) : Infinity,
        // Other nodes may have what stands behind a damaged end: its positions are not given out again.
        recovery: (journal) => ({
          torn: 'kept',
          ...(!own.includes(journal) && { atMost: received.wholeTo(journal) }),
        }),
      },
      onDrained: () => this.#beats.end(),
    };
  }

  get isLeading(): boolean {
    return this.replication.status.state === 'leader';
  }

  /** The leader, unless it is this process. */
  get leader(): { readonly url: string } | undefined {
    const { leader } = this.replication.status;
    return leader?.owner === this.#options.context.self.owner ? undefined : leader;
  }

  /** How its API answers while it leads. */
  answersWith(feed: LinkFeed): ClusterAnswers {
    return {
      webhooks: (scans) => this.delivery.webhooks(this.#scansOf(scans).places),
      places: (scans) => this.#scansOf(scans).places,
      counting: (local) =>
        new ClusterCounting({
          local,
          name: this.#options.identity.name,
          nodes: () => this.nodes.nodes(),
          last: (name) => this.#beats.last(name),
        }),
      changesFollowed: () => this.#linksFollowed(),
      isStale: () => !this.replication.isHeld,
      changesRefused: () => (this.replication.isStorageFull ? storageFull : undefined),
      answerWithinMs,
      cluster: this.#cluster,
      forwarded: this.proof,
      first: this.firstAnswers(feed),
      checks: this.checks,
      registerMetrics: (metrics) => this.registerMetrics(metrics),
    };
  }

  /** Answers to other nodes, leading or not. */
  firstAnswers(feed: LinkFeed): FirstAnswers {
    return {
      reply: (request) => this.control.reply(request) ?? feed.reply(request),
      bodyBytesMax: (path) => this.control.bodyBytesMax(path),
    };
  }

  #scansOf(scans: ScanStore): CoreScans {
    const isLeading = (): boolean => this.replication.isHeld;
    const { base, identity } = this.#options;
    return (this.#scans ??= new CoreScans({ base, node: identity.node, scans, isLeading }));
  }

  /** While another machine leads. @returns ends it */
  followSettled(engine: Engine): () => Promise<void> {
    return this.delivery.followSettled(engine, this.#scansOf(engine.scans).places);
  }

  /** Resolves when all connected nodes redirect by the changes so far, or after 2 s: to how many do not. */
  async #linksFollowed(): Promise<number> {
    const { management } = this.#options.base;
    await this.#refresher?.refresh();
    const number = management.last('link');
    return await this.#beats.linksFollowed(number);
  }

  registerMetrics(metrics: Metrics): void {
    registerClusterMetrics(metrics, {
      replication: this.replication,
      exchange: this.#exchange,
      beats: () => this.#beats,
      staleRedirects: () => this.#stale?.count ?? 0,
    });
  }

  get #problem(): string | undefined {
    const { replication, delivery } = this;
    return replication.problem ?? delivery.replication.problem;
  }

  get #away(): string | undefined {
    const away = this.isLeading ? this.#beats.away() : [];
    if (away.length === 0) return undefined;
    return `away, and not stopped cleanly: ${away.join(', ')}; where they run they redirect by links of before`;
  }

  get checks(): HealthCheck[] {
    const { connection } = this.#options.context;
    return [
      this.#firstLinks.check,
      { name: 'cluster', isWarning: true, problem: () => this.#problem },
      { name: 'nodes', isWarning: true, problem: () => this.#away },
      { name: 'brokers', isWarning: true, problem: () => connection.problem },
      ...this.#exchange.checks,
    ];
  }

  /** Everything begins: after the engine, which redirects by now. */
  async follow(engine: Engine): Promise<void> {
    this.#refresher = engine.refresher;
    this.#followLinks(engine);
    this.#closers.push(() => this.#exchange.close());
    await this.#exchange.start(engine);
    this.#scansOf(engine.scans).start(engine);
    this.replication.start();
    this.delivery.replication.start();
    this.#join();
  }

  /** Another may lead from here on. */
  async release(): Promise<void> {
    // Before the store of scans closes.
    const scansClosed = this.#scans?.close();
    if (this.isLeading) {
      this.delivery.release();
      await this.replication.releaseAtEnd();
    }
    await scansClosed;
  }

  async close(): Promise<void> {
    await closeAll(this.#closers);
  }

  /** What is applied from the log is brought into the link table, and then told. */
  #followLinks({ threads, refresher }: Engine): void {
    const { base, identity } = this.#options;
    const beats = this.#beats;
    beats.start({
      linkNumber: () => refresher.seen,
      journaled: () => journaledOf(base.clock, identity, threads.journals.tails),
    });
    const stale = new StaleRedirects({
      redirects: threads.redirects,
      isInContact: () => this.replication.isHeld || beats.coreUrls().length > 0,
      log: base.log,
    });
    this.#stale = stale;
    stale.start();
    this.#closers.push(() => stale.close());
    const follow = (): void => {
      refresher.refresh().then(
        () => beats.moved(),
        (error: unknown) => base.log.warn({ reason: messageOf(error) }, 'following links failed'),
      );
    };
    this.#closers.push(base.management.environment.committed.listen(follow));
  }

  /** Sends links to edges; belongs to a role, as its answers never end. */
  openFeed({ codes, queries }: Engine): LinkFeed {
    const { context, base } = this.#options;
    return new LinkFeed({
      store: base.management,
      clock: base.clock,
      docsUrl: `${context.config.api.publicUrl}/docs`,
      cluster: () => this.nodes.clusterId ?? '',
      isLeading: () => this.replication.isHeld,
      isCurrent: () => this.replication.isCurrent,
      edgeOf: (token) => this.#edgeOf(token),
      limitedTotals: () =>
        Array.from(codes.links.limitedCodes, (no) => [no, queries.analytics.lifetimeScans(no)]),
    });
  }

  /** Of an edge that has not registered anew since, or left. */
  #edgeOf(token: string): string | undefined {
    const edge = this.#keys.readToken(token);
    const node = edge && this.nodes.find(edge.name);
    return node?.role === 'edge' && node.run === edge?.run ? node.name : undefined;
  }

  /** Asks to be registered as it is now, and answers others while it leads. */
  #join(): void {
    const { context, base, identity, stop } = this.#options;
    const { connection, log } = context;
    // By then it knows which names are in use.
    const listened = pause(listenMs, undefined, { ref: false });
    const ends = answerJoins({
      connection,
      isLeading: () => this.replication.isHeld,
      join: (request) => listened.then(() => this.nodes.join(request)),
      tokenOf: (name, run) => this.#keys.tokenOf(name, run),
      cores: () => [context.self.url, ...this.#beats.coreUrls()],
      log,
    });
    this.#closers.push(ends);
    const joined = ({ cluster, journals, run }: Admission): void => {
      const { role } = context.config.cluster;
      writeNodeFile(base.folder.path, { ...identity, cluster, role, journals, run });
    };
    this.#closers.push(joinAgain(context, identity, stop, joined));
  }
}
