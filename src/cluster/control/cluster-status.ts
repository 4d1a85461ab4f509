/** A cluster as one of its cores sees it, for `quietzone cluster status`. */
import type { NodeRecord, NodeRole } from '../../store/management/cluster.ts';
import type { LogPosition } from '../log/applier.ts';
import type { Leader } from '../log/entry.ts';
import type { Beat } from '../nodes/beat-message.ts';

export interface NodeStatus {
  readonly name: string;
  readonly role: NodeRole;
  /** `active` = it leads; `away` = no beat for 2 s. */
  readonly state: 'active' | 'connected' | 'away';
  readonly run: number;
  /** Of its program; null while the node is away. */
  readonly version: string | null;
  /** Of its API; null for an edge, and while the node is away. */
  readonly url: string | null;
  /** Changes of links that its link table lacks; null without a link table, after its end, and before its first report to this core. */
  readonly linksBehind: number | null;
  /** Entries of the log of scans that another core has on its disk and this node lacks; null for an edge. */
  readonly scansBehind: number | null;
  /** Of this registration: the byte up to which enough cores have counted; null while too few have reported. */
  readonly marks: ReadonlyArray<{ readonly journal: number; readonly counted: number | null }>;
  readonly joinedAtMs: number;
}

export interface ClusterStatus {
  /** The node that answers. */
  readonly node: string;
  readonly role: 'active' | 'standby';
  /** Its id; empty until a leader has made it. */
  readonly cluster: string;
  readonly epoch: number;
  /** Of the newest entry of the log that this node has applied. */
  readonly position: number;
  readonly leader: { readonly name: string; readonly url: string } | null;
  readonly problem: string | null;
  readonly nodes: readonly NodeStatus[];
}

export interface StatusSources {
  readonly self: Leader;
  readonly isLeading: boolean;
  readonly cluster: string | undefined;
  readonly position: LogPosition;
  readonly leader: Leader | undefined;
  readonly problem: string | undefined;
  readonly nodes: readonly NodeRecord[];
  /** Of the connected nodes and of this one. */
  readonly beats: readonly Beat[];
  /** The newest heartbeat of a node, even if it is away. */
  readonly last: (name: string) => Beat | undefined;
  /** Number of the newest change of links here. */
  readonly links: number;
  /** By core: the entry up to which it has the log of scans. */
  readonly savedScans: ReadonlyMap<string, number>;
  readonly counted: (journal: number) => number | undefined;
}

/** A process that may lead is `<node>.<instance>`. */
export const nodeOf = ({ owner }: Pick<Leader, 'owner'>): string => owner.split('.')[0] ?? '';

export function statusOf(sources: StatusSources): ClusterStatus {
  const { self, isLeading, position, problem, nodes, cluster = '' } = sources;
  const leader = leaderOf(sources);
  return {
    node: nodeOf(self),
    role: isLeading ? 'active' : 'standby',
    cluster,
    epoch: position.epoch,
    position: position.seq,
    leader,
    problem: problem ?? null,
    nodes: nodes.map((node) => nodeStatusOf(node, sources, leader?.name)),
  };
}

/** Null if this process led last and no longer does. */
function leaderOf({
  leader,
  self,
  isLeading,
}: Pick<StatusSources, 'leader' | 'self' | 'isLeading'>): ClusterStatus['leader'] {
  if (leader === undefined || (leader.owner === self.owner && !isLeading)) return null;
  return { name: nodeOf(leader), url: leader.url };
}

function nodeStatusOf(
  { name, role, run, journals, joinedAtMs }: NodeRecord,
  { beats, last, links, savedScans, counted }: StatusSources,
  leader: string | undefined,
): NodeStatus {
  const beat = beats.find((one) => one.name === name);
  const latest = beat ?? last(name);
  const connected = name === leader ? 'active' : 'connected';
  const newest = Math.max(links, ...beats.map(({ linkNumber }) => linkNumber));
  const saved = savedScans.get(name);
  return {
    name,
    role,
    state: beat === undefined ? 'away' : connected,
    run,
    version: beat?.version ?? null,
    url: beat === undefined || beat.url === '' ? null : beat.url,
    linksBehind: latest?.redirects === true && !latest.isLast ? newest - latest.linkNumber : null,
    scansBehind: saved === undefined ? null : Math.max(0, ...savedScans.values()) - saved,
    marks: journals.map((journal) => ({ journal, counted: counted(journal) ?? null })),
    joinedAtMs,
  };
}

/** The versions of nodes if they differ: `a, b run 0.2.0; c runs 0.1.0`. */
export function versionsText(
  nodes: ReadonlyArray<Pick<NodeStatus, 'name' | 'state' | 'version'>>,
): string | undefined {
  const connected = nodes.filter(({ state }) => state !== 'away');
  const byVersion = Map.groupBy(connected, ({ version }) => version);
  if (byVersion.size < 2) return undefined;
  const texts = Array.from(byVersion, ([version, of]) => {
    const names = of.map(({ name }) => name).join(', ');
    return `${names} ${of.length === 1 ? 'runs' : 'run'} ${version}`;
  });
  return texts.join('; ');
}
