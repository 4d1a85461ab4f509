/**
 * The part of a core in its cluster. Each phase takes what the last one returns:
 *
 *   openCoreNode     registry, heartbeats and logs over the stores: nothing is read or sent yet
 *   engineNode       what the engine needs of it; the engine opens
 *
 * core-following.ts has the phases after the engine.
 */
import { CopySender } from '../copy/copy-sender.ts';
import { MachineProof } from '../machine-proof.ts';
import type { Beats } from '../nodes/beats.ts';
import { ClusterKeys } from '../nodes/cluster-keys.ts';
import type { NodeIdentity } from '../nodes/node-file.ts';
import { Registry } from '../nodes/registry.ts';
import { checkSecret } from '../nodes/secrets.ts';
import { ReadPositions } from '../scans/received-positions.ts';
import { StoreReplication } from '../log/store-replication.ts';
import type { Closers } from '../../platform/closers.ts';
import type { EngineThreadsOptions } from '../../engine/threads.ts';
import type { Base } from '../../app/modules.ts';
import type { ScanStore } from '../../store/scans/scans.ts';
import { systemTimers } from '../../platform/system-clock.ts';
import { createBeats, type NodeContext } from './context.ts';
import { CoreDelivery } from './core-delivery.ts';
import { followSigningKeys } from './signing-rotation.ts';

export interface CoreNode {
  readonly context: NodeContext;
  readonly base: Base;
  readonly identity: NodeIdentity;
  readonly keys: ClusterKeys;
  readonly proof: MachineProof;
  readonly beats: Beats;
  /** Which node writes which journal; in management.mdb, so by the log. */
  readonly nodes: Registry;
  /** Of management.mdb. */
  readonly replication: StoreReplication;
  /** Of delivery.mdb. */
  readonly delivery: CoreDelivery;
  readonly copies: CopySender;
  /** A sentence for the operator, while something is wrong with one of the logs. */
  readonly problem: () => string | undefined;
}

/**
 * From here on management.mdb is written through the log alone.
 * @param onRole called when this process begins or ceases to lead
 * @throws NodeError if `cluster.secret` is not the secret of the cluster
 */
export function openCoreNode(
  options: Pick<CoreNode, 'context' | 'base' | 'identity'>,
  onRole: () => void,
  closers: Closers,
): CoreNode {
  const { context, base } = options;
  const { management: store, ids, clock, folder, log, random } = base;
  const keys = new ClusterKeys(context.config.cluster.secret);
  checkSecret({ store, keys });
  closers.push(followSigningKeys({ store, folder: folder.path, keys, log }));
  const registered = (): string[] =>
    nodes.nodes().flatMap(({ role, name }) => (role === 'core' ? [] : [name]));
  const beats = createBeats(context, registered);
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
  const delivery = new CoreDelivery(context, base, () => replication.isLeading);
  closers.push(() => delivery.close());
  const cluster = (): string => nodes.clusterId ?? '';
  const stopped = (): string | undefined => replication.stopped ?? delivery.replication.stopped;
  const copies = new CopySender({ folder, cluster, stopped, log });
  closers.push(() => copies.close());
  const proof = new MachineProof(keys.requests, clock);
  const problem = (): string | undefined => replication.problem ?? delivery.replication.problem;
  return { ...options, keys, proof, beats, nodes, replication, delivery, copies, problem };
}

/** What the engine has of it. @param scans also has how far journals of other nodes are whole */
export function engineNode(
  { context, base, identity, beats }: CoreNode,
  { environment }: ScanStore,
): EngineThreadsOptions['node'] {
  const { config } = context;
  const own = identity.journals;
  // New threads have journals from the next start on: by then the leader has given them out.
  const threads = Math.min(base.threads.redirect, own.length);
  const received = new ReadPositions(environment);
  return {
    redirectThreads: config.cluster.role === 'core' ? 0 : threads,
    journals: {
      own,
      keptFrom: (journal) =>
        own.includes(journal) ? (beats.marks.counted(journal) ?? 0) : Infinity,
      // Other nodes may have what follows a damaged end: its positions are not given out again.
      recovery: (journal) => ({
        torn: 'kept',
        ...(!own.includes(journal) && { atMost: received.wholeTo(journal) }),
      }),
    },
    onDrained: () => beats.end(),
  };
}
