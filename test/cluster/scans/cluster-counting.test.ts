/** The end of a campaign in a cluster, in virtual time: nodes scan, are cut off, end or die around it. */
import { expect, test } from 'vitest';
import { CampaignScheduler } from '../../../src/campaigns/campaign-scheduler.ts';
import { Beats } from '../../../src/cluster/nodes/beats.ts';
import { ClusterCounting } from '../../../src/cluster/scans/cluster-counting.ts';
import type { CampaignRecord } from '../../../src/model/campaign.ts';
import { dayMs } from '../../../src/model/day.ts';
import type { NodeRole } from '../../../src/store/management/cluster.ts';
import { createLog } from '../../../src/telemetry/log.ts';
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
      ended.push({ by: this.node.name, scans: this.#before, afterMs: network.nowMs - endAtMs });
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

class Cluster {
  readonly network = new BeatsNetwork();
  readonly nodes: Node[] = [];
  readonly cores: Core[] = [];
  readonly left = new Set<string>();
  readonly ended: Array<{ by: string; scans: number; afterMs: number }> = [];
  readonly clock = { now: () => this.wallMs, monotonicMs: () => this.network.time.nowMs };

  get wallMs(): number {
    return endMs - endAtMs + this.network.nowMs;
  }

  core(name: string): Core {
    const core = new Core(this, new Node(this, name, 'all', 0));
    this.cores.push(core);
    return core;
  }

  edge(name: string, skewMs = 0): Node {
    return new Node(this, name, 'edge', skewMs);
  }

  /** By all nodes, before the campaign's end by their own clocks. */
  get answered(): number {
    const times = this.nodes.flatMap(({ scans }) => scans);
    return times.filter((timeMs) => timeMs < endMs).length;
  }

  /** Until so long after the end of the campaign. */
  async until(afterMs: number): Promise<void> {
    await this.network.until(endAtMs + afterMs);
  }
}

function start(): { cluster: Cluster; leader: Core; other: Core } {
  const cluster = new Cluster();
  const leader = cluster.core('a');
  const other = cluster.core('b');
  leader.lead();
  return { cluster, leader, other };
}

test('of nodes that are connected every scan before the end counts, in some seconds, also where a clock is behind', async () => {
  for (const [skewMs, endsMs] of [
    [0, 6_000],
    [-5_000, 11_000],
    [5_000, 6_000],
  ] as const) {
    const { cluster } = start();
    cluster.edge('e', skewMs);
    await cluster.until(60_000);
    expect(cluster.ended).toMatchObject([{ by: 'a', scans: cluster.answered }]);
    expect(cluster.ended[0]?.afterMs).toBeLessThan(endsMs);
  }
});

test('a node that is cut off around the end is waited for until its scans are here', async () => {
  const { cluster } = start();
  cluster.edge('e');
  cluster.edge('f');
  await cluster.until(-1_500);
  cluster.network.cutOff.add('e');
  await cluster.until(1_500);
  cluster.network.cutOff.clear();
  await cluster.until(10_000);
  expect(cluster.ended).toMatchObject([{ scans: cluster.answered }]);
  expect(cluster.ended[0]?.afterMs).toBeLessThan(6_000);

  const longer = start().cluster;
  longer.edge('e');
  await longer.until(-1_500);
  longer.network.cutOff.add('e');
  await longer.until(30_000);
  expect(longer.ended).toEqual([]);
  longer.network.cutOff.clear();
  await longer.until(40_000);
  expect(longer.ended).toMatchObject([{ scans: longer.answered }]);
});

test('a node that was killed is waited for until it runs again, and a minute at most', async () => {
  const { cluster } = start();
  const edge = cluster.edge('e');
  await cluster.until(-1_000);
  cluster.network.cutOff.add('e');
  await cluster.until(-500);
  edge.die();
  await cluster.until(20_000);
  expect(cluster.ended).toEqual([]);
  cluster.network.cutOff.clear();
  edge.start();
  await cluster.until(30_000);
  expect(cluster.ended).toMatchObject([{ scans: cluster.answered }]);

  const dead = start().cluster;
  const lost = dead.edge('e');
  await dead.until(-1_000);
  dead.network.cutOff.add('e');
  await dead.until(-500);
  lost.die();
  await dead.until(61_900);
  expect(dead.ended).toEqual([]);
  await dead.until(64_000);
  expect(dead.ended).toMatchObject([{ scans: dead.answered - 5 }]);
});

test('a node that has ended or has left holds no end up', async () => {
  const ended = start().cluster;
  const edge = ended.edge('e');
  await ended.until(-5_000);
  edge.end();
  await ended.until(6_000);
  expect(ended.ended).toMatchObject([{ scans: ended.answered }]);

  const left = start().cluster;
  left.edge('e').die();
  await left.until(10_000);
  expect(left.ended).toEqual([]);
  left.left.add('e');
  await left.until(12_000);
  expect(left.ended).toMatchObject([{ by: 'a' }]);
  const { afterMs = 0 } = left.ended[0] ?? {};
  expect(afterMs).toBeGreaterThan(10_000);
});

test('a core that begins to lead meanwhile waits for the same, and ends it once', async () => {
  const { cluster, leader, other } = start();
  cluster.edge('e');
  const stopped = cluster.edge('s');
  await cluster.until(-3_000);
  stopped.end();
  await cluster.until(-1_500);
  cluster.network.cutOff.add('e');
  await cluster.until(5_000);
  leader.standBy();
  await cluster.until(9_000);
  other.lead();
  await cluster.until(12_000);
  expect(cluster.ended).toEqual([]);
  cluster.network.cutOff.clear();
  await cluster.until(80_000);
  expect(cluster.ended).toMatchObject([{ by: 'b', scans: cluster.answered }]);
  expect(cluster.ended[0]?.afterMs).toBeLessThan(16_000);
});
