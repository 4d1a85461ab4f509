/**
 * A service of one machine under load, for crashes and takeovers: a data folder, the processes that serve it one after
 * the other or hand over to each other, phones and clients that go on whatever happens to them, and a receiver of
 * webhooks. A run opens one, breaks it and ends with `finish`, which compares what was answered with what is stored.
 */
import { memoryOf } from '../../bench/loads/cpu.ts';
import { Client } from '../support/client.ts';
import { liftQuota, pause, ServiceProcess } from '../support/process.ts';
import { everyStart, type LogEntry, type Ports } from '../support/running-service.ts';
import { Random } from './random.ts';
import { TestService } from '../support/test-service.ts';
import { Clients, type ClientsOptions, ofOneMachine } from './clients.ts';
import { askEveryLink, compare, type Comparison, today } from './comparison.ts';
import { Ledger } from './ledger.ts';
import { Phones, type PhonesOptions } from './phones.ts';
import { EventReceiver, toLoopback } from './receiver.ts';
import { type Report, type Row, rowsOfComparison, rowsOfLoad, rowsOfPhones } from './report.ts';
import { leftInJournals } from './stores.ts';
import { type Phase, View } from './view.ts';

export interface SiteOptions {
  readonly dataDir: string;
  readonly ports: Ports;
  readonly seed: number;
  /** Gets each line of the run. */
  readonly onLine?: (line: string) => void;
}

/** Phones by the name of their kind, and in what clients differ from `ofOneMachine`. */
export interface SiteLoad {
  readonly phones: Readonly<
    Record<string, Pick<PhonesOptions, 'connections' | 'perSecond' | 'isMostlyIdle'>>
  >;
  readonly clients?: Partial<ClientsOptions>;
}

/** What a run of one machine was answered, and what its stores say. */
export interface SiteResult extends Comparison, Report {
  readonly phones: readonly Phones[];
}

const finishMsMax = 60_000;
const pollMs = 10;

export class Site {
  readonly #options: SiteOptions;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly #firstDay = today();
  readonly #receiver: EventReceiver;
  readonly #processes: ServiceProcess[] = [];
  readonly #phones: readonly Phones[];
  readonly #client: Client;
  readonly #clients: Clients;

