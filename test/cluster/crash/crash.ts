/**
 * A crash run of the replicated log: three brokers, three cores, clients, faults; then everything heals, and what the
 * cores hold is compared with every answer.
 *
 *   warm-up ──▶ faults under load ──▶ several at once ──▶ healed, clients wait ──▶ cores are equal
 *                                                                                       │
 *        compared ◀── cores are equal ◀── a write is done ◀── clients go on ◀────────────┘
 */
import { join } from 'node:path';
import { openNats } from '../../../src/cluster/nats/nats-connection.ts';
import { ensureStreamSoon } from '../../../src/cluster/nats/nats-stream.ts';
import { Random } from '../../crash/random.ts';
import { pause } from '../../support/process.ts';
import type { Brokers } from '../../../config/demo/brokers.ts';
import { startBrokers } from '../nats/brokers.ts';
import { CuttablePath } from '../nats/cuttable-path.ts';
import type { NatsServer } from '../../../config/demo/nats-server.ts';
import { becomeEqual, differing, stops, wrongWrites } from './checks.ts';
import { activeOf, Clients, type Load } from './clients.ts';
import { Core } from './core.ts';
import { Failovers } from './failovers.ts';
import type { FaultKind } from './fault-kinds.ts';
import { Faults } from './faults.ts';
import { Ledger } from './ledger.ts';
import { stream, subject } from './messages.ts';
import { runInFolder } from './kept-folder.ts';

export interface CrashOptions {
  readonly server: NatsServer;
  readonly seconds: number;
  readonly seed: number;
  readonly isSingle: boolean;
  readonly load: Load;
  /** Empty: no faults, for figures. */
  readonly kinds: readonly FaultKind[];
  /** Until the cores are equal after healing. */
  readonly equalMsMax: number;
}

export interface CrashResult {
  readonly ledger: Ledger;
  readonly failovers: Failovers;
  readonly faultCounts: ReadonlyMap<FaultKind, number>;
  /** Of the load, the warm-up left out. */
  readonly loadMs: number;
  /** Entries of writes in that time. */
  readonly batches: number;
  /** From the moment at which everything had healed until all were equal; clients do not write meanwhile. */
  readonly equalMs: number | undefined;
  /** From the same moment until a write was done; clients waited until all were equal. */
  readonly writtenMs: number | undefined;
  readonly ignored: number;
  readonly restarts: number;
  /** Set when a check failed. */
  readonly evidence: string | undefined;
}

const warmUpMs = 2_000;
/** After everything has healed. */
const recoveredMsMax = 60_000;
const settledMsMax = 10_000;

export const runCrashes = (options: CrashOptions): Promise<CrashResult> =>
  runInFolder('quietzone-cluster-', (folder) => new CrashRun(options, folder));

class CrashRun {
  readonly #options: CrashOptions;
  readonly #folder: string;
  readonly #random: Random;
  readonly #ledger = new Ledger();
  readonly #failovers = new Failovers(this.#ledger);
  readonly #cores: Core[] = [];
  readonly #paths: CuttablePath[] = [];
  readonly #startedMs = performance.now();
  readonly #trace: string[] = [];
  #brokers: Brokers | undefined;

  constructor(options: CrashOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
    this.#random = new Random(options.seed);
  }

