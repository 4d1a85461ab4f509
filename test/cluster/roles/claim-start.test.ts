/** When a node may redirect, in virtual time; and how many of its redirects were of stale links. */
import { expect, onTestFinished, test } from 'vitest';
import { beatSubject, encodeBeat } from '../../../src/cluster/nodes/beat-message.ts';
import { joinSubject } from '../../../src/cluster/nodes/join.ts';
import { encodeJoinAnswer } from '../../../src/cluster/nodes/join-message.ts';
import { claimStart, listenMs } from '../../../src/cluster/roles/claim-start.ts';
import { Upkeep } from '../../../src/cluster/roles/upkeep.ts';
import { createLog } from '../../../src/platform/log.ts';
import { BeatsNetwork, beatOf } from '../nodes/beats-network.ts';

type Leader = 'admits' | 'refuses' | 'is away';

const request = {
  name: 'a',
  id: 'n_9',
  threads: 1,
  cluster: 'cl_1',
  instance: 'n_2',
  starts: [],
  host: 'm',
};

function fixture(role: 'all' | 'edge', isLastHere: boolean, leader: Leader = 'is away') {
  const network = new BeatsNetwork();
  const stopping = new AbortController();
  const settled: string[] = [];
  const connection = network.connection('b');
  const refusal = { refused: 'it is a copy', mayLapse: false };
  const admission = { cluster: 'cl_1', id: 'n_9', run: 1, journals: [1], token: '', cores: [] };
  const answer = encodeJoinAnswer(leader === 'admits' ? admission : refusal);
  if (leader !== 'is away') connection.answer(joinSubject({ role, name: 'a' }), async () => answer);
  claimStart({
    connection,
    timers: network.timers,
    log: createLog('silent'),
    request: { ...request, role },
    isLastHere,
    withinMs: listenMs,
    stopping: stopping.signal,
  }).then(
    (admission) => settled.push(`${network.nowMs} ${admission ? 'admitted' : 'opens'}`),
    (error: Error) => settled.push(`${network.nowMs} ${error.message}`),
  );
  const other = network.connection('a');
  const beat = (atMs: number, instance = 'n_1', isLast = false): void => {
    const bytes = encodeBeat(beatOf('a', role, { instance, isLast }));
    network.time.later(atMs, () => other.publish(beatSubject({ name: 'a', role }), bytes));
  };
  return { network, settled, connection, beat, stopping };
}

const double =
  'Cannot run as a: another process that started earlier runs under this name, at http://a; give each machine a cluster.nodeName and an empty data folder of its own';

test('the leader decides before anything is listened to', async () => {
  for (const isLastHere of [true, false]) {
    const admitted = fixture('edge', isLastHere, 'admits');
    await admitted.network.until(50);
    expect(admitted.settled).toEqual(['0 admitted']);
    const refused = fixture('all', isLastHere, 'refuses');
    await refused.network.until(50);
    expect(refused.settled).toEqual(['0 it is a copy']);
  }
});

test('a process that beats under its name refuses it, also where this machine ran the folder last', async () => {
  for (const isLastHere of [true, false]) {
    const { network, settled, beat } = fixture('all', isLastHere);
    for (let atMs = 400; atMs < 3_000; atMs += 500) beat(atMs);
    await network.until(3_000);
    expect(settled).toEqual([`900 ${double}`]);
  }
});

test('late beats of a process that has ended, and its own, delay it at most', async () => {
  const { network, settled, beat } = fixture('all', false);
  beat(100);
  beat(450);
  beat(500, 'n_2');
  beat(600, 'n_0');
  beat(1_000, 'n_0', true);
  await network.until(5_000);
  expect(settled).toEqual(['1800 opens']);
});

test('without a leader: the last machine opens; elsewhere a core once brokers are there, and an edge waits', async () => {
  const here = fixture('edge', true);
  here.connection.problem = 'NATS is away';
  const core = fixture('all', false);
  core.connection.problem = 'NATS is away';
  core.network.time.later(10_000, () => (core.connection.problem = undefined));
  const edge = fixture('edge', false);
  edge.network.time.later(60_000, () => edge.stopping.abort(new Error('stopped')));
  for (const { network } of [here, core, edge]) await network.until(62_000);
  expect(here.settled).toEqual([`${listenMs} opens`]);
  expect(core.settled).toEqual([`${10_000 + listenMs - 50} opens`]);
  expect(edge.settled).toEqual(['60000 stopped']);
});

test('redirects between two ticks without contact are stale', async () => {
  const redirects = { answered: 10 };
  let isInContact = true;
  const upkeep = new Upkeep({
    writer: { free: () => undefined },
    links: { closeLimits: async () => undefined, publishPending: () => undefined },
    redirects,
    isInContact: () => isInContact,
    log: createLog('silent'),
  });
  onTestFinished(() => upkeep.close());
  const tickAt = async (answered: number, contact: boolean): Promise<number> => {
    redirects.answered = answered;
    isInContact = contact;
    await upkeep.closeLimits();
    return upkeep.staleRedirects;
  };
  expect(await tickAt(20, true)).toBe(0);
  expect(await tickAt(30, false)).toBe(0);
  expect(await tickAt(45, false)).toBe(15);
  expect(await tickAt(50, false)).toBe(20);
  expect(await tickAt(70, true)).toBe(20);
  expect(await tickAt(80, false)).toBe(20);
});
