/** Beats between nodes that share a connection: who is up, whose links have moved, and who is there twice. */
import { expect, it, test } from 'vitest';
import {
  encodeBeat,
  type Mark,
  type NodeStart,
  readBeat,
} from '../../../src/cluster/nodes/beat-message.ts';
import { packPlain, unpackPlain } from '../../../src/store/codec.ts';
import { Beats } from '../../../src/cluster/nodes/beats.ts';
import type { Steps } from '../virtual-time.ts';
import { BeatsNetwork, beatOf } from './beats-network.ts';

const nothing: Mark = { savedSeq: 0, counted: [], cores: [], applied: [0, 0] };

/** @param instance `e` or, of several under one name, `e#2` */
function openNode(
  network: BeatsNetwork,
  instance: string,
  role: NodeStart['role'],
  registered?: () => readonly string[],
) {
  const [name = ''] = instance.split('#');
  const url = role === 'edge' ? '' : `http://${name}`;
  const state = { links: 0, counted: 0 };
  const mark = (): Mark => ({ ...nothing, counted: [[3, state.counted]], cores: ['a', 'b'] });
  const beats: Beats = new Beats({
    connection: network.connection(instance),
    timers: network.timers,
    self: { name, instance, role, redirects: role !== 'core', url, version: '0.2.0' },
    registered,
    onDouble: (detail) => {
      network.note(`${instance} stops: ${detail.split(';')[0]}`);
      beats.close();
    },
  });
  if (role !== 'edge') beats.marks.setCores(new Map(['a', 'b'].map((core) => [core, 1])));
  beats.start({
    linkNumber: () => state.links,
    journaled: () => ({ atMs: network.time.nowMs, tails: [[7, state.links]] }),
    ...(role !== 'edge' && { mark }),
  });
  return { beats, state };
}

/** The trace has what each change resolved with (`a 5: 1 behind`), who stops, and what the script looks at. */
class Nodes extends BeatsNetwork {
  readonly #nodes = new Map<string, ReturnType<typeof openNode>>();

  #open(instance: string, role: NodeStart['role'], registered: readonly string[]): void {
    const names = registered.length === 0 ? undefined : (): readonly string[] => registered;
    this.#nodes.set(instance, openNode(this, instance, role, names));
  }

  #of(instance: string): Beats {
    return this.#nodes.get(instance)!.beats;
  }

  async #follow(instance: string, number: string): Promise<void> {
    const behind = await this.#of(instance).linksFollowed(Number(number));
    this.note(`${instance} ${number}: ${behind} behind`);
  }

  readonly #steps: Steps = {
    all: (instance, ...registered) => this.#open(instance, 'all', registered),
    core: (instance) => this.#open(instance, 'core', []),
    edge: (instance) => this.#open(instance, 'edge', []),
    move: (instance, links) => {
      this.#nodes.get(instance)!.state.links = Number(links);
      this.#of(instance).moved();
    },
    counts: (core, position) => {
      this.#nodes.get(core)!.state.counted = Number(position);
    },
    /** Of a journal, by enough cores. */
    'counted?': (instance) => this.note(`${instance} ${this.#of(instance).marks.counted(3)}`),
    /** The script does not wait for the answer. */
    follow: (instance, number) => void this.#follow(instance, number),
    cut: (...instances) => instances.forEach((one) => this.cutOff.add(one)),
    heal: (...instances) => instances.forEach((one) => this.cutOff.delete(one)),
    end: (instance) => this.#of(instance).end(),
    close: (instance) => this.#of(instance).close(),
    /** A beat of an edge, or of a core, that comes late. */
    late: (subject, name, instance, isLast) => {
      const role = subject.startsWith('qz.edge') ? 'edge' : 'all';
      const beat = beatOf(name, role, { instance, isLast: isLast === 'last' });
      this.connection('late').publish(subject, encodeBeat(beat));
    },
    sees: (instance) => {
      const seen = this.#of(instance).connected();
      this.note(`${instance} sees ${seen.map((beat) => beat.instance).join(' ')}`.trim());
    },
    lacks: (instance) => this.note(`${instance} lacks ${this.#of(instance).linksBehind ?? '?'}`),
    away: (instance) => this.note(`away: ${this.#of(instance).away().join(' ')}`),
    watch: () => (this.isWatched = true),
  };

  run(script: string): Promise<string> {
    return this.play(script, this.#steps);
  }
}

