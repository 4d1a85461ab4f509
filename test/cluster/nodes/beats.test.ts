/** Beats between nodes that share a connection: who is up, whose links have moved, and who is there twice. */
import { expect, test } from 'vitest';
import { encodeBeat, type NodeStart, readBeat } from '../../../src/cluster/nodes/beat-message.ts';
import { packPlain, unpackPlain } from '../../../src/store/codec.ts';
import { Beats } from '../../../src/cluster/nodes/beats.ts';
import { BeatsNetwork } from './beats-network.ts';

const isConnected = (beats: Beats, name: string): boolean => beats.instanceOf(name) !== undefined;

function node(
  network: BeatsNetwork,
  more: Partial<NodeStart> & { readonly name: string },
  registered?: () => readonly string[],
) {
  const self: NodeStart = {
    instance: `n_${more.name}`,
    role: 'all',
    redirects: true,
    url: `http://${more.name}`,
    version: '0.2.0',
    ...more,
  };
  const started = { links: 0, doubles: [] as string[] };
  const beats = new Beats({
    connection: network.connection(self.instance),
    timers: { monotonicMs: () => network.time.nowMs, after: network.time.later },
    self,
    registered,
    onDouble: (detail) => {
      started.doubles.push(`${network.nowMs} ${detail}`);
      beats.close();
    },
  });
  beats.start({
    linkNumber: () => started.links,
    journaled: () => ({ atMs: network.time.nowMs, tails: [[7, started.links]] }),
  });
  const move = (links: number): void => {
    started.links = links;
    beats.moved();
  };
  return { beats, started, move };
}

/** An edge's beat without its names. */
const said = {
  role: 'edge',
  redirects: true,
  linkNumber: 0,
  url: '',
  isLast: false,
  version: '0.2.0',
  journaled: { atMs: 0, tails: [] },
} as const;

const names = (beats: Beats): string[] => beats.connected().map(({ name }) => name);

/** What it resolved with, and when. */
function answerOf(network: BeatsNetwork, promise: Promise<number>): { is?: string } {
  const answer: { is?: string } = {};
  const note = async (): Promise<void> => {
    const behind = await promise;
    answer.is = `${behind} at ${network.nowMs}`;
  };
  void note();
  return answer;
}

test('a node is connected until 2 s after its last beat; edges see cores alone', async () => {
  const network = new BeatsNetwork();
  const a = node(network, { name: 'a' });
  const b = node(network, { name: 'b', role: 'core', redirects: false });
  const e = node(network, { name: 'e', role: 'edge', url: '' });
  await network.until(1_100);
  expect(names(a.beats)).toEqual(['b', 'e']);
  expect(names(e.beats)).toEqual(['a', 'b']);
  expect(b.beats.connected()).toMatchObject([
    { name: 'e', role: 'edge' },
    {
      name: 'a',
      instance: 'n_a',
      role: 'all',
      redirects: true,
      linkNumber: 0,
      url: 'http://a',
      isLast: false,
    },
  ]);
  expect([isConnected(a.beats, 'a'), a.beats.instanceOf('e')]).toEqual([true, 'n_e']);
  network.cutOff.add('n_e');
  await network.until(2_999);
  expect(isConnected(a.beats, 'e')).toBe(true);
  await network.until(3_000);
  expect(isConnected(a.beats, 'e')).toBe(false);
  expect(names(a.beats)).toEqual(['b']);
  network.cutOff.clear();
  await network.until(3_500);
  expect(isConnected(a.beats, 'e')).toBe(true);
  b.beats.close();
  await network.until(70_000);
  expect(a.beats.instanceOf('b')).toBeUndefined();
});

test('a beat comes each 500 ms, and at once when links move: one for all moves of a millisecond', async () => {
  const network = new BeatsNetwork();
  const { move } = node(network, { name: 'a' });
  await network.until(700);
  for (const links of [1, 2, 3]) move(links);
  await network.until(1_300);
  expect(network.published.map((line) => Number.parseInt(line, 10))).toEqual([
    0, 500, 700, 701, 1_201,
  ]);
});

test('a change is followed when every connected node that redirects has it', async () => {
  const network = new BeatsNetwork();
  const leader = node(network, { name: 'a' });
  const core = node(network, { name: 'b', role: 'core', redirects: false });
  const edge = node(network, { name: 'e', role: 'edge' });
  await network.until(600);
  const both = answerOf(network, leader.beats.linksFollowed(5));
  const ofCore = answerOf(network, core.beats.linksFollowed(5));
  network.time.later(10, () => edge.move(5));
  network.time.later(30, () => leader.move(6));
  await network.until(700);
  expect([both.is, ofCore.is]).toEqual(['0 at 630', '0 at 630']);
  expect(await leader.beats.linksFollowed(5)).toBe(0);
});

