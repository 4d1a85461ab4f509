/**
 * The part of a core in its cluster. Each phase takes what the last one returns:
 *
 *   openCoreNode     registry, heartbeats and logs over the stores: nothing is read or sent yet
 *   engineNode       what the engine needs of it; the engine opens
 *   openFollowing    its work on its own scans and link table; then a role may open (core-roles.ts)
 *   follow           scans go to the other cores, theirs come, the logs are followed, the node beats and registers
 *   release          at an end: another core may lead
 */
import { setTimeout as pause } from 'node:timers/promises';
import { CopySender } from '../cluster/copy/copy-sender.ts';
import { MachineProof } from '../cluster/machine-proof.ts';
import type { Beats } from '../cluster/nodes/beats.ts';
import { ClusterKeys } from '../cluster/nodes/cluster-keys.ts';
import { answerJoins } from '../cluster/nodes/join.ts';
import type { Admission } from '../cluster/nodes/join-message.ts';
import { type NodeIdentity, writeNodeFile } from '../cluster/nodes/node-file.ts';
import { Registry } from '../cluster/nodes/registry.ts';
import { checkSecret } from '../cluster/nodes/secrets.ts';
import { journaledOf } from '../cluster/scans/cluster-counting.ts';
import { ReadPositions } from '../cluster/scans/received-positions.ts';
import { StoreReplication } from '../cluster/store-replication.ts';
import type { Closers } from '../engine/closers.ts';
import { threadCounts } from '../engine/machine/machine-plan.ts';
import type { EngineThreadsOptions } from '../engine/threads.ts';
import { messageOf } from '../model/failure.ts';
import type { Base } from '../modules.ts';
import type { Engine } from '../services.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import { systemTimers } from '../system-clock.ts';
import { joinAgain, listenMs } from './claim-start.ts';
import { createBeats, type NodeContext } from './context.ts';
import { type CoreControl, openControl } from './core-control.ts';
import { CoreDelivery } from './core-delivery.ts';
import { CoreExchange } from './core-exchange.ts';
import type { FatalStop } from './fatal-stop.ts';
import { startLinkUpkeep } from './link-upkeep.ts';
import { CoreScans } from './scans/core-scans.ts';
import { followSigningKeys } from './signing-rotation.ts';
import { StaleRedirects } from './stale-redirects.ts';

export interface CoreNodeOptions {
  readonly context: NodeContext;
  readonly base: Base;
  readonly identity: NodeIdentity;
  /** Called when this process begins or ceases to lead. */
  readonly onRole: () => void;
  readonly stop: FatalStop;
}

export interface CoreNode extends CoreNodeOptions, CoreControl {
  readonly keys: ClusterKeys;
  readonly proof: MachineProof;
  readonly beats: Beats;
  /** Which node writes which journal; in management.mdb, so by the log. */
  readonly nodes: Registry;
  /** Of management.mdb. */
  readonly replication: StoreReplication;
  /** Of delivery.mdb. */
  readonly delivery: CoreDelivery;
  /** Journals and marks, with the other cores. */
  readonly exchange: CoreExchange;
  readonly copies: CopySender;
  /** A sentence for the operator, while something is wrong with one of the logs. */
  readonly problem: () => string | undefined;
}

/**
 * From here on management.mdb is written through the log alone.
 * @throws NodeError if `cluster.secret` is not the secret of the cluster
 */
export function openCoreNode(options: CoreNodeOptions, closers: Closers): CoreNode {
  const { context, base, onRole, stop } = options;
  const { management: store, ids, clock, folder, log, random } = base;
  const keys = new ClusterKeys(context.config.cluster.secret);
  checkSecret({ store, keys });
  closers.push(followSigningKeys({ store, folder: folder.path, keys, log }));
  const proof = new MachineProof(keys.requests, clock);
  const registered = (): string[] =>
    nodes.nodes().flatMap(({ role, name }) => (role === 'core' ? [] : [name]));
  const beats = createBeats(context, (detail) => stop.report(detail), registered);
  closers.push(() => beats.close());
  const instanceOf = (name: string): string | undefined => beats.instanceOf(name);
  const nodes: Registry = new Registry({ store, ids, clock, instanceOf });
  closers.push(() => nodes.close());
  const replication = new StoreReplication({
    ...context,
    environment: store.environment,
    name: 'core',
    replicas: context.config.cluster.replicas,
    timers: systemTimers,
    random,
    onChanged: onRole,
  });
  closers.push(() => replication.close());
  const delivery = new CoreDelivery({ ...options, mayLead: () => replication.isLeading });
  closers.push(() => delivery.close());
  const deliveries = delivery.replication;
  const exchange = new CoreExchange({ ...options, nodes, replication, deliveries });
  closers.push(() => exchange.close());
  const cluster = (): string => nodes.clusterId ?? '';
  const diverged = (): string | undefined => replication.diverged ?? deliveries.diverged;
  const copies = new CopySender({ folder, cluster, diverged, log });
  closers.push(() => copies.close());
  const problem = (): string | undefined => replication.problem ?? deliveries.problem;
  const control = openControl({
    ...options,
    keys,
    proof,
    nodes,
    replication,
    copies,
    problem: () => problem() ?? exchange.refusedScans,
    beats,
    marks: () => exchange.marks,
  });
  const parts = { keys, proof, beats, nodes, replication, delivery, exchange, copies, problem };
  return { ...options, ...control, ...parts };
}

