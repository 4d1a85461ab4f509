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
  ServiceProcess,
  readMetrics,
} from '../../support/process.ts';
import type { CuttablePath } from '../nats/cuttable-path.ts';
import type { ClusterLedger } from './cluster-ledger.ts';
import { NodeView } from './node-view.ts';

export type NodeRole = 'all' | 'edge';

export interface NodeOptions {
  readonly name: string;
  readonly role: NodeRole;
  /** Of all nodes: its data are in a folder of its name. */
  readonly folder: string;
  readonly ports: Ports;
  readonly path: CuttablePath;
  readonly environment: Readonly<Record<string, string>>;
  readonly ledger: ClusterLedger;
  readonly random: Random;
  readonly note: (line: string) => void;
}

const connections = 8;
const scansPerSecond = 60;
/** As a supervisor of processes does. */
const startAgainMs = 500;
const askMs = 1_000;
/** After a freeze: the service ends connections that were idle for 8 s by its clock, with what has arrived on them. */
const thawMs = 1_500;
const finishMsMax = 10_000;
const answeredCheckMs = 20;
const roleCheckMs = 200;

export class ServiceNode {
  readonly #options: NodeOptions;
  readonly name: string;
  readonly role: NodeRole;
  readonly dataDir: string;
  readonly view: NodeView;
  #service: ServiceProcess | undefined;
  #scanners: Scanners | undefined;
  #isScanning = true;
  #isEnding = false;
  #api: Client | undefined;
  /** Asks its redirects for one link at a time. */
  readonly phone: Client;
  readonly #watching: Promise<void>;
  isPaused = false;
  isCut = false;
  /** As it said last; undefined while it is down. */
  isActive = false;
  /** How often the process ended by itself. */
  ends = 0;
  /** Requests of phones that broke while the node was undisturbed. */
  broken = 0;
  /** Broken requests of the present phones when the node was left undisturbed; undefined while it is disturbed. */
  #brokenAtCalm: number | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.name = options.name;
    this.role = options.role;
    this.dataDir = join(options.folder, options.name);
    this.view = new NodeView(options.name, options.ledger);
    this.phone = new Client(`http://127.0.0.1:${options.ports.redirect}`);
    this.#watching = this.#watchRole();
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

  get stdout(): string {
    return this.#service?.stdout ?? '';
  }

  /** Settings of its process and of commands on its machine, without its folder and ports. */
  get environment(): Readonly<Record<string, string>> {
    const { path, environment, name } = this.#options;
    return {
      ...environment,
      QZ_CLUSTER_NATS: path.urls.join(','),
      QZ_CLUSTER_NODE_NAME: name,
      QZ_CLUSTER_ADVERTISE_URL: this.apiUrl,
    };
  }

  start(): void {
    if (this.#service !== undefined) return;
    const { ports, role } = this.#options;
    const service = new ServiceProcess({
      dataDir: this.dataDir,
      ports,
      command: ['serve', '--role', role],
      environment: this.environment,
    });
    this.#service = service;
    this.#scan();
    void service.exit.then((exit) => this.#ended(service, exit));
  }

  async kill(): Promise<void> {
    const service = this.#service;
    if (service === undefined) return;
    this.#service = undefined;
    this.#disturb();
    await service.kill();
    this.#down(service, 'killed');
  }

  /** SIGSTOP. */
  pause(): void {
    if (this.#service === undefined) return;
    this.isPaused = true;
    this.#disturb();
    this.#service.signal('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.isPaused = false;
    this.#service?.signal('SIGCONT');
    this.view.disturb();
    const scanners = this.#scanners;
    setTimeout(() => this.#calm(scanners), thawMs).unref();
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
    this.#disturb();
    const exit = await service.terminate();
    this.#down(service, `terminated: ${JSON.stringify(exit)}`);
    return exit;
  }

  /** Resolves when all phones are answered, or give up. */
  async stopScanning(): Promise<void> {
    this.#isScanning = false;
    const scanners = this.#scanners;
    if (scanners === undefined) return;
    const broken = await scanners.finish(finishMsMax);
    if (this.#brokenAtCalm !== undefined) this.broken += broken - this.#brokenAtCalm;
    this.#brokenAtCalm = undefined;
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
    await Promise.all([this.phone.close(), this.#api?.close(), this.kill()]);
    await this.#watching;
  }

  /** Appends what its present process logged. */
  writeLog(): void {
    this.#append(this.#service?.stderr ?? '', 'runs');
  }

  /** Asks its API. */
  api(apiKey: string): Client {
    return (this.#api ??= new Client(this.apiUrl, apiKey));
  }

  /** As its process says, every 200 ms. */
  async #watchRole(): Promise<void> {
    while (!this.#isEnding) {
      const text = await this.metrics();
      const isActive = /^quietzone_cluster_role\{.*role="active".*\} 1$/m.test(text);
      if (isActive !== this.isActive) {
        this.#options.note(`${this.name} ${isActive ? 'leads' : 'leads no more'}`);
      }
      this.isActive = isActive;
      await pause(roleCheckMs);
    }
  }

  #scan(): void {
    if (!this.#isScanning) return;
    const { ports, random } = this.#options;
    const scanners = new Scanners({
      port: ports.redirect,
      ledger: this.view,
      random: random.fork(),
      connections,
      perSecond: scansPerSecond,
      // An idle one is ended by the service at the moment at which it is used again, now and then.
      use: 'evenly',
    });
    this.#scanners = scanners;
    const timer = setInterval(() => {
      if (this.#scanners === scanners && scanners.firstAnswerMs === undefined) return;
      clearInterval(timer);
      this.#calm(scanners);
    }, answeredCheckMs);
  }

  /** Requests that break from here on are faults. Before the first answer, a start may try its ports, which breaks some. */
  #calm(scanners: Scanners | undefined): void {
    if (this.#scanners !== scanners || this.isPaused) return;
    if (scanners?.firstAnswerMs !== undefined) this.#brokenAtCalm ??= scanners.broken;
  }

  /** Requests that are in flight now may break. */
  #disturb(): void {
    if (this.#brokenAtCalm !== undefined) {
      this.broken += (this.#scanners?.broken ?? 0) - this.#brokenAtCalm;
    }
    this.#brokenAtCalm = undefined;
    this.view.disturb();
  }

  #down(service: ServiceProcess, how: string): void {
    this.#scanners?.drop();
    this.#scanners = undefined;
    this.#brokenAtCalm = undefined;
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