  private constructor(
    options: SiteOptions,
    load: SiteLoad,
    parts: { readonly random: Random; readonly receiver: EventReceiver; readonly apiKey: string },
  ) {
    const { random } = parts;
    const { api, redirect: port } = options.ports;
    this.#options = options;
    this.random = random;
    this.#receiver = parts.receiver;
    this.ledger = new Ledger(options.onLine);
    this.#phones = Object.entries(load.phones).map(([name, kind]) => {
      const view = new View(this.ledger, name);
      return new Phones({ ...kind, port, view, random: random.fork() });
    });
    this.#client = new Client(`http://127.0.0.1:${api}`, parts.apiKey);
    const door = { name: 'the API', client: this.#client };
    this.#clients = new Clients({
      ...ofOneMachine,
      ...load.clients,
      ledger: this.ledger,
      random: random.fork(),
      views: this.#phones.map(({ view }) => view),
      pick: () => door,
    });
  }

  /** After an orderly first start and stop, in this process. Later writes go as fast as the machine is, without a quota. */
  static async open(options: SiteOptions, load: SiteLoad): Promise<Site> {
    const { dataDir, ports, seed } = options;
    const random = new Random(seed);
    const receiver = new EventReceiver(random.fork());
    const first = await TestService.start({ dataDir, ports, environment: toLoopback });
    const { apiUrl, apiKey } = first;
    await receiver.open(apiUrl, apiKey);
    await liftQuota(dataDir);
    await first.close();
    return new Site(options, load, { random, receiver, apiKey });
  }

  /** Starts a process on the data folder. */
  start(environment: Record<string, string> = {}, command = ['serve']): ServiceProcess {
    this.#receiver.started();
    const { dataDir, ports } = this.#options;
    const fixed = { QZ_TRUSTED_PROXIES: '127.0.0.0/8', QZ_IMAGES_THREADS: '1', ...toLoopback };
    const settings = { ...fixed, ...environment };
    const started = new ServiceProcess({ dataDir, ports, command, environment: settings });
    this.#processes.push(started);
    return started;
  }

  /** `kill -9`. */
  async kill(victim: ServiceProcess): Promise<void> {
    this.#receiver.killed(this.#processes.some((one) => one !== victim && isAlive(one)));
    await victim.kill();
  }

  /** Scans that start or end from now on count to this phase. */
  set phase(phase: Phase) {
    for (const { view } of this.#phones) view.phase = phase;
  }

  /** Resolves when so much of the run is answered, or when this process ends. */
  async isUnderWay(scans: number, writes: number, { exit }: ServiceProcess): Promise<void> {
    const { ledger } = this;
    while (ledger.answered < scans || ledger.acknowledged < writes) {
      if ((await Promise.race([exit, pause(pollMs)])) !== undefined) return;
    }
  }

  /** Whether links, readiness and API writes are all answered within that time; resolves as soon as they are. */
  async servesWithin(msMax: number): Promise<boolean> {
    const deadlineMs = performance.now() + msMax;
    let writesBefore = Infinity;
    while (performance.now() < deadlineMs) {
      const { acknowledged } = this.ledger;
      if (acknowledged > writesBefore) return true;
      const health = await statusOf(this.#options.ports.api, '/health/ready');
      if (health === 200 && (await this.redirects())) {
        writesBefore = Math.min(writesBefore, this.ledger.acknowledged);
      }
      await pause(pollMs);
    }
    return false;
  }

  async redirects(): Promise<boolean> {
    return (await statusOf(this.#options.ports.redirect, '/no-such-code')) === 404;
  }

  /** Ends the load, then the service once every event is delivered, and compares. */
  async finish(current: ServiceProcess): Promise<SiteResult> {
    const { ledger } = this;
    const phones = this.#phones;
    const { dataDir, ports } = this.#options;
    await this.#clients.stop(finishMsMax);
    await Promise.all(phones.map((one) => one.finish(finishMsMax)));
    await askEveryLink(ledger, ports.redirect);
    await this.#receiver.settle(() => current.apiUrl);
    const { code } = await current.terminate();
    if (code !== 0) ledger.note(`the service ended with ${code}`);
    await Promise.all(this.#processes.map(({ exit }) => exit));
    for (const left of leftInJournals(dataDir)) ledger.note(left);
    const comparison = await compare(ledger, dataDir, this.#firstDay, this.#receiver);
    const again = comparison.receipts?.unexplained ?? 0;
    if (again > 0) ledger.note(`${again} events came again without a kill or a hang`);
    const rows: Row[] = [
      ...rowsOfLoad(ledger),
      ...phones.flatMap(rowsOfPhones),
      ...rowsOfComparison('the machine', comparison),
    ];
    return { ...comparison, ledger, phones, rows };
  }

  /** What the processes logged above information is a fault. */
  checkLogs(allowed: RegExp = everyStart): void {
    for (const { stderr } of this.#processes) {
      // The last line of a process that was killed may be cut short.
      for (const line of stderr.split('\n').filter((text) => text.endsWith('}'))) {
        const { level, msg = '' }: Partial<LogEntry> = JSON.parse(line);
        if (level === 'info' || allowed.test(msg) || everyStart.test(msg)) continue;
        this.ledger.note(`the log says: ${line.slice(0, 300)}`);
      }
    }
  }

  async close(): Promise<void> {
    for (const phones of this.#phones) phones.drop();
    await Promise.all(this.#processes.filter(isAlive).map((left) => left.kill()));
    await this.#clients.abandon();
    await Promise.all([this.#client.close(), this.#receiver.close()]);
  }
}

async function statusOf(port: number, path: string): Promise<number | undefined> {
  const client = new Client(`http://127.0.0.1:${port}`);
  const answer = await client.get(path).catch(() => undefined);
  await client.close();
  return answer?.status;
}

/** False too for a process that has ended and is not reaped yet. */
export function isAlive({ pid }: ServiceProcess): boolean {
  try {
    return memoryOf(pid).residentBytes > 0;
  } catch {
    return false;
  }
}

/** Other numbers of threads than before: journals and shards are cut differently, and segments wait to be deleted. */
export function drawSettings(random: Random): Record<string, string> {
  return {
    QZ_REDIRECT_THREADS: String(random.between(1, 3)),
    QZ_SCANS_SHARDS: String(random.between(1, 4)),
    QZ_SCANS_SEGMENT_MS_MAX: String(random.pick([10, 500, 60_000])),
  };
}