/** What the engine has of it. @param scans the store that also says how far journals of other nodes are whole */
export function engineNode(
  { context, identity, exchange, beats }: CoreNode,
  { environment }: ScanStore,
): EngineThreadsOptions['node'] {
  const { config } = context;
  const own = identity.journals;
  // New threads have journals from the next start on: by then the leader has given them out.
  const threads = Math.min(threadCounts(config).redirect, own.length);
  const received = new ReadPositions(environment);
  return {
    redirectThreads: config.cluster.role === 'core' ? 0 : threads,
    journals: {
      own,
      keptFrom: (journal) =>
        own.includes(journal) ? (exchange.marks?.counted(journal) ?? 0) : Infinity,
      // Other nodes may have what follows a damaged end: its positions are not given out again.
      recovery: (journal) => ({
        torn: 'kept',
        ...(!own.includes(journal) && { atMost: received.wholeTo(journal) }),
      }),
    },
    onDrained: () => beats.end(),
  };
}

export interface FollowingCore extends CoreNode {
  readonly engine: Engine;
  readonly scans: CoreScans;
  readonly stale: StaleRedirects;
}

/** Opens what needs the engine, which redirects by now. */
export function openFollowing(node: CoreNode, engine: Engine, closers: Closers): FollowingCore {
  const { base, identity, replication, beats } = node;
  const isHeld = (): boolean => replication.isHeld;
  const own = { base, node: identity.node, scans: engine.scans, isLeading: isHeld };
  const upkeep = startLinkUpkeep(engine.links, engine.codes.links, base.log);
  closers.push(() => upkeep.close());
  const stale = new StaleRedirects({
    redirects: engine.threads.redirects,
    isInContact: () => isHeld() || beats.coreUrls().length > 0,
    log: base.log,
  });
  stale.start();
  closers.push(() => stale.close());
  return { ...node, engine, scans: new CoreScans(own), stale };
}

export async function follow(core: FollowingCore, closers: Closers): Promise<void> {
  const { base, identity, engine, beats, exchange, scans, replication, delivery } = core;
  const { refresher } = engine;
  const { tails } = engine.threads.journals;
  beats.start({
    linkNumber: () => refresher.seen,
    journaled: () => journaledOf(base.clock, identity, tails),
  });
  // What the log brings is in the link table before this node reports it.
  const followLinks = (): void => {
    refresher.refresh().then(
      () => beats.moved(),
      (error: unknown) => base.log.warn({ reason: messageOf(error) }, 'following links failed'),
    );
  };
  closers.push(base.management.environment.committed.listen(followLinks));
  await exchange.start(engine);
  scans.start(engine);
  replication.start();
  delivery.replication.start();
  register(core, closers);
}

/** Another core may lead from here on. */
export async function release({ scans, replication, delivery }: FollowingCore): Promise<void> {
  // Before the store of scans closes.
  const scansClosed = scans.close();
  if (replication.isLeading) {
    delivery.release();
    await replication.releaseAtEnd();
  }
  await scansClosed;
}

/** Asks to be registered as it is now, and answers others while it leads. */
function register(
  { context, base, identity, stop, nodes, keys, beats, replication }: FollowingCore,
  closers: Closers,
): void {
  // By then it knows which names are in use.
  const listened = pause(listenMs, undefined, { ref: false });
  const ends = answerJoins({
    connection: context.connection,
    isLeading: () => replication.isHeld,
    join: (request) => listened.then(() => nodes.join(request)),
    tokenOf: (name, run) => keys.tokenOf(name, run),
    cores: () => [context.self.url, ...beats.coreUrls()],
    log: context.log,
  });
  closers.push(ends);
  const joined = ({ cluster, journals, run }: Admission): void => {
    const { role } = context.config.cluster;
    writeNodeFile(base.folder.path, { ...identity, cluster, role, journals, run });
  };
  closers.push(joinAgain(context, identity, stop, joined));
}