test('a node that stays behind is waited for 2 s and counted, and not again until its links move', async () => {
  const network = new BeatsNetwork();
  const leader = node(network, { name: 'a' });
  const edge = node(network, { name: 'e', role: 'edge' });
  leader.move(9);
  await network.until(100);
  const slow = answerOf(network, leader.beats.linksFollowed(9));
  await network.until(2_200);
  expect(slow.is).toBe('1 at 2100');
  const again = answerOf(network, leader.beats.linksFollowed(9));
  await network.until(2_201);
  expect(again.is).toMatch(/^1 at 220/);
  edge.move(3);
  await network.until(2_400);
  const moved = answerOf(network, leader.beats.linksFollowed(9));
  await network.until(3_000);
  expect(moved.is).toBeUndefined();
  edge.move(9);
  await network.until(3_001);
  expect(moved.is).toMatch(/^0 at 300/);
});

test('a node that lapses while it is waited for is behind, and not waited for afterwards', async () => {
  const network = new BeatsNetwork();
  const leader = node(network, { name: 'a' });
  node(network, { name: 'e', role: 'edge' });
  leader.move(9);
  await network.until(100);
  network.cutOff.add('n_e');
  const lapsed = answerOf(network, leader.beats.linksFollowed(9));
  await network.until(5_000);
  expect(lapsed.is).toBe('1 at 2000');
  const after = answerOf(network, leader.beats.linksFollowed(9));
  await network.until(5_001);
  expect(after.is).toMatch(/^0 at 500/);
});

test('a registered node that is away is behind for as long as it is; not one that has ended or has the change', async () => {
  const network = new BeatsNetwork();
  const leader = node(network, { name: 'a' }, () => ['a', 'e', 'f', 'never']);
  const edge = node(network, { name: 'e', role: 'edge' });
  const stopped = node(network, { name: 'f', role: 'edge' });
  for (const { move } of [leader, edge, stopped]) move(3);
  await network.until(1_000);
  stopped.beats.end();
  network.cutOff.add('n_e');
  await network.until(70_000);
  expect(leader.beats.away()).toEqual(['e', 'never']);
  expect(await leader.beats.linksFollowed(3)).toBe(1);
  leader.move(4);
  expect(await leader.beats.linksFollowed(4)).toBe(2);
  network.cutOff.clear();
  edge.move(4);
  await network.until(71_000);
  expect(leader.beats.away()).toEqual(['never']);
  expect(await leader.beats.linksFollowed(4)).toBe(1);
});

test('a leader that received nothing for a while does not take the others for gone', async () => {
  const network = new BeatsNetwork();
  const leader = node(network, { name: 'a' });
  const edge = node(network, { name: 'e', role: 'edge' });
  await network.until(1_000);
  // Its broker hangs: nothing comes, nor goes.
  network.cutOff.add('n_a').add('n_e');
  await network.until(6_000);
  network.cutOff.delete('n_a');
  leader.move(1);
  const answer = answerOf(network, leader.beats.linksFollowed(1));
  await network.until(6_400);
  expect([answer.is, isConnected(leader.beats, 'e')]).toEqual([undefined, true]);
  network.cutOff.delete('n_e');
  edge.move(1);
  await network.until(6_500);
  expect(answer.is).toMatch(/^0 at 6/);
  network.cutOff.add('n_e');
  await network.until(9_000);
  expect(isConnected(leader.beats, 'e')).toBe(false);
});

test('a node that connects meanwhile is waited for; closing answers all', async () => {
  const network = new BeatsNetwork();
  const leader = node(network, { name: 'a' });
  await network.until(100);
  const waiting = answerOf(network, leader.beats.linksFollowed(1));
  node(network, { name: 'e', role: 'edge' });
  leader.move(1);
  await network.until(900);
  expect(waiting.is).toBeUndefined();
  leader.beats.close();
  await network.until(901);
  expect(waiting.is).toMatch(/^1 at /);
  const count = network.published.filter((line) => line.endsWith('qz.nodes.a')).length;
  leader.move(2);
  await network.until(3_000);
  expect(network.published.filter((line) => line.endsWith('qz.nodes.a')).length).toBe(count);
});

test('of two cores under one name the later one stops', async () => {
  const network = new BeatsNetwork();
  const first = node(network, { name: 'a', instance: 'n_1' });
  await network.until(5_000);
  const second = node(network, { name: 'a', instance: 'n_2', url: 'http://other' });
  await network.until(7_000);
  expect(first.started.doubles).toEqual([]);
  expect(second.started.doubles).toEqual([
    '6000 Cannot run as a: another process that started earlier runs under this name, at http://a; give each machine a cluster.nodeName and an empty data folder of its own',
  ]);
});

