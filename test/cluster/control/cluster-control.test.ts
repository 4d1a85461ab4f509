/** How a core sees its cluster, what that needs a person for, and what a leader does with it. */
import { describe, expect, test } from 'vitest';
import { isAtTwoCores, problemsOf } from '../../../src/cluster/control/cluster-problems.ts';
import {
  type ClusterStatus,
  type NodeStatus,
  statusOf,
  versionsText,
} from '../../../src/cluster/control/cluster-status.ts';
import { LeaderActions } from '../../../src/cluster/control/leader-actions.ts';
import { emptyPosition } from '../../../src/cluster/log/applier.ts';
import type { Leader } from '../../../src/cluster/log/entry.ts';
import type { Beat } from '../../../src/cluster/nodes/beat-message.ts';
import type { NodeRecord } from '../../../src/store/management/cluster.ts';
import { beatOf } from '../nodes/beats-network.ts';
import { VirtualTime } from '../virtual-time.ts';

const leaderOf = (name: string): Leader => ({
  owner: `${name}.n_${name}`,
  url: `http://${name}:8080`,
  version: '1',
});
const node = (name: string, role: NodeRecord['role'], journals: readonly number[]): NodeRecord => ({
  id: `n_${name}`,
  name,
  role,
  journals,
  run: 1,
  past: [],
  joinedAtMs: 5,
});
const beat = (name: string, role: NodeRecord['role'], linkNumber: number): Beat =>
  beatOf(name, role, { linkNumber, url: role === 'edge' ? '' : `http://${name}:8080` });
const nodes = [
  node('a', 'all', [1, 2]),
  node('b', 'core', []),
  node('c', 'all', [3]),
  node('e', 'edge', [4]),
];

const seenBy = (
  self: string,
  leader: Leader | undefined,
  isLeading = self === 'a',
): ClusterStatus =>
  statusOf({
    self: leaderOf(self),
    isLeading,
    cluster: 'cl_1',
    position: { ...emptyPosition, seq: 9, epoch: 4 },
    leader,
    problem: undefined,
    nodes,
    beats: [beat('a', 'all', 7), beat('b', 'core', 7), beat('e', 'edge', 3)],
    last: (name) => (name === 'c' ? beat('c', 'all', 5) : undefined),
    links: 6,
    savedScans: new Map(Object.entries({ a: 20, b: 18, c: 0 })),
    counted: (journal) => (journal === 1 ? 100 : undefined),
  });

test('a status has each node, as this core knows it', () => {
  const { nodes: seen, ...rest } = seenBy('a', leaderOf('a'));
  const leader = { name: 'a', url: 'http://a:8080' };
  const core = { node: 'a', role: 'active', cluster: 'cl_1', epoch: 4, position: 9, problem: null };
  expect(rest).toEqual({ ...core, leader });
  expect(seen).toMatchObject([
    { name: 'a', state: 'active', version: '0.2.0', linksBehind: 0, scansBehind: 0 },
    { name: 'b', state: 'connected', linksBehind: null, scansBehind: 2, marks: [] },
    { name: 'c', state: 'away', version: null, linksBehind: 2, scansBehind: 20 },
    { name: 'e', state: 'connected', version: '0.2.0', linksBehind: 4, scansBehind: null },
  ]);
  expect(seen.map(({ url }) => url)).toEqual(['http://a:8080', 'http://b:8080', null, null]);
  expect(seen[3]?.marks).toEqual([{ journal: 4, counted: null }]);
  expect(seen[0]?.marks[0]).toEqual({ journal: 1, counted: 100 });
  expect(seenBy('b', leaderOf('a'))).toMatchObject({ role: 'standby', leader });
  expect(seenBy('b', undefined).leader).toBeNull();
  // It led last, and gave the lead away.
  expect(seenBy('b', leaderOf('b'), false).leader).toBeNull();
});

function actions(connected: readonly Beat[]) {
  const time = new VirtualTime();
  const released: Array<string | undefined> = [];
  const removed: string[] = [];
  const seen = { leader: leaderOf('a') };
  const made = new LeaderActions({
    self: leaderOf('a'),
    nodes: {
      find: (name) => nodes.find((one) => one.name === name && !removed.includes(name)),
      journalsOf: (name) => [...(nodes.find((one) => one.name === name)?.journals ?? [])],
      remove: async (name) => removed.push(name) > 0,
    },
    beats: {
      connected: () => connected,
      instanceOf: (name) =>
        name === 'a' ? 'n_a' : connected.find((one) => one.name === name)?.instance,
    },
    release: async (to) => void released.push(to),
    leader: () => seen.leader,
    timers: { monotonicMs: () => time.nowMs, after: time.later },
  });
  return { made, time, released, removed, seen };
}