const scripts: Record<string, [script: string, trace: string]> = {
  'a node is connected until 2 s after its last beat; edges see cores alone': [
    '0 all a + core b + edge e, 1100 sees a + sees b + sees e + cut e, 2999 sees a, 3000 sees a + heal e, 3501 sees a + close b, 70000 sees a',
    '1100 a sees b e, 1100 b sees e a, 1100 e sees a b, 2999 a sees b e, 3000 a sees b, 3501 a sees b e, 70000 a sees e',
  ],
  'a beat comes each 500 ms, and at once when links move: one for all moves of a millisecond': [
    '0 watch + all a, 700 move a 1 + move a 2 + move a 3, 1300',
    '0 qz.nodes.a, 500 qz.nodes.a, 700 qz.nodes.a, 701 qz.nodes.a, 1201 qz.nodes.a',
  ],
  'each second a beat of a core has its mark, and so has its last beat; what was lost comes with the next one':
    [
      '0 all a + core b + edge e, 100 counts a 30 + counts b 31, 900 counted? e, 1100 counted? e + counts a 40 + counts b 40 + move a 1 + move b 1, 1200 counted? e, 2100 counted? e + cut e + counts a 50, 3100 heal e + counted? e + counts b 60, 4100 counted? e + cut a + counts a 70, 5100 counted? a + heal a + counts a 80 + end a + counts b 90 + end b + counted? e',
      '900 e undefined, 1100 e 30, 1200 e 30, 2100 e 40, 3100 e 40, 4100 e 50, 5100 a 60, 5100 e 80',
    ],
  'a change is followed when every connected node that redirects has it': [
    '0 all a + core b + edge e, 600 follow a 5 + follow b 5, 610 move e 5, 630 move a 6, 700 follow a 5, 701',
    '630 a 5: 0 behind, 630 b 5: 0 behind, 700 a 5: 0 behind',
  ],
  'a node lacks the links that a core reports; an edge does not say how far links are': [
    '0 all a + edge e, 0 lacks a + move e 9, 100 lacks a + core b + move b 4, 200 lacks a + move a 7, 300 lacks a + lacks b',
    '0 a lacks ?, 100 a lacks ?, 200 a lacks 4, 300 a lacks 0, 300 b lacks 3',
  ],
  'a node that stays behind is waited for 2 s and counted, and not again until its links move': [
    '0 all a + edge e, 0 move a 9, 100 follow a 9, 2200 follow a 9, 2300 move e 3, 2400 follow a 9, 3000 move e 9, 3010',
    '2100 a 9: 1 behind, 2200 a 9: 1 behind, 3000 a 9: 0 behind',
  ],
  'a node that lapses while it is waited for is behind, and not waited for afterwards': [
    '0 all a + edge e, 0 move a 9, 100 cut e + follow a 9, 5000 follow a 9, 5010',
    '2000 a 9: 1 behind, 5000 a 9: 0 behind',
  ],
  'a registered node that is away is behind; not one that has ended or has the change': [
    '0 all a a e f never + edge e + edge f, 0 move a 3 + move e 3 + move f 3, 1000 end f + cut e, 70000 away a + follow a 3, 70010 move a 4 + follow a 4, 70020 heal e + move e 4, 71000 away a + follow a 4, 71010',
    '70000 away: e never, 70000 a 3: 1 behind, 70010 a 4: 2 behind, 71000 away: never, 71000 a 4: 1 behind',
  ],
  'a leader that received nothing for a while does not take the others for gone': [
    '0 all a + edge e, 1000 cut a e, 6000 heal a + move a 1 + follow a 1, 6400 sees a + heal e + move e 1, 6500 cut e, 9000 sees a',
    '6400 a sees e, 6400 a 1: 0 behind, 9000 a sees',
  ],
  'a node that connects meanwhile is waited for; closing answers all, and sends nothing more': [
    '0 all a, 100 follow a 1 + edge e + move a 1, 900 watch + close a + move a 2, 1300',
    '900 a 1: 1 behind, 1100 qz.edge.e.beat',
  ],
  'of two cores under one name the later one stops': [
    '0 all a#1, 5000 all a#2, 7000',
    '6000 a#2 stops: Cannot run as a: another process that started earlier runs under this name, at http://a',
  ],
  'of two edges under one name the cores stop the later one': [
    '0 all a + edge e#1, 700 edge e#2, 5000',
    '1500 e#2 stops: Cannot run as e: another process that started earlier runs under this name',
  ],
  'a restart is not a double, nor are beats that come late': [
    '0 all a + edge e#1, 700 close e#1 + edge e#2, 1400 close e#2 + edge e#3, 2100 close e#3 + edge e#4 + late qz.edge.e.beat e e#3, 2100 late qz.nodes.a a a#0 + late qz.nodes.a a a#0, 9000 sees a',
    '9000 a sees e#4',
  ],
  'a node that ends is not connected any more, and what waits for it is answered': [
    '0 all a + edge e, 1000 move a 1 + follow a 1, 1100 end e + end e + sees a, 1101 edge e#2, 1200 late qz.edge.e.beat e e last, 1201 sees a',
    '1100 a 1: 0 behind, 1100 a sees, 1201 a sees e#2',
  ],
};

