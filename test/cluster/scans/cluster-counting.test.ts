/** The end of a campaign in a cluster, in virtual time: nodes scan, are cut off, end or die around it. */
import { expect, it, test } from 'vitest';
import { CampaignScheduler } from '../../../src/campaigns/campaign-scheduler.ts';
import { Beats } from '../../../src/cluster/nodes/beats.ts';
import { ClusterCounting } from '../../../src/cluster/scans/cluster-counting.ts';
import type { CampaignRecord } from '../../../src/model/campaign.ts';
import { dayMs } from '../../../src/model/day.ts';
import type { NodeRole } from '../../../src/store/management/cluster.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { Random } from '../../crash/random.ts';
import type { Steps } from '../log/played.ts';
import { BeatsNetwork } from '../nodes/beats-network.ts';

/** All run for this long before the campaign ends. */
const endAtMs = 10_000;
const endMs = 20_000 * dayMs;
const scanMs = 100;
/** From a node's journal into the numbers of a core. */
const countMs = 700;

const campaign: CampaignRecord = {
  id: 'cmp_1',
  no: 1,
  workspaceNo: 1,
  name: 'c',
  startDay: 0,
  endDay: endMs / dayMs - 1,
  createdBy: 'usr_1',
  createdAtMs: 0,
  updatedAtMs: 0,
};

/** Answers a scan each 100 ms while it runs, and sends it where it is not cut off. */
class Node {
  readonly cluster: Cluster;
  readonly name: string;
  readonly role: NodeRole;
  readonly journal: number;
  /** Of its clock against that of the leader. */
  readonly skewMs: number;
  /** In its journal: when each was answered, by its clock. */
  readonly scans: number[] = [];
  beats!: Beats;
  #isRunning = false;
  #starts = 0;
  #sent = 0;

  constructor(cluster: Cluster, name: string, role: NodeRole, skewMs: number) {
    this.cluster = cluster;
    this.name = name;
    this.role = role;
    this.skewMs = skewMs;
    this.journal = cluster.nodes.push(this);
    this.start();
  }

  get nowMs(): number {
    return this.cluster.wallMs + this.skewMs;
  }

