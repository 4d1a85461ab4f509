/**
 * One node of a crash run: `quietzone serve` on a data folder and ports of its own, with its own way to the brokers, and
 * phones that scan at it whenever it listens.
 *
 *     down ──start──▶ up ──kill──▶ down      up ──pause──▶ frozen ──resume──▶ up      up ──ends itself──▶ started again
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CuttablePath } from '../../cluster/nats/cuttable-path.ts';
import { Client } from '../../support/client.ts';
import { type Exit, pause, ServiceProcess } from '../../support/process.ts';
import { type Ports, readMetrics } from '../../support/running-service.ts';
import type { Random } from '../random.ts';
import { within } from '../clients.ts';
import type { CodeEntry, Ledger } from '../ledger.ts';
import { Phones } from '../phones.ts';
import { headersOf, View } from '../view.ts';

export type NodeRole = 'all' | 'edge';

export interface NodeOptions {
  readonly name: string;
  readonly role: NodeRole;
  /** Of all nodes: its data are in a folder of its name. */
  readonly folder: string;
  readonly ports: Ports;
  readonly path: CuttablePath;
  readonly environment: Readonly<Record<string, string>>;
  readonly ledger: Ledger;
  readonly random: Random;
  /** Whether the brokers take it for connected: it must know what is answered then. */
  readonly isConnected: () => boolean;
}

const load = { connections: 8, perSecond: 60 };
/** As a supervisor of processes does. */
const startAgainMs = 500;
const askMs = 1_000;
/** After a freeze: the service ends connections that were idle for 8 s by its clock, with what has arrived on them. */
const thawMs = 1_500;
const roleCheckMs = 200;
/** A frozen node answers when it continues: such a scan counts as one without an answer. */
const probeMsMax = 1_000;
/** A living node that answers no phone for so long. */
const silentMsMax = 10_000;

export class ServiceNode {
  readonly #options: NodeOptions;
  readonly name: string;
  readonly role: NodeRole;
  readonly ports: Ports;
  readonly apiUrl: string;
  readonly dataDir: string;
  readonly view: View;
  readonly phones: Phones;
  /** Asks its redirects for one link at a time. */
  readonly #links: Client;
  #api: Client | undefined;
  readonly #watching: Promise<void>;
  #service: ServiceProcess | undefined;
  #isEnding = false;
  #isPaused = false;
  /** As it said last; false while it is down. */
  isActive = false;

  constructor(options: NodeOptions) {
    const { name, role, folder, ports, ledger, random, isConnected } = options;
    this.#options = options;
    this.name = name;
    this.role = role;
    this.ports = ports;
    this.apiUrl = `http://127.0.0.1:${ports.api}`;
    this.dataDir = join(folder, name);
    this.view = new View(ledger, name, isConnected);
    this.phones = new Phones({ ...load, port: ports.redirect, view: this.view, random });
    this.#links = new Client(`http://127.0.0.1:${ports.redirect}`);
    this.#watching = this.#watchRole();
  }

  get isUp(): boolean {
    return this.#service !== undefined;
  }

  get stdout(): string {
    return this.#service?.stdout ?? '';
  }

  start(): void {
    if (this.#service !== undefined) return;
    const { path, environment } = this.#options;
    const service = new ServiceProcess({
      dataDir: this.dataDir,
      ports: this.ports,
      command: ['serve', '--role', this.role],
      environment: {
        ...environment,
        QZ_CLUSTER_NATS: path.urls.join(','),
        QZ_CLUSTER_NODE_NAME: this.name,
        QZ_CLUSTER_ADVERTISE_URL: this.apiUrl,
      },
    });
    this.#service = service;
    this.view.disturb(0);
    void service.exit.then((exit) => this.#ended(service, exit));
  }

  async kill(): Promise<void> {
    await this.#down(async (service) => {
      await service.kill();
      return 'killed';
    });
  }