it.each(Object.entries(scripts))('%s', async (_, [script, trace]) => {
  expect(await new Nodes().run(script)).toBe(trace);
});

test('an invalid beat, and one under the subject of another node, are ignored', async () => {
  const network = new BeatsNetwork();
  const { beats } = openNode(network, 'a', 'all');
  const { publish } = network.connection('x');
  const beat = beatOf('b', 'edge');
  publish('qz.nodes.b', encodeBeat(beat));
  publish('qz.edge.c.beat', encodeBeat(beat));
  publish('qz.edge.b.beat', encodeBeat({ ...beat, role: 'all' }));
  publish('qz.edge.b.beat', encodeBeat({ ...beat, linkNumber: -1 }));
  publish('qz.edge.b.beat', Buffer.from('no beat'));
  expect(beats.connected()).toEqual([]);
  publish('qz.edge.b.beat', encodeBeat(beat));
  expect(beats.connected().map(({ name }) => name)).toEqual(['b']);
});

test('a beat says the version of its program, its journals, and what its core has', () => {
  const journaled = { atMs: 1_234, tails: [[7, 100] as const] };
  const counted = Array.from({ length: 65_536 }, (_, journal) => [journal, 2 ** 52] as const);
  const cores = Array.from({ length: 100 }, (_, at) => `${at}`.padStart(32, 'core'));
  const largest: Mark = { savedSeq: 3, counted, cores, applied: [1, 2] };
  const mark: Mark = { ...largest, counted: [[7, 100]] };
  const beat = beatOf('b', 'edge', { version: '0.2.0-rc.1', journaled, mark });
  // A message of NATS, however many journals and cores there are.
  expect(encodeBeat({ ...beat, mark: largest }).length).toBeLessThan(1_000_000);
  expect(readBeat(encodeBeat(beat))).toEqual(beat);
  // A field that this program does not know.
  const fields = unpackPlain(encodeBeat(beat)) as unknown[];
  expect(readBeat(packPlain([...fields, 'more']))).toEqual(beat);
  const tails = [7, [7], [[7, -1]], [[7, 1, 1]]];
  const marks = [{ savedSeq: -1 }, { counted: [[1, -1]] }, { counted: 3 }, { cores: [7] }];
  const applied = [{ applied: undefined }, { applied: [1, -1] }];
  const wrong: Record<string, readonly unknown[]> = {
    version: [null, 7, '', '\u001b[31m'],
    journaled: [null, { atMs: 1 }, { atMs: -1, tails: [] }],
    mark: ['mark', ...[...marks, ...applied].map((fields) => ({ ...mark, ...fields }))],
  };
  wrong['journaled'] = [...wrong['journaled']!, ...tails.map((each) => ({ atMs: 1, tails: each }))];
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      expect(readBeat(encodeBeat({ ...beat, [name]: value }))).toBeUndefined();
    }
  }
});
