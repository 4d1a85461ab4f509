/**
 * One node of a crash run: `quietzone serve` on a data folder and ports of its own, with its own way to the brokers, and
 * phones that scan at it whenever it listens.
 *
 *     down ──start──▶ up ──kill──▶ down      up ──pause──▶ frozen ──resume──▶ up      up ──ends itself──▶ started again
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../crash/random.ts';
import { Scanners } from '../../crash/scanners.ts';
import { Client } from '../../support/client.ts';
import {
  type Exit,
  pause,
  type Ports,
  type ProcessOptions,
  ServiceProcess,
  readMetrics,
} from '../../support/process.ts';
import type { Victim } from '../crash/victim.ts';
import type { CuttablePath } from '../nats/cuttable-path.ts';
import type { ClusterLedger } from './cluster-ledger.ts';
import { NodeView } from './node-view.ts';

export type NodeRole = 'all' | 'edge';

type Program = NonNullable<ProcessOptions['program']>;

export interface NodeOptions {
  readonly name: string;
  readonly role: NodeRole;
  /** Of all nodes: its data are in a folder of its name. */
  readonly folder: string;
  readonly ports: Ports;
  readonly path: CuttablePath;
  readonly environment: Readonly<Record<string, string>>;
  /** It starts as this program, until `upgrade`; absent = as the one of these sources. */
  readonly former: Program | undefined;
  readonly ledger: ClusterLedger;
  readonly random: Random;
  /** Scans. */
  readonly perSecond: number;
  readonly note: (line: string) => void;
}

const connections = 8;
/** As a supervisor of processes does. */
const startAgainMs = 500;
const askMs = 1_000;
/** After a freeze: the service ends connections that were idle for 8 s by its clock, with what has arrived on them. */
const thawMs = 1_500;
const finishMsMax = 10_000;
const answeredCheckMs = 20;

