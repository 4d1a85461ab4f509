/**
 * The service under test on a data folder of its own: its process, the successors that take over from it, the load, and
 * a receiver of webhooks that records every event. Each part of `npm run takeover` opens one and ends with `finish`,
 * which compares what the load was answered with what is stored.
 */
import { loadConfig } from '../../src/config.ts';
import { memoryOf } from '../../bench/loads/cpu.ts';
import { makeKeys } from '../../bench/loads/deliver/events.ts';
import { seedCodes } from '../../bench/loads/seed.ts';
import { type Days, withStores } from '../crash/comparison.ts';
import { leftInJournals, undelivered } from '../crash/left-over.ts';
import { Random } from '../crash/random.ts';
import { Receipts, type ReceiptSums } from '../crash/receipts.ts';
import { Client } from '../support/client.ts';
import { liftQuota } from '../support/lift-quota.ts';
import { pause, type ProcessOptions, ServiceProcess, settingsOf } from '../support/process.ts';
import { Commands } from './commands.ts';
import { type LoadComparison, type LoadOptions, type LoadSums, LoadThread } from './load.ts';
import { type Interval, TakeoverLog } from './takeover-log.ts';

export interface ServiceOptions extends Omit<LoadOptions, 'apiKey'> {
  /** What runs beside the service and its load. */
  readonly beside?: 'commands';
}

export interface Takeover {
  /** From the start of the successor to the end of its predecessor. */
  readonly ms: number;
  readonly intervals: readonly Interval[];
  /** Resident bytes of both, when the successor was ready. */
  readonly predecessorBytes: number;
  readonly successorBytes: number;
}

export interface ServiceResult extends LoadSums, LoadComparison {
  readonly receipts: ReceiptSums;
  readonly commands: number;
  readonly exitCode: number | null;
  /** Whatever was unexpected, in words. */
  readonly notes: readonly string[];
}

type Environment = Readonly<Record<string, string>>;

const tree = new URL('../..', import.meta.url).pathname;
const dayMs = 86_400_000;
const today = (): number => Math.floor(Date.now() / dayMs);
/** Short, so that a run ends; as many as the real ones. */
const retryDelaysMs = '50,100,200,400,800,1600,3200';
const takeoverMsMax = 60_000;
const pollMs = 10;
/** By then there are codes to scan. */
const firstWrites = 12;

export class ServiceUnderLoad {
  readonly #options: ServiceOptions;
  readonly #firstDay = today();
  readonly #receipts: Receipts;
  readonly #processes: ServiceProcess[] = [];
  readonly #commands: Commands | undefined;
  readonly load: LoadThread;
  readonly notes: string[] = [];
  /** The process that serves. */
  current: ServiceProcess;

  private constructor(
    options: ServiceOptions,
    receipts: Receipts,
    current: ServiceProcess,
    apiKey: string,
  ) {
    this.#options = options;
    this.#receipts = receipts;
    this.current = current;
    this.#processes.push(current);
    const { dataDir, ports, seed, perSecond, codes, keepAlive } = options;
    this.load = new LoadThread({ dataDir, ports, apiKey, seed, perSecond, codes, keepAlive });
    if (options.beside === 'commands') {
      const environment = { QZ_DATA_DIR: dataDir };
      this.#commands = new Commands(environment, (what) => this.note(what));
    }
  }

  static async open(options: ServiceOptions): Promise<ServiceUnderLoad> {
    const receipts = new Receipts(new Random(options.seed));
    const { dataDir, codes } = options;
    await seedCodes(loadConfig(undefined, settingsOf(processOptions(options))), codes, 'whole');
    await liftQuota(dataDir);
    const [apiKey = ''] = await makeKeys({ dataDir, tree }, 1);
    receipts.started();
    const current = new ServiceProcess(processOptions(options));
    await current.ready();
    const client = new Client(current.apiUrl, apiKey);
    const body = { url: await receipts.open(), events: ['*'] };
    const { status, text } = await client.call('POST', '/v1/webhooks', { body });
    if (status !== 201) throw new Error(`Cannot subscribe the receiver: ${text}`);
    await client.close();
    const service = new ServiceUnderLoad(options, receipts, current, apiKey);
    while ((await service.load.count()).writesAcknowledged < firstWrites) await pause(pollMs);
    return service;
  }

