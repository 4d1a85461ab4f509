/**
 * The service under load on a data folder of its own, and its successors: what every proof of a takeover begins with,
 * and how it ends, which is with the comparison.
 */
import { loadConfig } from '../../src/config.ts';
import { memoryOf } from '../../bench/loads/cpu.ts';
import { seedCodes } from '../../bench/loads/seed.ts';
import { type Days, withStores } from '../crash/comparison.ts';
import { leftInJournals, undelivered } from '../crash/left-over.ts';
import { Random } from '../crash/random.ts';
import { Receipts, type ReceiptSums } from '../crash/receipts.ts';
import { Client } from '../support/client.ts';
import { liftQuota } from '../support/lift-quota.ts';
import { pause, type Ports, ServiceProcess, settingsOf } from '../support/process.ts';
import { type LoadComparison, type LoadSetting, LoadThread, type LoadSums } from './load.ts';
import { type Interval, step, TakeoverLog } from './steps.ts';

export interface StageOptions {
  readonly dataDir: string;
  readonly ports: Ports;
  readonly seed: number;
  readonly perSecond: number;
  /** Seeded before the start. */
  readonly codes: number;
  /** Connections that are kept; default: most of them are idle at any time. */
  readonly kept?: LoadSetting['kept'];
  /** `QZ_…` variables of every process. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Takeover {
  /** From the start of the successor to the end of its predecessor. */
  readonly ms: number;
  readonly intervals: readonly Interval[];
  /** Resident bytes of both, when the successor was ready. */
  readonly predecessorBytes: number;
  readonly successorBytes: number;
}

export interface StageResult extends LoadSums, LoadComparison {
  readonly receipts: ReceiptSums;
  readonly exitCode: number | null;
  /** What must not be, in words. */
  readonly notes: readonly string[];
}

const dayMs = 86_400_000;
const today = (): number => Math.floor(Date.now() / dayMs);
/** Short, so that a run ends; as many as the real ones. */
const retryDelaysMs = '50,100,200,400,800,1600,3200';
const endMsMax = 60_000;
const servesPollMs = 10;
/** Codes to scan. */
const writesAtFirst = 12;
/** Lines of a machine that is busy, or of a start after a kill. */
const harmless = /^(shards are still counting|short links begin with|.*torn tail)/;

export class Stage {
  readonly #options: StageOptions;
  readonly #firstDay = today();
  readonly #loadThread: LoadThread;
  readonly receipts: Receipts;
  /** All that were started, to ask their logs at the end. */
  readonly #all: ServiceProcess[] = [];
  readonly #killed = new Set<ServiceProcess>();
  readonly notes: string[] = [];
  current: ServiceProcess;

  private constructor(
    options: StageOptions,
    receipts: Receipts,
    current: ServiceProcess,
    apiKey: string,
  ) {
    const { dataDir, ports, seed, perSecond, codes, kept = 'mostly idle' } = options;
    this.#options = options;
    this.receipts = receipts;
    this.current = current;
    this.#all.push(current);
    const setting = { dataDir, ports, apiKey, seed, perSecond, codes, kept };
    this.#loadThread = new LoadThread(setting);
  }

  static async open(options: StageOptions): Promise<Stage> {
    const receipts = new Receipts(new Random(options.seed));
    receipts.started();
    const first = new ServiceProcess(processOf(options));
    await first.ready();
    // The key is printed once the service is ready.
    while (!/API key/.test(first.stdout)) await pause(1);
    const { apiKey } = first;
    const client = new Client(first.apiUrl, apiKey);
    const body = { url: await receipts.open(), events: ['*'] };
    const { status, text } = await client.call('POST', '/v1/webhooks', { body });
    if (status !== 201) throw new Error(`Cannot subscribe the receiver: ${text}`);
    await client.close();
    await first.terminate();
    await liftQuota(options.dataDir);
    const settings = settingsOf(processOf(options));
    await seedCodes(loadConfig(undefined, settings), options.codes, 'whole');
    const service = new ServiceProcess(processOf(options));
    await service.ready();
    const stage = new Stage(options, receipts, service, apiKey);
    // The load begins once its thread has.
    while ((await stage.load.count()).writesAcknowledged < writesAtFirst) await pause(servesPollMs);
    return stage;
  }

  get load(): LoadThread {
    return this.#loadThread;
  }

