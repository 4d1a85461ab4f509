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
import { dayMs } from '../../../src/model/day.ts';
import { askEveryLink } from '../../crash/every-link.ts';
import { compare, type Comparison } from '../../crash/comparison.ts';
import { Random } from '../../crash/random.ts';
import { freePorts, pause } from '../../support/process.ts';
import type { Brokers } from '../../../config/demo/brokers.ts';
import { startBrokers } from '../nats/brokers.ts';
import { CuttablePath } from '../nats/cuttable-path.ts';
import type { NatsServer } from '../../../config/demo/nats-server.ts';
import { Beats } from './beats.ts';
import { Clients } from './clients.ts';
import { ClusterLedger } from './cluster-ledger.ts';
import { becomeEqual, type Equality } from './copies.ts';
import { Failovers } from './failovers.ts';
import { type FaultKind, Faults } from './faults.ts';
import { type NodeOptions, type NodeRole, ServiceNode } from './node.ts';
import { Deliveries } from './deliveries.ts';

export interface CrashOptions {
  readonly server: NatsServer;
  readonly seconds: number;
  readonly seed: number;
  /** Empty: no faults, for figures. */
  readonly kinds: readonly FaultKind[];
  /** Until the cores are equal after healing. */
  readonly equalMsMax: number;
}

export interface CrashResult {
  readonly ledger: ClusterLedger;
  readonly failovers: Failovers;
  readonly faultCounts: ReadonlyMap<FaultKind, number>;
  readonly nodes: readonly ServiceNode[];
  readonly loadMs: number;
  /** From the moment at which everything had healed until a write was answered. */
  readonly writtenMs: number | undefined;
  readonly equality: Equality;
  /** By core: what it has stored, against the ledger. */
  readonly comparisons: ReadonlyArray<{ readonly name: string } & Comparison>;
  /** Of a failed check. */
  readonly evidence: string | undefined;
}

const roles: readonly NodeRole[] = ['all', 'all', 'all', 'edge'];
const keyMsMax = 60_000;
const warmUpMs = 3_000;
/** After everything has healed; processes that start need some of it. */
const recoveredMsMax = 60_000;
const settledMsMax = 30_000;
/** Short, so that a run ends; as many as the real ones. */
const retryDelaysMs = '50,100,200,400,800,1600,3200';
/** A living node that answers no phone for so long. */
const silentMsMax = 10_000;

/** Runs in a new folder, which stays only if a check failed. */
export async function runCrashes(options: CrashOptions): Promise<CrashResult> {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-cluster-'));
  const run = new CrashRun(options, folder);
  try {
    const result = await run.run();
    if (result.evidence === undefined) rmSync(folder, { recursive: true });
    return result;
  } finally {
    await run.close();
  }
}

class CrashRun {
  readonly #options: CrashOptions;
  readonly #folder: string;
  readonly #random: Random;
  readonly #ledger = new ClusterLedger();
  readonly #failovers = new Failovers(this.#ledger);
  readonly #deliveries: Deliveries;
  readonly #nodes: ServiceNode[] = [];
  readonly #closers: Array<() => Promise<unknown>> = [];
  readonly #trace: string[] = [];
  #brokers: Brokers | undefined;

  constructor(options: CrashOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
    this.#random = new Random(options.seed);
    this.#deliveries = new Deliveries(this.#random.fork());
  }

