/** What a core answers to the commands of its cluster: how it sees it, and what it does while it leads. */
import { type ClusterStatus, statusOf } from '../cluster/control/cluster-status.ts';
import { ControlProof } from '../cluster/control/control-proof.ts';
import { LeaderActions } from '../cluster/control/leader-actions.ts';
import { NodeControl } from '../cluster/control/node-control.ts';
import type { Beats } from '../cluster/nodes/beats.ts';
import type { Registry } from '../cluster/nodes/registry.ts';
import type { Marks } from '../cluster/scans/marks.ts';
import type { StoreReplication } from '../cluster/store-replication.ts';
import type { Base } from '../modules.ts';
import { systemTimers } from '../system-clock.ts';
import type { NodeContext } from './context.ts';

export interface CoreControlOptions {
  readonly context: NodeContext;
  readonly base: Base;
  readonly key: Uint8Array;
  readonly nodes: Registry;
  readonly replication: StoreReplication;
  /** A sentence for the operator, while something is wrong with one of the logs. */
  readonly problem: () => string | undefined;
  /** Undefined until the node follows its cluster. */
  readonly beats: () => Beats | undefined;
  readonly marks: () => Marks | undefined;
}

export function openControl(options: CoreControlOptions): NodeControl {
  const { context, base, key, nodes, replication, beats } = options;
  const actions = new LeaderActions({
    self: context.self,
    nodes,
    beats,
    release: (to) => replication.release(to),
    leader: () => replication.status.leader,
    timers: systemTimers,
  });
  return new NodeControl({
    proof: new ControlProof(key, base.clock),
    status: () => seenBy(options),
    handOver: (to) => actions.handOver(to),
    leave: (name) => actions.leave(name),
    docsUrl: `${context.config.api.publicUrl}/docs`,
    log: base.log,
  });
}

function seenBy(options: CoreControlOptions): ClusterStatus {
  const { context, base, nodes, replication } = options;
  const { state, position, leader } = replication.status;
  const [marks, beats] = [options.marks(), options.beats()];
  return statusOf({
    self: context.self,
    isLeading: state === 'leader',
    cluster: nodes.clusterId,
    position,
    leader,
    problem: options.problem() ?? context.connection.problem,
    nodes: nodes.nodes(),
    beats: beats === undefined ? [] : [beats.own, ...beats.connected()],
    links: base.management.last('link'),
    savedScans: marks?.saved() ?? new Map(),
    counted: (journal) => marks?.counted(journal),
  });
}