  start(): void {
    const { network } = this.cluster;
    const { name, role } = this;
    const isEdge = role === 'edge';
    const url = isEdge ? '' : `http://${name}`;
    const self = { name, role, redirects: true, url, version: '1' };
    this.beats = new Beats({
      connection: network.connection(name),
      timers: { monotonicMs: () => network.time.nowMs, after: network.time.later },
      self: { ...self, instance: `n_${++this.#starts}` },
      onDouble: () => undefined,
    });
    this.beats.start({
      linkNumber: () => 0,
      journaled: () => ({ atMs: this.nowMs, tails: [[this.journal, this.scans.length]] }),
    });
    this.#isRunning = true;
    const start = this.#starts;
    network.time.later(scanMs, () => this.#run(start));
  }

  end(): void {
    this.#isRunning = false;
    this.beats.end();
  }

  die(): void {
    this.#isRunning = false;
    this.beats.close();
  }

  #run(start: number): void {
    if (!this.#isRunning || this.#starts !== start) return;
    this.scans.push(this.nowMs);
    const { network, cores } = this.cluster;
    if (!network.cutOff.has(this.name)) {
      for (const core of cores) core.receive(this, this.#sent, this.scans.length);
      this.#sent = this.scans.length;
    }
    network.time.later(scanMs, () => this.#run(start));
  }
}

/** Counts what comes; ends the campaign while it leads. */
class Core {
  readonly node: Node;
  readonly #cluster: Cluster;
  readonly #counted = new Map<number, number>();
  #before = 0;
  #isLeading = false;

  constructor(cluster: Cluster, node: Node) {
    this.#cluster = cluster;
    this.node = node;
  }

  receive(from: Node, after: number, to: number): void {
    const scans = from.scans.slice(after, to);
    this.#cluster.network.time.later(countMs, () => {
      this.#before += scans.filter((timeMs) => timeMs < endMs).length;
      this.#counted.set(from.journal, to);
    });
  }

  lead(): void {
    const { clock, ended, network, nodes } = this.#cluster;
    this.#isLeading = true;
    const counting = new ClusterCounting({
      name: this.node.name,
      local: { mark: () => this.#mark() },
      nodes: () =>
        nodes.flatMap(({ name, journal }) =>
          this.#cluster.left.has(name) ? [] : [{ name, journals: [journal] }],
        ),
      last: (name) => this.node.beats.last(name),
    });
    const end = async (): Promise<boolean> => {
      network.note(`${this.node.name} ends it`);
      ended.push(this.#before);
      return true;
    };
    const due = (untilMs: number): CampaignRecord[] =>
      endMs <= untilMs && ended.length === 0 ? [campaign] : [];
    const log = createLog('silent');
    const scheduler = new CampaignScheduler({ campaigns: { due, end }, counting, clock, log });
    const tick = (): void => {
      if (!this.#isLeading) return;
      void scheduler.tick();
      network.time.later(1_000, tick);
    };
    tick();
  }

  standBy(): void {
    this.#isLeading = false;
  }

  #mark() {
    const tails = new Map(this.#counted).set(this.node.journal, this.node.scans.length);
    return {
      add: (more: Iterable<readonly [number, number]>) => {
        for (const [journal, tail] of more) tails.set(journal, tail);
      },
      isPast: () => [...tails].every(([no, tail]) => (this.#counted.get(no) ?? 0) >= tail),
    };
  }
}

/** Two cores, of which `a` leads at first, and the edges of a script. */
class Cluster {
  readonly network = new BeatsNetwork();
  readonly nodes: Node[] = [];
  readonly cores: Core[] = [];
  readonly left = new Set<string>();
  /** Scans that the event had. */
  readonly ended: number[] = [];
  readonly clock = { now: () => this.wallMs, monotonicMs: () => this.network.time.nowMs };

  constructor() {
    for (const name of ['a', 'b']) this.cores.push(new Core(this, new Node(this, name, 'all', 0)));
    this.#core('a').lead();
  }

  get wallMs(): number {
    return endMs - endAtMs + this.network.nowMs;
  }

  #core(name: string): Core {
    return this.cores.find(({ node }) => node.name === name)!;
  }

  #node(name: string): Node {
    return this.nodes.find((node) => node.name === name)!;
  }

  readonly #steps: Steps = {
    edge: (name, skewMs = '0') => new Node(this, name, 'edge', Number(skewMs)),
    cut: (name) => this.network.cutOff.add(name),
    heal: (name) => this.network.cutOff.delete(name),
    end: (name) => this.#node(name).end(),
    die: (name) => this.#node(name).die(),
    start: (name) => this.#node(name).start(),
    leave: (name) => this.left.add(name),
    lead: (name) => this.#core(name).lead(),
    stand: (name) => this.#core(name).standBy(),
  };

  /** @returns the trace, and for each end the scans that it misses of those answered before the end by the nodes' clocks */
  async play(script: string): Promise<string> {
    const trace = await this.network.play(script, this.#steps);
    const times = this.nodes.flatMap(({ scans }) => scans);
    const answered = times.filter((timeMs) => timeMs < endMs).length;
    return `${trace}; misses ${this.ended.map((scans) => answered - scans).join()}`;
  }
}

/** The campaign ends at 10,000 ms. What is cut off, killed or led elsewhere in time is in the run of seeds. */
const scripts: Record<string, [script: string, trace: string]> = {
  'a node whose clock is behind is waited for longer': [
    '0 edge e -5000, 70000',
    '19000 a ends it; misses 0',
  ],
  'a node whose clock is ahead is not': ['0 edge e 5000, 70000', '14000 a ends it; misses 0'],
  'a node that was killed is waited for a minute at most': [
    '0 edge e, 9000 cut e, 9500 die e, 75000',
    '72000 a ends it; misses 5',
  ],
  'a node that has ended is not waited for': [
    '0 edge e, 5000 end e, 16000',
    '14000 a ends it; misses 0',
  ],
  'a node that has left is not waited for': [
    '0 edge e + die e, 20000 leave e, 25000',
    '21000 a ends it; misses 0',
  ],
};

it.each(Object.entries(scripts))('%s', async (_, [script, trace]) => {
  expect(await new Cluster().play(script)).toBe(trace);
});

const seeds = 20;

test('whatever is cut off, killed or led elsewhere for less than a minute, it ends once, with all scans', async () => {
  for (let seed = 1; seed <= seeds; seed++) {
    const random = new Random(seed);
    const steps: Array<[ms: number, step: string]> = [
      [0, 'edge e'],
      [0, `edge f ${random.between(-3_000, 3_000)}`],
    ];
    for (const edge of ['e', 'f']) {
      const fromMs = random.between(5_000, 15_000);
      const toMs = fromMs + random.between(0, 40_000);
      steps.push([fromMs, `cut ${edge}`], [toMs, `heal ${edge}`]);
      const diesMs = random.between(fromMs, toMs + 1);
      if (random.chance(0.5)) steps.push([diesMs, `die ${edge}`], [toMs, `start ${edge}`]);
    }
    const standsMs = random.between(5_000, 30_000);
    if (random.chance(0.5)) steps.push([standsMs, 'stand a'], [standsMs + 3_000, 'lead b']);
    const script = steps.toSorted(([one], [other]) => one - other).map((step) => step.join(' '));
    const trace = await new Cluster().play([...script, '90000'].join(', '));
    expect({ seed, trace }).toEqual({
      seed,
      trace: expect.stringMatching(/^\d+ [ab] ends it; misses 0$/),
    });
  }
});
