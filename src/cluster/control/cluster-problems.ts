/**
 * The problems of a cluster that need a person, as a core sees them, each with its remedy. Problems that pass within seconds
 * are left out, such as links that a node is behind.
 */
import { copiesWanted } from '../scans/marks.ts';
import type { ClusterStatus, NodeStatus } from './cluster-status.ts';

interface ClusterProblem {
  /** Null = of the whole cluster. */
  readonly node: string | null;
  /** In one line. */
  readonly problem: string;
  /** What it means and what to do, in sentences; commands are in backquotes. */
  readonly remedy: string;
}

type Seen = Pick<ClusterStatus, 'node' | 'problem' | 'nodes'>;

/** The worst first. */
export function problemsOf({ node, problem, nodes }: Seen): ClusterProblem[] {
  const cores = nodes.filter(({ role }) => role !== 'edge');
  const connected = cores.filter(({ state }) => state !== 'away');
  const problems: ClusterProblem[] = [];
  if (problem !== null) {
    const remedy = `Look at the log of ${node}, and at the brokers.`;
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

/** @returns whether two cores have reported how far they counted the node's journals; null without journals */
export function isAtTwoCores({ marks }: Pick<NodeStatus, 'marks'>, cores: number): boolean | null {
  if (marks.length === 0) return null;
  return cores >= copiesWanted && marks.every(({ counted }) => counted !== null);
}

function onlyCore(connected: readonly NodeStatus[], cores: number): ClusterProblem {
  const name = connected[0]?.name ?? 'No core';
  const what =
    cores < copiesWanted
      ? 'Add a second core, better two'
      : 'Start another core before you stop this one';
  return {
    node: null,
    problem: `${name} is the only core that is connected`,
    remedy: `If it stops, no other can lead, and changes are refused until it is back. ${what}.`,
  };
}

function away({ name, role }: NodeStatus): ClusterProblem {
  const lacks =
    role === 'edge'
      ? 'Scans that it has not sent wait on its disk.'
      : 'The brokers keep what it misses for 7 days.';
  const leave = `\`quietzone cluster leave ${name}\``;
  return {
    node: name,
    problem: `${name} is away: no sign of life for 2 seconds`,
    remedy: `${lacks} Start it, or look at its network. If it will not come back: ${leave} on a core.`,
  };
}

function fewCopies({ name }: NodeStatus): ClusterProblem {
  return {
    node: name,
    problem: `Fewer than two cores count the scans of ${name}`,
    remedy:
      'It keeps them on its disk until two do. After a start this takes half a minute. If it lasts longer, look at the logs of the cores.',
  };
}