  readonly #note = (line: string): void => {
    const seconds = ((performance.now() - this.#startedMs) / 1_000).toFixed(3);
    this.#trace.push(`${seconds.padStart(9)}  ${line}`);
  };

  async run(): Promise<CrashResult> {
    const { load, kinds, seconds } = this.#options;
    const brokers = await this.#startBrokers();
    await this.#startCores(brokers);
    const cores = this.#cores;
    const clients = new Clients({ cores, ledger: this.#ledger, random: this.#random.fork(), load });
    clients.start();
    if (!(await this.#failovers.recovered(recoveredMsMax))) this.#ledger.fault('no first write');
    await pause(warmUpMs);
    this.#ledger.latencies = [];
    const before = await this.#status();
    const loadStartMs = performance.now();
    const faults = this.#faults(brokers, kinds);
    if (kinds.length > 0) await faults?.run(loadStartMs + seconds * 1_000);
    else await pause(seconds * 1_000);
    const loadMs = performance.now() - loadStartMs;
    const batches = (await this.#status()).n - before.n;
    const healing = await this.#heal(faults, clients);
    const ends = await Promise.all(cores.map((core) => core.status()));
    await Promise.all(cores.map((core) => core.kill()));
    await this.#check();
    return {
      ledger: this.#ledger,
      failovers: this.#failovers,
      faultCounts: faults?.counts ?? new Map(),
      loadMs,
      batches,
      ...healing,
      ignored: Math.max(...ends.map((end) => end?.ignored ?? 0)),
      restarts: ends.reduce((sum, end) => sum + (end?.restarts ?? 0), 0),
      evidence: this.#ledger.faultCount > 0 ? this.#evidence() : undefined,
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#cores.map((core) => core.kill()));
    await Promise.all(this.#paths.map((path) => path.close()));
    await this.#brokers?.close();
  }

  async #startBrokers(): Promise<Brokers | undefined> {
    const { isSingle, server } = this.#options;
    if (isSingle) return undefined;
    const brokers = await startBrokers({ count: 3, folder: join(this.#folder, 'nats'), server });
    this.#brokers = brokers;
    const connection = await openNats({ servers: brokers.urls, nodeName: 'run' });
    await ensureStreamSoon(connection, { stream, subject, replicas: 3 });
    await connection.close();
    return brokers;
  }

  async #startCores(brokers: Brokers | undefined): Promise<void> {
    const names = brokers === undefined ? ['core1'] : ['core1', 'core2', 'core3'];
    for (const name of names) {
      const path = brokers && (await CuttablePath.open(brokers.all.map((broker) => broker.port)));
      if (path !== undefined) this.#paths.push(path);
      const { isSingle } = this.#options;
      this.#cores.push(new Core({ name, folder: this.#folder, isSingle, path, note: this.#note }));
    }
    for (const core of this.#cores) core.start();
  }

  #faults(brokers: Brokers | undefined, kinds: readonly FaultKind[]): Faults | undefined {
    if (brokers === undefined) return undefined;
    return new Faults({
      cores: this.#cores,
      active: () => activeOf(this.#cores),
      streams: [stream],
      brokers,
      random: this.#random.fork(),
      kinds,
      failovers: this.#failovers,
      note: this.#note,
    });
  }

  async #status(): Promise<{ readonly n: number }> {
    const all = await Promise.all(
      this.#cores.filter(({ isWell }) => isWell).map((core) => core.status()),
    );
    return { n: Math.max(0, ...all.map((status) => status?.n ?? 0)) };
  }

  async #heal(
    faults: Faults | undefined,
    clients: Clients,
  ): Promise<Pick<CrashResult, 'writtenMs' | 'equalMs'>> {
    if (this.#options.kinds.length > 0) await faults?.finish();
    const healedMs = performance.now();
    this.#note('everything has healed');
    await clients.stop();
    const equalMs = await this.#equalAfter(healedMs);
    this.#failovers.mark();
    clients.start();
    const isWritten = await this.#failovers.recovered(recoveredMsMax);
    const writtenMs = isWritten ? this.#failovers.firstMs - healedMs : undefined;
    if (!isWritten) this.#ledger.fault(`no write is done ${recoveredMsMax} ms after healing`);
    await clients.stop();
    await clients.settled(settledMsMax);
    await this.#equalAfter(performance.now());
    return { writtenMs, equalMs };
  }

  /** Until all have replayed the same log. */
  async #equalAfter(fromMs: number): Promise<number | undefined> {
    if (this.#brokers === undefined) return undefined;
    const { equalMsMax } = this.#options;
    const equal = await becomeEqual(this.#cores, recoveredMsMax);
    const equalMs = equal && performance.now() - fromMs;
    if (equalMs === undefined || equalMs > equalMsMax) {
      this.#ledger.fault(`cores are not equal after ${equalMsMax} ms, but after ${equalMs}`);
    }
    return equalMs;
  }

  async #check(): Promise<void> {
    const serving = this.#cores.filter(({ stop }) => stop === undefined);
    const faults = [...stops(this.#cores), ...(await differing(serving))];
    for (const core of serving) faults.push(...(await wrongWrites(core, this.#ledger)));
    for (const { name, errors } of this.#cores) {
      if (errors !== '') faults.push(`${name} wrote: ${errors.slice(0, 2_000)}`);
    }
    for (const fault of faults) this.#ledger.fault(fault);
  }

  #evidence(): string {
    const logs = this.#brokers?.logs() ?? '';
    return `${this.#trace.join('\n')}\n${logs}\nkept: ${this.#folder}`;
  }
}
