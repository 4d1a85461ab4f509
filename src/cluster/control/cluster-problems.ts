/**
 * What needs a person, in a cluster as a core sees it: each with what to do. Left out is what passes by itself within
 * seconds, such as links that a node is behind.
 */
import type { ClusterStatus, NodeStatus } from './cluster-status.ts';

export interface ClusterProblem {
  /** Null = of the whole. */
  readonly node: string | null;
  readonly problem: string;
  readonly remedy: string;
}

/** So many cores count a scan before its own machine lets go of it. */
const copiesWanted = 2;

type Seen = Pick<ClusterStatus, 'node' | 'problem' | 'nodes'>;

/** The worst first. */
export function problemsOf({ node, problem, nodes }: Seen): ClusterProblem[] {
  const cores = nodes.filter(({ role }) => role !== 'edge');
  const connected = cores.filter(({ state }) => state !== 'away');
  const problems: ClusterProblem[] = [];
  if (problem !== null) {
    const remedy = `Look at the log of ${node} and at the brokers; quietzone doctor on that machine checks both.`;
    problems.push({ node, problem: `${node}: ${problem}`, remedy });
  }
  if (connected.length < copiesWanted) problems.push(onlyCore(connected, cores.length));
  problems.push(...nodes.filter(({ state }) => state === 'away').map(away));
  if (connected.length >= copiesWanted) {
    const few = nodes.filter(
      (one) => one.state !== 'away' && isAtTwoCores(one, cores.length) === false,
    );
    problems.push(...few.map(fewCopies));
  }
  return problems;
}

/** @returns whether two cores have told how far they have counted the node's journals; null where it has none */
export function isAtTwoCores({ marks }: Pick<NodeStatus, 'marks'>, cores: number): boolean | null {
  if (marks.length === 0) return null;
  return cores >= copiesWanted && marks.every(({ counted }) => counted !== null);
}

function onlyCore(connected: readonly NodeStatus[], cores: number): ClusterProblem {
  const name = connected[0]?.name ?? 'No core';
  const remedy =
    cores < copiesWanted
      ? 'Add a second core, better two: the brokers keep scans and changes for each until it has them.'
      : 'Start another core again, before you stop this one.';
  const problem = `${name} is the only core that is connected: if it stops, no other can lead, and changes are refused.`;
  return { node: null, problem, remedy };
}

function away({ name, role }: NodeStatus): ClusterProblem {
  const lacks =
    role === 'edge'
      ? 'Scans that it has not sent wait on its disk.'
      : 'The brokers keep for it what it misses, for 7 days.';
  return {
    node: name,
    problem: `${name} is away: no sign of life for 2 seconds. ${lacks}`,
    remedy: `Start it, or look at its network. If it will not come back: quietzone cluster leave ${name}, on a core.`,
  };
}

function fewCopies({ name }: NodeStatus): ClusterProblem {
  return {
    node: name,
    problem: `Fewer than two cores count the scans of ${name}: it keeps them on its disk until then.`,
    remedy: 'After a start this takes half a minute. If it stays, look at the logs of the cores.',
  };
}
