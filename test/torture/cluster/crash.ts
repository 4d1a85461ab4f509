/**
 * A crash run of whole services: three brokers, three cores and an edge, phones and API clients at all of them, a
 * receiver of webhooks, faults; then everything heals, and what each core holds is compared with every answer.
 *
 *   key shown ──▶ warm-up ──▶ faults under load ──▶ several at once ──▶ healed ──▶ a write is answered
 *                                                                                       │
 *   each store compared ◀── SIGTERM ◀── cores are equal ◀── every link asked ◀── load off ◀┘
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Brokers } from '../../../config/demo/brokers.ts';
import type { NatsServer } from '../../../config/demo/nats-server.ts';
import type { NatsConnection } from '../../../src/cluster/nats/nats-connection.ts';
import { type Beat, readBeat } from '../../../src/cluster/nodes/beat-message.ts';
import { openNats, startBrokers } from '../../cluster/nats/brokers.ts';
import { CuttablePath } from '../../cluster/nats/cuttable-path.ts';
import { freePorts, pause } from '../../support/process.ts';
import { Random } from '../random.ts';
import { Clients } from '../clients.ts';
import { askEveryLink, compare, today } from '../comparison.ts';
import { Ledger, tallyOf } from '../ledger.ts';
import { EventReceiver, toLoopback } from '../receiver.ts';
import {
  milliseconds,
  type Report,
  type Row,
  rowsOfComparison,
  rowsOfLoad,
  rowsOfPhones,
  spread,
} from '../report.ts';
import { drawSettings } from '../site.ts';
import { becomeEqual, type Equality } from './copies.ts';
import { Failovers, type FaultKind, Faults } from './faults.ts';
import { type NodeRole, ServiceNode } from './node.ts';

export interface ClusterOptions {
  readonly server: NatsServer;
  readonly seconds: number;
  readonly seed: number;
  /** Empty: no faults, for figures. */
  readonly kinds: readonly FaultKind[];
  /** Until the cores are equal after healing. */
  readonly equalMsMax: number;
  readonly onLine: (line: string) => void;
}

/** All together send fewer than the 600 requests a minute of the plan. */
const clientLoad = {
  writers: 4,
  readers: 2,
  codesOfEach: 5,
  betweenMs: { writes: 550, reads: 1_000 },
  // So that not even a long outage uses up the requests of a minute.
  againMs: { from: 150, to: 450 },
  // Longer than a leader waits for nodes that are behind, and shorter than most freezes.
  answerMsMax: 4_000,
  mayRefuse: true,
  hasLimits: false,
} as const;
const roles: readonly NodeRole[] = ['all', 'all', 'all', 'edge'];
const keyMsMax = 60_000;
const warmUpMs = 3_000;
/** After everything has healed; processes that start need some of it. */
const recoveredMsMax = 60_000;
const settledMsMax = 30_000;

/** Runs in a new folder, which stays only if a check failed. */
export async function runCluster(options: ClusterOptions): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-cluster-'));
  const run = new ClusterRun(options, folder);
  try {
    const report = await run.run();
    if (report.ledger.faultCount === 0) rmSync(folder, { recursive: true });
    else run.keepEvidence();
    return report;
  } finally {
    await run.close();
  }
}

class ClusterRun {
  readonly #options: ClusterOptions;
  readonly #folder: string;
  readonly #random: Random;
  readonly #ledger: Ledger;
  readonly #failovers: Failovers;
  readonly #receiver: EventReceiver;
  readonly #nodes: ServiceNode[] = [];
  readonly #closers: Array<() => Promise<unknown>> = [];
  #brokers: Brokers | undefined;
  #beats: Beats | undefined;

  constructor(options: ClusterOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
    this.#ledger = new Ledger(options.onLine);
    this.#failovers = new Failovers(this.#ledger);
    this.#random = new Random(options.seed);
    this.#receiver = new EventReceiver(this.#random.fork());
  }