test('of two edges under one name the later one is told by the cores', async () => {
  const network = new BeatsNetwork();
  node(network, { name: 'a' });
  const first = node(network, { name: 'e', role: 'edge', instance: 'n_1' });
  await network.until(700);
  const second = node(network, { name: 'e', role: 'edge', instance: 'n_2' });
  await network.until(5_000);
  expect(first.started.doubles).toEqual([]);
  expect(second.started.doubles).toEqual([expect.stringMatching(/^1\d00 Cannot run as e: /)]);
});

test('a restart is not a double, nor are beats that come late', async () => {
  const network = new BeatsNetwork();
  const core = node(network, { name: 'a' });
  for (const [at, instance] of ['n_1', 'n_2', 'n_3'].entries()) {
    const edge = node(network, { name: 'e', role: 'edge', instance });
    await network.until((at + 1) * 700);
    edge.beats.close();
  }
  const connection = network.connection('late');
  const next = node(network, { name: 'e', role: 'edge', instance: 'n_4' });
  connection.publish('qz.edge.e.beat', encodeBeat({ ...said, name: 'e', instance: 'n_3' }));
  const own = { ...said, role: 'all', name: 'a', instance: 'n_0' } as const;
  for (let i = 0; i < 3; i++) connection.publish('qz.nodes.a', encodeBeat(own));
  await network.until(9_000);
  expect([core.started.doubles, next.started.doubles]).toEqual([[], []]);
  expect(core.beats.instanceOf('e')).toBe('n_4');
});

test('a node that ends is not connected from then on, and what waits for it is answered', async () => {
  const network = new BeatsNetwork();
  const { beats, move } = node(network, { name: 'a' });
  const e = node(network, { name: 'e', role: 'edge', url: '' });
  await network.until(1_000);
  move(1);
  const answer = answerOf(network, beats.linksFollowed(1));
  await network.until(1_100);
  expect(answer.is).toBeUndefined();
  e.beats.end();
  e.beats.end();
  await network.until(1_101);
  expect(answer.is).toBe('0 at 1101');
  expect(isConnected(beats, 'e')).toBe(false);
  const { length } = network.published;
  await network.until(1_101);
  expect(network.published).toHaveLength(length);
  // Its next start, and the last beat of the one before: of no meaning any more.
  const again = node(network, { name: 'e', role: 'edge', url: '', instance: 'n_later' });
  await network.until(1_200);
  const { publish } = network.connection('late');
  publish('qz.edge.e.beat', encodeBeat({ ...said, name: 'e', instance: 'n_e', isLast: true }));
  await network.until(1_201);
  expect(beats.instanceOf('e')).toBe('n_later');
  again.beats.close();
});

test('what is no beat, and one under the subject of another, count for nothing', async () => {
  const network = new BeatsNetwork();
  const { beats } = node(network, { name: 'a' });
  const { publish } = network.connection('x');
  const beat = { ...said, name: 'b', instance: 'n_b' };
  publish('qz.nodes.b', encodeBeat(beat));
  publish('qz.edge.c.beat', encodeBeat(beat));
  publish('qz.edge.b.beat', encodeBeat({ ...beat, role: 'all' }));
  publish('qz.edge.b.beat', encodeBeat({ ...beat, linkNumber: -1 }));
  publish('qz.edge.b.beat', Buffer.from('no beat'));
  expect(beats.connected()).toEqual([]);
  publish('qz.edge.b.beat', encodeBeat(beat));
  expect(names(beats)).toEqual(['b']);
});

test('a beat says the version of its program and its journals', () => {
  const journaled = {
    atMs: 1_234,
    tails: [
      [7, 100],
      [9, 0],
    ],
  } as const;
  const beat = { ...said, name: 'b', instance: 'n_b', version: '0.2.0-rc.1', journaled };
  expect(readBeat(encodeBeat(beat))).toEqual(beat);
  const fields = unpackPlain(encodeBeat(beat));
  if (!Array.isArray(fields)) throw new Error('Expected an array');
  // A field that this program does not know.
  expect(readBeat(packPlain([...fields, 'more']))).toEqual(beat);
  const [head, tail] = [fields.slice(0, 8), fields.slice(9)];
  for (const version of [null, 7, '', '\u001b[31m']) {
    expect(readBeat(packPlain([...head, version, ...tail]))).toBeUndefined();
  }
  for (const end of [
    [],
    [null],
    [1],
    [-1, []],
    [1, 7],
    [1, [7]],
    [1, [[7, -1]]],
    [1, [[7, 1, 1]]],
  ]) {
    expect(readBeat(packPlain([...head, '1', ...end]))).toBeUndefined();
  }
});