  /** Starts another process on the data folder. */
  start(command: readonly string[], environment: Environment = {}): ServiceProcess {
    const started = new ServiceProcess({
      ...processOptions(this.#options, environment),
      command,
    });
    this.#processes.push(started);
    return started;
  }

  startSuccessor(environment: Environment = {}): ServiceProcess {
    return this.start(['serve', '--takeover'], environment);
  }

  /** `kill -9`. */
  async kill(victim: ServiceProcess): Promise<void> {
    this.interrupted();
    await victim.kill();
  }

  /**
   * A process is being killed, or goes on after it hung so long that its requests are timed out: what arrived until now,
   * or is on its way, may come again, whichever process sends it.
   */
  interrupted(): void {
    this.#receipts.killed();
    this.#receipts.started();
  }

  /** A successor takes over from the current process, to the end. */
  async takeOver(environment: Environment = {}): Promise<Takeover> {
    const predecessor = this.current;
    const startedMs = performance.now();
    this.load.phase = 'booting';
    const successor = this.startSuccessor(environment);
    const log = new TakeoverLog(predecessor, successor);
    await log.reaches('ready');
    this.load.phase = 'changing';
    const predecessorBytes = residentBytes(predecessor);
    const successorBytes = residentBytes(successor);
    const exit = await Promise.race([predecessor.exit, successor.exit, pause(takeoverMsMax)]);
    const ms = performance.now() - startedMs;
    this.load.phase = 'steady';
    if (exit === undefined || !isAlive(successor)) {
      throw new Error(
        `No takeover within ${Math.round(ms)} ms:\n${successor.stderr.slice(-2_000)}`,
      );
    }
    if (exit.code !== 0) this.note(`a predecessor ended with ${JSON.stringify(exit)}`);
    this.current = successor;
    await log.reaches('serving');
    return { ms, intervals: log.intervals(), predecessorBytes, successorBytes };
  }

  /** The current process ends before another one starts: a takeover is compared with that. */
  async restart(): Promise<void> {
    this.load.phase = 'changing';
    await this.current.terminate();
    this.current = this.start(['serve']);
    await this.current.ready();
    this.load.phase = 'steady';
  }

  /** Whether links, readiness and API writes are all answered within that time; resolves as soon as they are. */
  async servesWithin(msMax: number): Promise<boolean> {
    const deadlineMs = performance.now() + msMax;
    let isReady = false;
    let writesBefore = Infinity;
    while (performance.now() < deadlineMs) {
      if (isReady) {
        if ((await this.load.count()).writesAcknowledged > writesBefore) return true;
      } else if (await this.#isReady()) {
        isReady = true;
        writesBefore = (await this.load.count()).writesAcknowledged;
      }
      await pause(pollMs);
    }
    return false;
  }

  async #isReady(): Promise<boolean> {
    const { api, redirect } = this.#options.ports;
    const [link, health] = await Promise.all([
      statusOf(`http://127.0.0.1:${redirect}`, 'HEAD', '/no-such-code'),
      statusOf(`http://127.0.0.1:${api}`, 'GET', '/health/ready'),
    ]);
    return link === 404 && health === 200;
  }

  /** Records something unexpected. */
  note(what: string): void {
    this.notes.push(what);
  }

  /** Ends the load, then the service once every event is delivered, and compares. */
  async finish(): Promise<ServiceResult> {
    const sums = await this.load.finish();
    await this.#commands?.stop();
    await this.load.checkLinks();
    await this.#receipts.settle(() => undelivered(this.current));
    const { code } = await this.current.terminate();
    await Promise.all(this.#processes.map(({ exit }) => exit));
    for (const left of leftInJournals(this.#options.dataDir)) this.note(left);
    const days: Days = { first: this.#firstDay, last: today() };
    const compared = await this.load.compare(days);
    const receipts = await withStores(this.#options.dataDir, ({ management, queries }) =>
      this.#receipts.compare(this, management, queries),
    );
    for (const note of compared.changed.notes) this.note(note);
    const commands = this.#commands?.count ?? 0;
    return { ...sums, ...compared, receipts, commands, exitCode: code, notes: this.notes };
  }

  /** What the processes logged above information. */
  complaints(): string[] {
    const entries = this.#processes.flatMap(({ complaints }) => complaints);
    return entries.map((entry) => JSON.stringify(entry));
  }

  async close(): Promise<void> {
    await this.#commands?.stop();
    await this.load.close();
    await this.#receipts.close();
    await Promise.all(this.#processes.filter(isAlive).map((left) => left.kill()));
  }
}

function processOptions(
  { dataDir, ports }: ServiceOptions,
  environment: Environment = {},
): ProcessOptions {
  return {
    dataDir,
    ports,
    environment: {
      QZ_TRUSTED_PROXIES: '127.0.0.0/8',
      QZ_IMAGES_THREADS: '1',
      QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
      QZ_WEBHOOKS_RETRY_DELAYS_MS: retryDelaysMs,
      ...environment,
    },
  };
}

/** False too for a process that has ended and is not reaped yet. */
export const isAlive = (one: ServiceProcess): boolean => residentBytes(one) > 0;

function residentBytes({ pid }: ServiceProcess): number {
  try {
    return memoryOf(pid).residentBytes;
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