export class ServiceNode implements Victim {
  readonly #options: NodeOptions;
  readonly name: string;
  readonly role: NodeRole;
  readonly dataDir: string;
  readonly view: NodeView;
  #service: ServiceProcess | undefined;
  #scanners: Scanners | undefined;
  #isScanning = true;
  #isEnding = false;
  #program: Program | undefined;
  isPaused = false;
  isCut = false;
  /** As it said last; undefined while it is down. */
  isActive = false;
  /** It ended although nobody ended it. */
  ends = 0;
  /** Requests of phones that broke while nothing was done to it. */
  broken = 0;
  /** Of the present phones: what broke before the first answer, as a start tries whether its ports are free; in a freeze, or right after it, when connections are found to be too old. */
  #brokenInFreezes = 0;
  #brokenBefore: number | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.name = options.name;
    this.role = options.role;
    this.dataDir = join(options.folder, options.name);
    const { name, ledger, former } = options;
    this.view = new NodeView(name, ledger);
    this.#program = former;
  }

  get isUp(): boolean {
    return this.#service !== undefined;
  }

  get ports(): Ports {
    return this.#options.ports;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${this.ports.api}`;
  }

  /** What its present process wrote to standard output. */
  get stdout(): string {
    return this.#service?.stdout ?? '';
  }

  /** All that tells it, and commands of its machine, what it is; its folder and ports besides. */
  get environment(): Readonly<Record<string, string>> {
    const { path, environment, name } = this.#options;
    return {
      ...environment,
      QZ_CLUSTER_NATS: path.urls.join(','),
      QZ_CLUSTER_NODE_NAME: name,
      QZ_CLUSTER_ADVERTISE_URL: this.apiUrl,
    };
  }

  /** From its next start on it is the program of these sources. */
  upgrade(): void {
    this.#program = undefined;
  }

  start(): void {
    if (this.#service !== undefined) return;
    const { ports, role } = this.#options;
    const service = new ServiceProcess({
      dataDir: this.dataDir,
      ports,
      command: ['serve', '--role', role],
      environment: this.environment,
      ...(this.#program !== undefined && { program: this.#program }),
    });
    this.#service = service;
    this.#scan();
    void service.exit.then((exit) => this.#ended(service, exit));
  }

  async kill(): Promise<void> {
    const service = this.#service;
    if (service === undefined) return;
    this.#service = undefined;
    this.#leaveScanners();
    await service.kill();
    this.#down(service, 'killed');
  }

  /** SIGSTOP. */
  pause(): void {
    if (this.#service === undefined) return;
    this.isPaused = true;
    this.view.disturb();
    this.#brokenBefore ??= this.#scanners?.broken ?? 0;
    this.#service.signal('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.isPaused = false;
    this.#service?.signal('SIGCONT');
    this.view.disturb();
    const scanners = this.#scanners;
    const thawed = (): void => {
      if (this.#scanners === scanners && !this.isPaused) this.#leaveFreeze();
    };
    setTimeout(thawed, thawMs).unref();
  }

  cut(): void {
    this.isCut = true;
    this.#options.path.cut();
  }

  heal(): void {
    this.isCut = false;
    this.#options.path.heal();
  }

  async ready(): Promise<void> {
    await this.#service?.ready();
  }

  /** SIGTERM; how it ended. */
  async terminate(): Promise<(Exit & { readonly ms: number }) | undefined> {
    const service = this.#service;
    this.#service = undefined;
    if (service === undefined) return undefined;
    this.#leaveScanners();
    const exit = await service.terminate();
    this.#down(service, `terminated: ${JSON.stringify(exit)}`);
    return exit;
  }

  /** Phones ask for nothing more. Resolves when they are answered, or give up. */
  async stopScanning(): Promise<void> {
    this.#isScanning = false;
    const scanners = this.#scanners;
    if (scanners === undefined) return;
    const unanswered = await scanners.finish(finishMsMax);
    this.#leaveFreeze();
    this.broken += unanswered - this.#brokenInFreezes;
    this.#scanners = undefined;
  }

  /** Of /metrics; empty while it does not answer. */
  async metrics(): Promise<string> {
    if (!this.isUp || this.isPaused) return '';
    try {
      const signal = AbortSignal.timeout(askMs);
      return await readMetrics(this.apiUrl, { signal });
    } catch {
      return '';
    }
  }

  async close(): Promise<void> {
    this.#isEnding = true;
    this.#scanners?.drop();
    await this.kill();
  }

  /** What its present process logged, beside what those before it did. */
  writeLog(): void {
    this.#append(this.#service?.stderr ?? '', 'runs');
  }

  client(apiKey: string): Client {
    return new Client(this.apiUrl, apiKey);
  }

  #scan(): void {
    if (!this.#isScanning) return;
    const { ports, random, perSecond } = this.#options;
    const scanners = new Scanners({
      port: ports.redirect,
      ledger: this.view,
      random: random.fork(),
      connections,
      perSecond,
      // An idle one is ended by the service at the moment at which it is used again, now and then.
      use: 'evenly',
    });
    this.#scanners = scanners;
    const timer = setInterval(() => {
      if (this.#scanners !== scanners) clearInterval(timer);
      if (scanners.firstAnswerMs === undefined || this.#scanners !== scanners) return;
      clearInterval(timer);
      this.#brokenInFreezes += scanners.broken;
    }, answeredCheckMs);
  }

  /** Before it ends: what is in flight then is no fault of it. */
  #leaveScanners(): void {
    this.#leaveFreeze();
    this.broken += (this.#scanners?.broken ?? 0) - this.#brokenInFreezes;
    this.view.disturb();
  }

  #leaveFreeze(): void {
    if (this.#brokenBefore === undefined) return;
    this.#brokenInFreezes += (this.#scanners?.broken ?? 0) - this.#brokenBefore;
    this.#brokenBefore = undefined;
  }

  #down(service: ServiceProcess, how: string): void {
    this.#scanners?.drop();
    this.#scanners = undefined;
    this.#brokenInFreezes = 0;
    this.#brokenBefore = undefined;
    this.view.clear();
    this.isPaused = false;
    this.isActive = false;
    this.#append(service.stderr, how);
  }

  #append(log: string, how: string): void {
    for (const line of log.split('\n')) {
      // What a leader could not do after its lease: some of its timers still log that as an error.
      const isLapse = line.includes('"code":"not_active"');
      if (/^\{"level":"(error|fatal)"/.test(line) && !isLapse) {
        this.#options.ledger.note(`${this.name} logs ${line.slice(0, 500)}`);
      }
    }
    appendFileSync(join(this.#options.folder, `${this.name}.log`), `${log}--- ${how}\n`);
  }

  #ended(service: ServiceProcess, { code, signal }: Exit): void {
    if (this.#service !== service) return;
    this.#service = undefined;
    const how = `${this.name} ended by itself with ${String(signal ?? code)}`;
    this.#options.note(how);
    this.#down(service, how);
    if (this.#isEnding) return;
    this.ends++;
    this.#options.ledger.note(`${how}: ${service.stderr.trimEnd().slice(-600)}`);
    void pause(startAgainMs).then(() => this.#isEnding || this.start());
  }
}
