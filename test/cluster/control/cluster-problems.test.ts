/** What a cluster needs a person for, and what to do then. */
import { expect, test } from 'vitest';
import { isAtTwoCores, problemsOf } from '../../../src/cluster/control/cluster-problems.ts';
import { type NodeStatus, versionsText } from '../../../src/cluster/control/cluster-status.ts';

const node = (name: string, more: Partial<NodeStatus> = {}): NodeStatus => ({
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
const a = node('a', { state: 'active' });
const b = node('b');
const edge = node('e', { role: 'edge' });
const away = { state: 'away', version: null } as const;

const problems = (nodes: readonly NodeStatus[], problem: string | null = null): string[] =>
  problemsOf({ node: 'a', problem, nodes }).map((one) => `${one.problem} / ${one.remedy}`);

test('a cluster with all nodes has no problem, whatever they are behind', () => {
  expect(problems([a, b, edge])).toEqual([]);
});

test('a node that is away is started, or leaves', () => {
  expect(problems([a, b, node('c', away), { ...edge, ...away }])).toEqual([
    'c is away: no sign of life for 2 seconds / The brokers keep what it misses for 7 days. ' +
      'Start it, or look at its network. If it will not come back: `quietzone cluster leave c` on a core.',
    'e is away: no sign of life for 2 seconds / Scans that it has not sent wait on its disk. ' +
      'Start it, or look at its network. If it will not come back: `quietzone cluster leave e` on a core.',
  ]);
});

test('a core that no other could follow as the leader', () => {
  expect(problems([a, edge])).toEqual([
    expect.stringMatching(
      /^a is the only core that is connected \/ If it stops.* Add a second core/,
    ),
  ]);
  expect(problems([a, node('b', away), edge])).toEqual([
    expect.stringMatching(
      /^a is the only core that is connected \/ If it stops.* Start another core/,
    ),
    expect.stringMatching(/^b is away/),
  ]);
});

test('scans of a node that too few cores count; what is wrong with the log comes first', () => {
  const marks = [
    { journal: 1, counted: 90 },
    { journal: 2, counted: null },
  ];
  const few = node('d', { role: 'edge', marks });
  const core = node('c', { role: 'core', marks: [] });
  expect(problems([a, b, core, few, { ...few, ...away, name: 'f' }], 'the disk is full')).toEqual([
    expect.stringMatching(/^a: the disk is full \/ Look at the log of a/),
    expect.stringMatching(/^f is away/),
    expect.stringMatching(/^Fewer than two cores count the scans of d \//),
  ]);
  expect([a, core, few].map((one) => isAtTwoCores(one, 2))).toEqual([true, null, false]);
  // With one core, no second one has them.
  expect(isAtTwoCores(a, 1)).toBe(false);
});

test('versions are listed while those of connected nodes differ', () => {
  expect(versionsText([a, b, node('c', away)])).toBeUndefined();
  expect(versionsText([a, node('b', { version: '0.1.0' })])).toBe('a runs 0.2.0; b runs 0.1.0');
});
