/** What the commands of a cluster ask a core, and what a leader does then. */
import { expect, test } from 'vitest';
import { type ClusterStatus, statusOf } from '../../../src/cluster/control/cluster-status.ts';
import { MachineProof } from '../../../src/cluster/machine-proof.ts';
import { LeaderActions } from '../../../src/cluster/control/leader-actions.ts';
import { NodeControl } from '../../../src/cluster/control/node-control.ts';
import { emptyPosition } from '../../../src/cluster/log/applier.ts';
import type { Leader } from '../../../src/cluster/log/entry.ts';
import type { Beat } from '../../../src/cluster/nodes/beat-message.ts';
import type { Request } from '../../../src/http/request.ts';
import { Failure } from '../../../src/model/failure.ts';
import type { NodeRecord } from '../../../src/store/management/cluster.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';

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
const beat = (name: string, role: NodeRecord['role'], linkNumber: number): Beat => {
  const url = role === 'edge' ? '' : `http://${name}:8080`;
  const redirects = role !== 'core';
  const journaled = { atMs: 0, tails: [] };
  const start = { name, role, url, redirects, instance: `n_${name}`, version: '0.2.0' };
  return { ...start, linkNumber, isLast: false, journaled };
};
const nodes = [
  node('a', 'all', [1, 2]),
  node('b', 'core', []),
  node('c', 'all', [3]),
  node('e', 'edge', [4]),
];

const seenBy = (self: string, leader: Leader | undefined): ClusterStatus =>
  statusOf({
    self: leaderOf(self),
    isLeading: leader?.owner === leaderOf(self).owner,
    cluster: 'cl_1',
    position: { ...emptyPosition, seq: 9, epoch: 4 },
    leader,
    problem: undefined,
    nodes,
    beats: [beat('a', 'all', 7), beat('b', 'core', 7), beat('e', 'edge', 3)],
    last: (name) => (name === 'c' ? beat('c', 'all', 5) : undefined),
    links: 6,
    savedScans: new Map([
      ['a', 20],
      ['b', 18],
      ['c', 0],
    ]),
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
  expect(seen.map(({ joinedAtMs }) => joinedAtMs)).toEqual([5, 5, 5, 5]);
  expect([seen[0]?.marks, seen[3]?.marks]).toMatchObject([
    [{ journal: 1 }, { journal: 2 }],
    [{ journal: 4, counted: null }],
  ]);
  expect(seen[0]!.marks).toEqual([
    { journal: 1, counted: 100 },
    { journal: 2, counted: null },
  ]);
  expect(seenBy('b', leaderOf('a'))).toMatchObject({ role: 'standby', leader });
  expect(seenBy('b', undefined).leader).toBeNull();
  // It led last, and gave the lead away.
  const former = { self: leaderOf('b'), leader: leaderOf('b'), isLeading: false };
  expect(statusOf({ ...former, ...emptySources }).leader).toBeNull();
});

const emptySources = {
  cluster: undefined,
  position: emptyPosition,
  problem: 'the brokers are away',
  nodes: [],
  beats: [],
  last: () => undefined,
  links: 0,
  savedScans: new Map<string, number>(),
  counted: () => undefined,
};

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function control(status: ClusterStatus) {
  const proof = new MachineProof(Buffer.alloc(32, 7), new TestClock());
  const done: string[] = [];
  const log = createLog('silent');
  const served = new NodeControl({
    copy: () => ({ status: 200, headers: {}, body: 'copy' }),
    proof,
    status: () => status,
    handOver: async (to) => {
      if (to === 'defect') throw new Error('defect');
      if (to === 'x') throw new Failure('conflict', 'Cannot hand over to x');
      done.push(`handover to ${to}`);
      return { leader: 'b', ms: 12 };
    },
    rotateSigning: async () => ({ kid: 'k2', away: [] }),
    leave: async (name) => {
      done.push(`${name} leaves`);
      return { name, journals: [4] };
    },
    docsUrl: 'http://docs',
    log,
  });
  const ask = async (method: string, target: string, isSigned = true): Promise<Answer> => {
    const [path = '', query = ''] = target.split('?');
    const sent = isSigned ? proof.headersOf({ method, path: target }) : {};
    const header = (name: string): string | undefined => ({ ...sent })[name];
    const request = { id: 'req_1', method, path, query, header } as Request;
    const { status: code = 0, headers = {}, body } = (await served.reply(request)) ?? {};
    return { status: code, headers, body: typeof body === 'string' ? body : '' };
  };
  return { ask, done };
}

test('a core answers for itself, those who hold the secret alone', async () => {
  const { ask, done } = control(seenBy('b', leaderOf('a')));
  expect((await ask('GET', '/cluster/links')).status).toBe(0);
  expect((await ask('GET', '/v1/qr-codes')).status).toBe(0);
  const own = ['/cluster/status', '/cluster/rotate-signing'];
  for (const path of [...own, '/cluster/handover', '/cluster/leave?name=e']) {
    expect((await ask('GET', path, false)).status).toBe(401);
    expect((await ask('POST', path, false)).status).toBe(401);
  }
  const status = await ask('GET', '/cluster/status');
  expect(JSON.parse(status.body)).toMatchObject({ node: 'b', role: 'standby' });
  expect((await ask('POST', '/cluster/status')).status).toBe(405);
  expect((await ask('GET', '/cluster/handover')).status).toBe(405);
  expect(done).toEqual([]);
});

test('what a leader does is done by the leader: others say where it is', async () => {
  const standby = control(seenBy('b', leaderOf('a')));
  const passedOn = await standby.ask('POST', '/cluster/leave?name=e');
  expect(passedOn.status).toBe(307);
  expect(passedOn.headers['Location']).toBe('http://a:8080/cluster/leave?name=e');
  const none = await control(seenBy('b', undefined)).ask('POST', '/cluster/handover');
  expect(none.status).toBe(503);
  const { ask, done } = control(seenBy('a', leaderOf('a')));
  const handed = await ask('POST', '/cluster/handover');
  expect(JSON.parse(handed.body)).toEqual({ leader: 'b', ms: 12 });
  await ask('POST', '/cluster/handover?to=b');
  const left = await ask('POST', '/cluster/leave?name=e');
  expect(JSON.parse(left.body)).toEqual({ name: 'e', journals: [4] });
  expect(done).toEqual(['handover to undefined', 'handover to b', 'e leaves']);
  const rotated = await ask('POST', '/cluster/rotate-signing');
  expect(JSON.parse(rotated.body)).toEqual({ kid: 'k2', away: [] });
  const refused = await ask('POST', '/cluster/handover?to=x');
  expect([refused.status, refused.body]).toEqual([409, expect.stringContaining('to x')]);
  expect((await ask('POST', '/cluster/handover?to=defect')).status).toBe(503);
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
    beats: () => ({
      connected: () => connected,
      instanceOf: (name) =>
        name === 'a' ? 'n_a' : connected.find((one) => one.name === name)?.instance,
    }),
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
    message: 'The lead was given away, and no node has it after 10 s',
  });
  expect(released).toEqual([undefined, 'b.n_b']);
});

test('a handover is refused where nobody could take it', async () => {
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
  await expect(made.leave('a')).rejects.toThrow('it is connected; stop it first');
  await expect(made.leave('x')).rejects.toThrow('The cluster has no node x');
  expect(removed).toEqual([]);
  expect(await made.leave('c')).toEqual({ name: 'c', journals: [3] });
  await expect(made.leave('c')).rejects.toThrow('The cluster has no node c');
  expect(removed).toEqual(['c']);
});