  /** Starts another process on the folder. */
  start(command: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const service = new ServiceProcess({ ...processOf(this.#options, environment), command });
    this.#all.push(service);
    return service;
  }

  successor(environment: Readonly<Record<string, string>> = {}): ServiceProcess {
    return this.start(['serve', '--takeover'], environment);
  }

  /** The current process is taken over by another one. */
  async takeOver(environment: Readonly<Record<string, string>> = {}): Promise<Takeover> {
    const predecessor = this.current;
    const startedMs = performance.now();
    this.load.phase = 'booting';
    const successor = this.successor(environment);
    const log = new TakeoverLog(predecessor, successor);
    await log.reaches(step('ready'));
    this.load.phase = 'changing';
    const bytes = [predecessor, successor].map(residentBytes);
    const exit = await Promise.race([predecessor.exit, successor.exit, pause(endMsMax)]);
    const ms = performance.now() - startedMs;
    this.load.phase = 'steady';
    if (exit === undefined || !isAlive(successor)) {
      throw new Error(
        `No takeover within ${Math.round(ms)} ms:\n${successor.stderr.slice(-2_000)}`,
      );
    }
    if (exit.code !== 0) this.note(`a predecessor ended with ${JSON.stringify(exit)}`);
    this.current = successor;
    await log.reaches(step('serving'));
    const [predecessorBytes = 0, successorBytes = 0] = bytes;
    return { ms, intervals: log.intervals(), predecessorBytes, successorBytes };
  }

  /** The current process ends, and then another one starts: what a takeover is compared with. */
  async restart(): Promise<void> {
    this.load.phase = 'changing';
    await this.current.terminate();
    this.current = this.start(['serve']);
    await this.current.ready();
    this.load.phase = 'steady';
  }

  /** Resolves when links are answered, the API is ready and takes writes. @returns false when it does not come to that */
  async serves(msMax: number): Promise<boolean> {
    const deadlineMs = performance.now() + msMax;
    let isReady = false;
    let writesBefore = Infinity;
    while (performance.now() < deadlineMs) {
      if (isReady) {
        if ((await this.load.count()).writesAcknowledged > writesBefore) return true;
      } else if (await this.#answers()) {
        isReady = true;
        writesBefore = (await this.load.count()).writesAcknowledged;
      }
      await pause(servesPollMs);
    }
    return false;
  }

  async #answers(): Promise<boolean> {
    const { api, redirect } = this.#options.ports;
    const [miss, ready] = await Promise.all([
      statusOf(`http://127.0.0.1:${redirect}`, 'HEAD', '/no-such-code'),
      statusOf(`http://127.0.0.1:${api}`, 'GET', '/health/ready'),
    ]);
    return miss === 404 && ready === 200;
  }

  /** Its log may complain, and its end is no fault. */
  killed(service: ServiceProcess): this {
    this.#killed.add(service);
    return this;
  }

  /** Something that must not be. */
  note(what: string): void {
    this.notes.push(what);
  }

  /** The load ends, all is counted and delivered, the service ends, and what it says is compared. */
  async finish(): Promise<StageResult> {
    const sums = await this.load.finish();
    await this.load.ask();
    await this.receipts.settle(() => undelivered(this.current));
    const { code } = await this.current.terminate();
    await Promise.all(this.#all.map(({ exit }) => exit));
    for (const left of leftInJournals(this.#options.dataDir)) this.note(left);
    const days: Days = { first: this.#firstDay, last: today() };
    const compared = await this.load.compare(days);
    const receipts = await withStores(this.#options.dataDir, ({ management, queries }) =>
      this.receipts.compare(this, management, queries),
    );
    for (const note of compared.changed.notes) this.note(note);
    return { ...sums, ...compared, receipts, exitCode: code, notes: this.notes };
  }

  /** Lines above information, of processes that nobody killed. */
  complaints(): string[] {
    const whole = this.#all.filter((service) => !this.#killed.has(service));
    const lines = whole.flatMap(({ complaints }) => complaints);
    return lines.filter(({ msg }) => !harmless.test(msg)).map((line) => JSON.stringify(line));
  }

  async close(): Promise<void> {
    await this.load.close();
    await this.receipts.close();
    await Promise.all(this.#all.filter(isAlive).map((service) => service.kill()));
  }
}

function processOf(
  { dataDir, ports, environment }: StageOptions,
  own: Readonly<Record<string, string>> = {},
) {
  return {
    dataDir,
    ports,
    environment: {
      QZ_TRUSTED_PROXIES: '127.0.0.0/8',
      QZ_IMAGES_THREADS: '1',
      QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
      QZ_WEBHOOKS_RETRY_DELAYS_MS: retryDelaysMs,
      ...environment,
      ...own,
    },
  };
}

/** False as well for one that has ended and that nobody has waited for yet. */
export function isAlive({ pid }: Pick<ServiceProcess, 'pid'>): boolean {
  try {
    return memoryOf(pid).residentBytes > 0;
  } catch {
    return false;
  }
}

function residentBytes(service: ServiceProcess): number {
  try {
    return memoryOf(service.pid).residentBytes;
  } catch {
    return 0;
  }
}

async function statusOf(url: string, method: string, path: string): Promise<number | undefined> {
  const client = new Client(url);
  try {
    return (await client.call(method, path)).status;
  } catch {
    return undefined;
  } finally {
    await client.close();
  }
}