test('a handover ends when another leads, and says who and after how long', async () => {
  const { made, time, released, seen } = actions([beat('b', 'core', 0)]);
  time.later(45, () => (seen.leader = leaderOf('b')));
  const [done] = await Promise.all([made.handOver(undefined), time.run(time.nowMs + 100)]);
  expect(done).toEqual({ leader: 'b', ms: 50 });
  seen.leader = leaderOf('a');
  const named = made.handOver('b').catch((error: unknown) => error);
  await time.run(time.nowMs + 10_100);
  expect(await named).toMatchObject({
    code: 'not_active',
    message: 'This core gave the lead away, and no other core took it within 10 s',
  });
  expect(released).toEqual([undefined, 'b.n_b']);
});

test('a handover is refused if no core can take the lead', async () => {
  const { made, released } = actions([beat('b', 'core', 0), beat('e', 'edge', 0)]);
  const refusals: Record<string, string> = {
    a: 'Cannot hand over to a: it leads now',
    c: 'Cannot hand over to c: it is not connected',
    e: 'Cannot hand over to e: it is an edge, which cannot lead',
    x: 'The cluster has no node x',
    '': 'The cluster has no node without a name',
  };
  for (const [to, message] of Object.entries(refusals)) {
    await expect(made.handOver(to)).rejects.toThrow(message);
  }
  const alone = actions([beat('e', 'edge', 0)]);
  await expect(alone.made.handOver(undefined)).rejects.toThrow('no other core is connected');
  expect([...released, ...alone.released]).toEqual([]);
});

test('a node leaves where it is known and not connected', async () => {
  const { made, removed } = actions([beat('b', 'core', 0)]);
  await expect(made.leave('b')).rejects.toThrow('it is connected; stop it first');
  await expect(made.leave('x')).rejects.toThrow('The cluster has no node x');
  expect(removed).toEqual([]);
  expect(await made.leave('c')).toEqual({ name: 'c', journals: [3] });
  await expect(made.leave('c')).rejects.toThrow('The cluster has no node c');
  expect(removed).toEqual(['c']);
});

describe('what needs a person', () => {
  const seen = (name: string, more: Partial<NodeStatus> = {}): NodeStatus => ({
    name,
    role: 'all',
    state: 'connected',
    run: 1,
    version: '0.2.0',
    url: null,
    linksBehind: 12,
    scansBehind: 70,
    marks: [{ journal: 1, counted: 0 }],
    joinedAtMs: 5,
    ...more,
  });
  const active = seen('a', { state: 'active' });
  const b = seen('b');
  const edge = seen('e', { role: 'edge' });
  const away = { state: 'away', version: null } as const;

  const problems = (nodes: readonly NodeStatus[], problem: string | null = null): string[] =>
    problemsOf({ node: 'a', problem, nodes }).map((one) => `${one.problem} / ${one.remedy}`);
  const matching = (...patterns: RegExp[]) => patterns.map((text) => expect.stringMatching(text));

  test('nothing, while all nodes are there, whatever they are behind', () => {
    expect(problems([active, b, edge])).toEqual([]);
  });

  test('a node that is away is started, or leaves', () => {
    const lasting = 'If it will not come back: `quietzone cluster leave';
    expect(problems([active, b, seen('c', away), { ...edge, ...away }])).toEqual([
      `c is away: no sign of life for 2 seconds / The brokers keep what it misses for 7 days. Start it, or look at its network. ${lasting} c\` on a core.`,
      `e is away: no sign of life for 2 seconds / Scans that it has not sent wait on its disk. Start it, or look at its network. ${lasting} e\` on a core.`,
    ]);
  });

  test('a core that no other could follow as the leader', () => {
    const alone = /^a is the only core that is connected \/ If it stops.* Add a second core/;
    expect(problems([active, edge])).toEqual(matching(alone));
    const left = /^a is the only core that is connected \/ If it stops.* Start another core/;
    expect(problems([active, seen('b', away), edge])).toEqual(matching(left, /^b is away/));
  });

  test('scans of a node that too few cores count; what is wrong with the log comes first', () => {
    const marks = [90, null].map((counted, journal) => ({ journal, counted }));
    const few = seen('d', { role: 'edge', marks });
    const core = seen('c', { role: 'core', marks: [] });
    const nodes = [active, b, core, few, { ...few, ...away, name: 'f' }];
    const counted = /^Fewer than two cores count the scans of d \//;
    const log = /^a: the disk is full \/ Look at the log of a/;
    expect(problems(nodes, 'the disk is full')).toEqual(matching(log, /^f is away/, counted));
    expect([active, core, few].map((one) => isAtTwoCores(one, 2))).toEqual([true, null, false]);
    // With one core, no second one has them.
    expect(isAtTwoCores(active, 1)).toBe(false);
  });

  test('versions are listed while those of connected nodes differ', () => {
    expect(versionsText([active, b, seen('c', away)])).toBeUndefined();
    const older = seen('b', { version: '0.1.0' });
    expect(versionsText([active, older])).toBe('a runs 0.2.0; b runs 0.1.0');
  });
});
