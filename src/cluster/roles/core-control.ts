/** What a core does for its operator and for other machines: commands, copies of its data, and the report of its cluster. */
import type { ClusterAccess, ClusterReport } from '../../api/cluster/cluster.ts';
import { isAtTwoCores, problemsOf } from '../control/cluster-problems.ts';
import { type ClusterStatus, statusOf, versionsText } from '../control/cluster-status.ts';
import { LeaderActions } from '../control/leader-actions.ts';
import { nodeTables } from '../control/node-commands.ts';
import { NodeControl } from '../control/node-control.ts';
import type { ChangingCommands, CommandTable } from '../../app/commands/command-table.ts';
import { textAt } from '../../model/json.ts';
import { systemTimers } from '../../platform/system-clock.ts';
import { refusedScans } from './core-exchange.ts';
import type { FollowingCore } from './core-following.ts';
import { rotateSharedKeys } from './signing-rotation.ts';

export interface CoreControl {
  /** Answers the other machines. */
  readonly endpoints: NodeControl;
  /** For the dashboard's page, while this machine leads. */
  readonly cluster: ClusterAccess;
  /** What an operator of this machine may run. */
  readonly commands: CommandTable;
}

/** @param operations of a service, next to those of the cluster */
export function openControl(core: FollowingCore, operations: ChangingCommands): CoreControl {
  const { context, base, keys, proof, nodes, replication, copies, beats } = core;
  const actions = new LeaderActions({
    self: context.self,
    nodes,
    beats,
    release: (to) => replication.release(to),
    leader: () => replication.status.leader,
    timers: systemTimers,
  });
  const status = (): ClusterStatus => statusSeen(core);
  const handOver: ClusterAccess['handOver'] = (to) => actions.handOver(to);
  const rotate = () => {
    const { management: store, folder, randomBytes } = base;
    return rotateSharedKeys({ store, folder: folder.path, keys, randomBytes, nodes, beats });
  };
  const own: ChangingCommands = {
    'cluster.status': { changes: false, run: async () => status() },
    'cluster.handover': { changes: true, run: (input) => handOver(textAt(input, 'to')) },
    'cluster.leave': { changes: true, run: (input) => actions.leave(textAt(input, 'name') ?? '') },
    'keys.rotate-signing': { changes: true, run: rotate },
  };
  const tables = nodeTables({ ...operations, ...own }, { proof, status });
  const endpoints = new NodeControl({
    proof,
    copy: () => copies.reply(),
    commands: () => tables.others,
    docsUrl: `${context.config.api.publicUrl}/docs`,
    log: base.log,
  });
  return {
    endpoints,
    cluster: { status: () => reportOf(status()), handOver },
    commands: tables.own,
  };
}

function reportOf(status: ClusterStatus): ClusterReport {
  const cores = status.nodes.filter(({ role }) => role !== 'edge').length;
  const nodes = status.nodes.map((one) => ({ ...one, atTwoCores: isAtTwoCores(one, cores) }));
  return {
    ...status,
    id: status.cluster,
    leader: status.leader?.name,
    nodes,
    problems: problemsOf(status),
    versions: versionsText(status.nodes),
  };
}

function statusSeen(core: FollowingCore): ClusterStatus {
  const { context, base, nodes, replication, beats, exchange } = core;
  const { state, position, leader } = replication.status;
  const { marks } = beats;
  return statusOf({
    self: context.self,
    isLeading: state === 'leader',
    cluster: nodes.clusterId,
    position,
    leader,
    problem: core.problem() ?? refusedScans(exchange) ?? context.connection.problem,
    nodes: nodes.nodes(),
    beats: [beats.own, ...beats.connected()],
    last: (name) => beats.last(name),
    links: base.management.last('link'),
    savedScans: marks.saved(),
    counted: (journal) => marks.counted(journal),
  });
}