  readonly #note = (line: string): void => {
    this.#trace.push(`${this.#ledger.secondsNow().padStart(9)}  ${line}`);
  };

  get #cores(): readonly ServiceNode[] {
    return this.#nodes.filter(({ role }) => role === 'all');
  }

  async run(): Promise<CrashResult> {
    const { server, kinds, seconds } = this.#options;
    const firstDay = Math.floor(Date.now() / dayMs);
    const brokers = await startBrokers({ count: 3, folder: join(this.#folder, 'nats'), server });
    this.#brokers = brokers;
    await this.#startNodes(brokers);
    const clients = await this.#openClients(brokers);
    clients.start();
    if (!(await this.#failovers.recovered(recoveredMsMax))) this.#ledger.note('no first write');
    await pause(warmUpMs);
    this.#ledger.latencies.length = 0;
    const loadStartMs = performance.now();
    const faults = this.#faults(brokers);
    if (kinds.length > 0) await faults.run(loadStartMs + seconds * 1_000);
    else await pause(seconds * 1_000);
    const loadMs = performance.now() - loadStartMs;
    const writtenMs = await this.#heal(faults);
    const equality = await this.#settle(clients);
    await this.#terminate();
    const days = { first: firstDay, last: Math.floor(Date.now() / dayMs) };
    const comparisons = await this.#compare(days);
    this.#checkNodes();
    return {
      ledger: this.#ledger,
      failovers: this.#failovers,
      faultCounts: faults.counts,
      nodes: this.#nodes,
      loadMs,
      writtenMs,
      equality,
      comparisons,
      evidence: this.#ledger.unexpectedCount > 0 ? this.#evidence() : undefined,
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.close()));
    await Promise.all(this.#closers.map((close) => close()));
    await this.#brokers?.close();
  }

  async #startNodes(brokers: Brokers): Promise<void> {
    const environment = settingsOf(this.#random.fork());
    for (const [at, role] of roles.entries()) {
      const name = role === 'edge' ? 'edge1' : `node${at + 1}`;
      const own = role === 'edge' ? { ...environment, QZ_CLUSTER_SECRET: '' } : environment;
      this.#nodes.push(await this.#makeNode(brokers, { name, role, environment: own }));
    }
    for (const node of this.#nodes) node.start();
  }

  async #makeNode(
    brokers: Brokers,
    options: Pick<NodeOptions, 'name' | 'role' | 'environment'>,
  ): Promise<ServiceNode> {
    const path = await CuttablePath.open(brokers.all.map((broker) => broker.port));
    this.#closers.push(() => path.close());
    return new ServiceNode({
      ...options,
      folder: this.#folder,
      ports: await freePorts(),
      path,
      ledger: this.#ledger,
      random: this.#random.fork(),
      note: this.#note,
    });
  }

  /** Resolves when the first node that led has shown the first key, and all are ready. */
  async #openClients(brokers: Brokers): Promise<Clients> {
    const apiKey = await this.#firstKey();
    await Promise.all(this.#nodes.map((node) => node.ready()));
    await this.#deliveries.open(this.#nodes[0]!.apiUrl, apiKey);
    this.#closers.push(() => this.#deliveries.receipts.close());
    const beats = await Beats.open(brokers.urls);
    this.#closers.push(() => beats.close());
    const nodes = [...this.#nodes];
    const ledger = this.#ledger;
    const clients = new Clients({
      nodes,
      ledger,
      beats,
      random: this.#random.fork(),
      apiKey,
    });
    await pause(warmUpMs);
    for (const { name } of nodes) if (!beats.knows(name)) ledger.note(`${name} sends no beats`);
    return clients;
  }

  async #firstKey(): Promise<string> {
    const untilMs = performance.now() + keyMsMax;
    while (performance.now() < untilMs) {
      for (const { stdout } of this.#nodes) {
        const key = /API key +(\S+)/.exec(stdout)?.[1];
        if (key !== undefined) return key;
      }
      await pause(50);
    }
    throw new Error(`No node has shown the first key within ${keyMsMax} ms\n${this.#evidence()}`);
  }

  get #active(): ServiceNode | undefined {
    return this.#nodes.find(({ isActive, isUp }) => isActive && isUp);
  }

  #faults(brokers: Brokers): Faults {
    return new Faults({
      nodes: this.#nodes,
      active: () => this.#active,
      streams: ['CORE', 'SCANS'],
      brokers,
      random: this.#random.fork(),
      kinds: this.#options.kinds,
      failovers: this.#failovers,
      note: this.#note,
    });
  }

  /** @returns milliseconds from the moment at which everything ran again until a write was answered */
  async #heal(faults: Faults): Promise<number | undefined> {
    if (this.#options.kinds.length > 0) await faults.finish();
    await Promise.all(this.#nodes.map((node) => node.ready()));
    const healedMs = performance.now();
    this.#note('everything has healed');
    this.#failovers.mark();
    if (await this.#failovers.recovered(recoveredMsMax)) return this.#failovers.firstMs - healedMs;
    this.#ledger.note(`no write is answered ${recoveredMsMax} ms after healing`);
    return undefined;
  }

  /** Nothing is asked for any more, every link is asked once, and the cores become equal. */
  async #settle(clients: Clients): Promise<Equality> {
    if (!(await clients.stop(settledMsMax))) {
      this.#ledger.note(`requests have no answer ${settledMsMax} ms after healing`);
    }
    await Promise.all(this.#nodes.map((node) => node.stopScanning()));
    for (const { ports } of this.#nodes) await askEveryLink(this.#ledger, ports.redirect);
    this.#note('every link was asked');
    await this.#deliveries.settle(this.#nodes);
    const { equalMsMax } = this.#options;
    const answered = this.#answeredByPeople();
    const equality = await becomeEqual(this.#cores, this.#folder, answered, recoveredMsMax);
    if (equality.ms === undefined || equality.ms > equalMsMax) {
      this.#ledger.note(`cores are not equal after ${equalMsMax} ms, but after ${equality.ms}`);
      for (const difference of equality.differences) this.#ledger.note(difference);
    }
    return equality;
  }

  #answeredByPeople(): number {
    const scans = this.#ledger.codes.map((code) => code.scans);
    return scans.reduce(
      (sum, { ios, android, other }) => sum + ios.answered + android.answered + other.answered,
      0,
    );
  }

  async #terminate(): Promise<void> {
    const exits = await Promise.all(
      this.#nodes.map(async (node) => ({ name: node.name, exit: await node.terminate() })),
    );
    for (const { name, exit } of exits) {
      if (exit?.code !== 0) this.#ledger.note(`${name} ended with ${JSON.stringify(exit)}`);
    }
  }

  /** Each core's stores, in which every answered scan and write must be. */
  async #compare(days: {
    readonly first: number;
    readonly last: number;
  }): Promise<Array<{ name: string } & Comparison>> {
    const comparisons: Array<{ name: string } & Comparison> = [];
    for (const { name, dataDir } of this.#cores) {
      this.#ledger.speaker = name;
      const { receipts } = this.#deliveries;
      const comparison = await compare(this.#ledger, dataDir, days, { receipts });
      const { lost, duplicated, writesLost, lostScans } = comparison;
      if (lost > 0) this.#ledger.note(`${lost} scans are lost: ${lostScans.join(', ')}`);
      if (duplicated > 0) this.#ledger.note(`${duplicated} scans are counted twice`);
      if (writesLost > 0) this.#ledger.note(`${writesLost} writes are lost`);
      this.#checkReceipts(comparison);
      comparisons.push({ name, ...comparison });
    }
    this.#ledger.speaker = undefined;
    return comparisons;
  }

  /** Delivered at least once, and never with other bytes. */
  #checkReceipts({ receipts }: Comparison): void {
    const { missing = 0, altered = 0 } = receipts ?? {};
    if (missing > 0) this.#ledger.note(`${missing} events were not delivered`);
    if (altered > 0) this.#ledger.note(`${altered} events were delivered with other bytes`);
    const doubleIds = this.#deliveries.doubleIds.size;
    if (doubleIds > 0) this.#ledger.note(`${doubleIds} webhook-ids came with two bodies`);
  }

  /** No fault of a broker or another node stops a redirect. */
  #checkNodes(): void {
    for (const { name, view, broken } of this.#nodes) {
      if (broken > 0) this.#ledger.note(`${name} broke ${broken} requests while it lived`);
      if (view.silentMsMax > silentMsMax) {
        this.#ledger.note(`${name} answered no phone for ${view.silentMsMax.toFixed(0)} ms`);
      }
    }
  }

  #evidence(): string {
    for (const node of this.#nodes) node.writeLog();
    writeFileSync(join(this.#folder, 'trace.txt'), this.#trace.join('\n'));
    writeFileSync(join(this.#folder, 'brokers.txt'), this.#brokers?.logs() ?? '');
    writeFileSync(join(this.#folder, 'unexpected.txt'), this.#ledger.unexpected.join('\n'));
    return `${this.#trace.join('\n')}\nkept: ${this.#folder}`;
  }
}

/** Of all nodes of a run, drawn from its seed. */
const settingsOf = (random: Random): Readonly<Record<string, string>> => ({
  QZ_CLUSTER_SECRET: `secret-of-the-crash-run-${random.between(1_000_000, 10_000_000)}-0123456789`,
  QZ_BOOTSTRAP_PLAN: 'enterprise',
  QZ_TRUSTED_PROXIES: '127.0.0.0/8',
  QZ_REDIRECT_THREADS: String(random.between(1, 3)),
  QZ_SCANS_SHARDS: String(random.between(1, 3)),
  QZ_SCANS_SEGMENT_MS_MAX: String(random.pick([10, 500, 60_000])),
  QZ_IMAGES_THREADS: '1',
  QZ_WEBHOOKS_THREADS: '1',
  QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
  QZ_WEBHOOKS_RETRY_DELAYS_MS: retryDelaysMs,
});