  get #cores(): readonly ServiceNode[] {
    return this.#nodes.filter(({ role }) => role === 'all');
  }

  async run(): Promise<Report> {
    const { server, kinds, seconds } = this.#options;
    const ledger = this.#ledger;
    const failovers = this.#failovers;
    const firstDay = today();
    const brokers = await startBrokers({ count: 3, folder: join(this.#folder, 'nats'), server });
    this.#brokers = brokers;
    await this.#startNodes(brokers);
    const nodes = this.#nodes;
    const clients = await this.#openClients(brokers);
    if (!(await failovers.recovered(recoveredMsMax))) ledger.note('no first write');
    await pause(warmUpMs);
    ledger.latencies.length = 0;
    const random = this.#random.fork();
    const faults = new Faults({ nodes, brokers, random, kinds, failovers, ledger });
    if (kinds.length > 0) await faults.run(performance.now() + seconds * 1_000);
    else await pause(seconds * 1_000);
    await this.#heal(faults);
    const equality = await this.#settle(clients);
    await Promise.all(nodes.map((node) => node.terminate()));
    const stored = await this.#compare(firstDay);
    const counts = [...faults.counts].map(([kind, count]) => `${kind} ${count}`);
    const rows: Row[] = [
      ['faults', counts.join(', ') || 'none'],
      ...[...failovers.measured].map(([kind, ms]): Row => [`until written, ${kind}`, spread(ms)]),
      ['until written, all', spread([...failovers.measured.values()].flat())],
      ...rowsOfLoad(ledger),
      ['nodes that must know', `${ledger.promised}, X-Links-Behind ${ledger.linksBehind}`],
      ...nodes.flatMap(({ phones }) => rowsOfPhones(phones)),
      ['load off, until equal', milliseconds(equality.ms)],
      ...stored,
    ];
    return { ledger, rows };
  }

  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.close()));
    await Promise.all(this.#closers.map((close) => close()));
    await this.#brokers?.close();
  }

  async #startNodes(brokers: Brokers): Promise<void> {
    const settings = settingsOf(this.#random.fork());
    for (const [at, role] of roles.entries()) {
      const name = role === 'edge' ? 'edge1' : `node${at + 1}`;
      const path = await CuttablePath.open(brokers.all.map((broker) => broker.port));
      this.#closers.push(() => path.close());
      this.#nodes.push(
        new ServiceNode({
          name,
          role,
          environment: role === 'edge' ? { ...settings, QZ_CLUSTER_SECRET: '' } : settings,
          folder: this.#folder,
          ports: await freePorts(),
          path,
          ledger: this.#ledger,
          random: this.#random.fork(),
          isConnected: () => this.#beats?.isConnected(name) === true,
        }),
      );
    }
    for (const node of this.#nodes) node.start();
  }

  /** Resolves when the first node that led has shown the first key, and all are ready. */
  async #openClients(brokers: Brokers): Promise<Clients> {
    const apiKey = await this.#firstKey();
    await Promise.all(this.#nodes.map((node) => node.ready()));
    this.#closers.push(() => this.#receiver.close());
    await this.#receiver.open(this.#nodes[0]!.apiUrl, apiKey);
    const beats = await Beats.open(brokers.urls);
    this.#beats = beats;
    this.#closers.push(() => beats.close());
    await pause(warmUpMs);
    for (const { name } of this.#nodes) {
      if (!beats.knows(name)) this.#ledger.note(`${name} sends no beats`);
    }
    const random = this.#random.fork();
    return new Clients({
      ...clientLoad,
      ledger: this.#ledger,
      random,
      views: this.#nodes.map(({ view }) => view),
      pick: () => {
        const up = this.#cores.filter(({ isUp }) => isUp);
        if (up.length === 0) return undefined;
        const node = random.pick(up);
        return { name: node.name, client: node.api(apiKey) };
      },
      onWritten: async (code) => {
        await Promise.all(this.#nodes.map((node) => node.probe(code)));
      },
    });
  }

  async #firstKey(): Promise<string> {
    const untilMs = performance.now() + keyMsMax;
    while (performance.now() < untilMs) {
      const shown = this.#nodes.map(({ stdout }) => /API key +(\S+)/.exec(stdout)?.[1]);
      const key = shown.find((one) => one !== undefined);
      if (key !== undefined) return key;
      await pause(50);
    }
    this.keepEvidence();
    throw new Error(`No node has shown the first key within ${keyMsMax} ms`);
  }

  /** Everything runs again, and a write is answered. */
  async #heal(faults: Faults): Promise<void> {
    if (this.#options.kinds.length > 0) await faults.finish();
    await Promise.all(this.#nodes.map((node) => node.ready()));
    this.#ledger.tell('everything has healed');
    this.#failovers.begin('healed');
    if (await this.#failovers.recovered(recoveredMsMax)) return;
    this.#ledger.note(`no write is answered ${recoveredMsMax} ms after healing`);
  }

  /** Nothing is asked for any more, every link is asked once, and the cores become equal. */
  async #settle(clients: Clients): Promise<Equality> {
    const ledger = this.#ledger;
    await clients.stop(settledMsMax);
    await Promise.all(this.#nodes.map(({ phones }) => phones.finish(settledMsMax)));
    for (const { ports } of this.#nodes) await askEveryLink(ledger, ports.redirect);
    ledger.tell('every link was asked');
    await this.#receiver.settle(() => this.#cores.find(({ isActive }) => isActive)?.apiUrl);
    const { equalMsMax } = this.#options;
    const answered = ledger.codes.reduce((sum, code) => sum + tallyOf(code).answered, 0);
    const equality = await becomeEqual(this.#cores, this.#folder, answered, recoveredMsMax);
    if (equality.ms === undefined || equality.ms > equalMsMax) {
      ledger.note(`cores are not equal after ${equalMsMax} ms, but after ${equality.ms}`);
      for (const difference of equality.differences) ledger.note(difference);
    }
    return equality;
  }

  /** Each core's stores, in which every answered scan and write must be. */
  async #compare(firstDay: number): Promise<Row[]> {
    const rows: Row[] = [];
    for (const { name, dataDir } of this.#cores) {
      this.#ledger.speaker = name;
      const comparison = await compare(this.#ledger, dataDir, firstDay, this.#receiver);
      rows.push(...rowsOfComparison(name, comparison));
    }
    this.#ledger.speaker = undefined;
    return rows;
  }

  keepEvidence(): void {
    for (const node of this.#nodes) node.writeLog();
    writeFileSync(join(this.#folder, 'brokers.txt'), this.#brokers?.logs() ?? '');
    this.#ledger.tell(`kept: ${this.#folder}`);
  }
}

/** Of all nodes of a run, drawn from its seed. */
const settingsOf = (random: Random): Readonly<Record<string, string>> => ({
  QZ_CLUSTER_SECRET: `secret-of-the-crash-run-${random.between(1_000_000, 10_000_000)}-0123456789`,
  QZ_BOOTSTRAP_PLAN: 'enterprise',
  QZ_TRUSTED_PROXIES: '127.0.0.0/8',
  ...drawSettings(random),
  QZ_IMAGES_THREADS: '1',
  QZ_WEBHOOKS_THREADS: '1',
  ...toLoopback,
});

/** Shorter than a leader's: a node whose beats come late is not counted on. */
const recentBeatMs = 1_000;
/** So long without a gap. */
const steadyBeatsMs = 2_000;

interface Received {
  /** The start of its process. */
  readonly instance: string;
  atMs: number;
  /** Since then no beat was late. */
  sinceMs: number;
}

/**
 * Which nodes are connected, as the brokers have it: each node publishes a beat every 500 ms, and a leader waits for
 * those whose last one came within 2 s. Received here over a connection to each broker, so that a broker that dies hides
 * no node.
 */
class Beats {
  readonly #connections: readonly NatsConnection[];
  readonly #received = new Map<string, Received>();

  private constructor(connections: readonly NatsConnection[]) {
    this.#connections = connections;
    for (const connection of connections) {
      for (const subject of ['qz.nodes.*', 'qz.edge.*.beat']) {
        connection.subscribe(subject, (bytes) => this.#take(readBeat(bytes)));
      }
    }
  }

  static async open(urls: readonly string[]): Promise<Beats> {
    const options = urls.map((url) => ({ servers: [url], nodeName: 'run' }));
    return new Beats(await Promise.all(options.map(openNats)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  /** @returns whether a beat of this node ever came */
  knows(node: string): boolean {
    return this.#received.has(node);
  }

  isConnected(node: string): boolean {
    const received = this.#received.get(node);
    const nowMs = performance.now();
    return (
      received !== undefined &&
      nowMs - received.atMs < recentBeatMs &&
      nowMs - received.sinceMs > steadyBeatsMs
    );
  }

  #take(beat: Beat | undefined): void {
    if (beat === undefined) return;
    const { name, instance, isLast } = beat;
    const nowMs = performance.now();
    const received = this.#received.get(name);
    const isSame = received?.instance === instance && nowMs - received.atMs <= recentBeatMs;
    // The last one of a process comes again from each broker.
    if (isLast) this.#received.set(name, { instance, atMs: -Infinity, sinceMs: nowMs });
    else if (isSame) received.atMs = nowMs;
    else this.#received.set(name, { instance, atMs: nowMs, sinceMs: nowMs });
  }
}