  /** SIGTERM. No fault of a broker or of another node has stopped a redirect until then. */
  async terminate(): Promise<void> {
    const { ledger } = this.#options;
    const { broken, silentMsMax: silentMs } = this.view;
    if (broken > 0) ledger.note(`${this.name} broke ${broken} requests while it lived`);
    if (silentMs > silentMsMax) ledger.note(`${this.name} answered no phone for ${silentMs} ms`);
    await this.#down(async (service) => {
      const exit = await service.terminate();
      const how = `ended at SIGTERM with ${JSON.stringify(exit)}`;
      if (exit.code !== 0) ledger.note(`${this.name} ${how}`);
      return how;
    });
  }

  /** SIGSTOP. */
  pause(): void {
    if (this.#service === undefined) return;
    this.#isPaused = true;
    this.view.disturb(Infinity);
    this.#service.signal('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    if (this.#service === undefined) return;
    this.#isPaused = false;
    this.#service.signal('SIGCONT');
    this.view.disturb(thawMs);
  }

  cut(): void {
    this.#options.path.cut();
  }

  heal(): void {
    this.#options.path.heal();
  }

  async ready(): Promise<void> {
    await this.#service?.ready();
  }

  async close(): Promise<void> {
    this.#isEnding = true;
    this.phones.drop();
    await Promise.all([this.#links.close(), this.#api?.close(), this.kill()]);
    await this.#watching;
  }

  /** Appends what its present process logged. */
  writeLog(): void {
    if (this.#service !== undefined) this.#append(this.#service, 'runs');
  }

  /** Asks its API. */
  api(apiKey: string): Client {
    return (this.#api ??= new Client(this.apiUrl, apiKey));
  }

  /** Asks it where a code leads. */
  async probe(code: CodeEntry): Promise<void> {
    const { view } = this;
    if (!this.isUp || this.#isPaused) return;
    const asked = view.sendNew(code);
    const call = this.#links.get(code.path, { headers: headersOf(asked.scan) });
    const answer = await within(probeMsMax, call);
    if (typeof answer === 'string') return;
    view.receive(asked, answer.status, answer.headers['location'] ?? '');
  }

  /** As its process says, every 200 ms. */
  async #watchRole(): Promise<void> {
    while (!this.#isEnding) {
      const metrics =
        this.isUp && !this.#isPaused
          ? await readMetrics(this.apiUrl, { signal: AbortSignal.timeout(askMs) }).catch(() => '')
          : '';
      const isActive = /^quietzone_cluster_role\{.*role="active".*\} 1$/m.test(metrics);
      if (isActive !== this.isActive) {
        this.#options.ledger.tell(`${this.name} ${isActive ? 'leads' : 'leads no more'}`);
      }
      this.isActive = isActive;
      await pause(roleCheckMs);
    }
  }

  /** @param end resolves to how the process has ended */
  async #down(end: (service: ServiceProcess) => Promise<string>): Promise<void> {
    const service = this.#service;
    if (service === undefined) return;
    this.#service = undefined;
    this.view.disturb(Infinity);
    const how = await end(service);
    this.#isPaused = false;
    this.isActive = false;
    this.#append(service, how);
  }

  #append({ stderr }: ServiceProcess, how: string): void {
    for (const line of stderr.split('\n')) {
      // What a leader could not do after its lease: some of its timers still log that as an error.
      const isLapse = line.includes('"code":"not_active"');
      if (/^\{"level":"(error|fatal)"/.test(line) && !isLapse) {
        this.#options.ledger.note(`${this.name} logs ${line.slice(0, 500)}`);
      }
    }
    appendFileSync(join(this.#options.folder, `${this.name}.log`), `${stderr}--- ${how}\n`);
  }

  #ended(service: ServiceProcess, { code, signal }: Exit): void {
    if (this.#service !== service) return;
    const how = `${this.name} ended by itself with ${String(signal ?? code)}`;
    this.#options.ledger.tell(how);
    void this.#down(async () => how);
    if (this.#isEnding) return;
    this.#options.ledger.note(`${how}: ${service.stderr.trimEnd().slice(-600)}`);
    void pause(startAgainMs).then(() => this.#isEnding || this.start());
  }
}
