/**
 * The service under test on a data folder of its own: its process, the successors that take over from it, the load, and
 * a receiver of webhooks that records every event. Each part of `npm run takeover` opens one and ends with `finish`,
 * which compares what the load was answered with what is stored.
 */
import { memoryOf } from '../../bench/loads/cpu.ts';
import { withStores } from '../crash/comparison.ts';
import { firstStart, toLoopback } from '../crash/first-start.ts';
import { leftInJournals, undelivered } from '../crash/left-over.ts';
import { Random } from '../crash/random.ts';
import { Receipts, type ReceiptSums } from '../crash/receipts.ts';
import { Client } from '../support/client.ts';
import { pause, type ProcessOptions, ServiceProcess } from '../support/process.ts';
import { Load, type LoadComparison, type LoadOptions, type LoadSums } from './load.ts';
import { TakeoverLog } from './takeover-log.ts';

export type ServiceOptions = Omit<LoadOptions, 'apiKey'>;

export interface ServiceResult extends LoadSums, LoadComparison {
  readonly receipts: ReceiptSums;
  readonly exitCode: number | null;
  /** Whatever was unexpected, in words. */
  readonly notes: readonly string[];
}

type Environment = Readonly<Record<string, string>>;

const dayMs = 86_400_000;
const today = (): number => Math.floor(Date.now() / dayMs);
const takeoverMsMax = 60_000;
const pollMs = 10;
/** By then there are codes to scan. */
const firstWrites = 12;

export class ServiceUnderLoad {
  readonly #options: ServiceOptions;
  readonly #firstDay = today();
  readonly #receipts: Receipts;
  readonly #processes: ServiceProcess[] = [];
  readonly load: Load;
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
    this.load = new Load({ ...options, apiKey });
  }

  static async open(options: ServiceOptions): Promise<ServiceUnderLoad> {
    const receipts = new Receipts(new Random(options.seed));
    const apiKey = await firstStart(options, await receipts.open());
    receipts.started();
    const current = new ServiceProcess(processOptions(options));
    await current.ready();
    const service = new ServiceUnderLoad(options, receipts, current, apiKey);
    while (service.load.ledger.acknowledged < firstWrites) await pause(pollMs);
    return service;
  }

  /** Starts another process on the data folder. */
  start(command: readonly string[], environment: Environment = {}): ServiceProcess {
    const started = new ServiceProcess({ ...processOptions(this.#options, environment), command });
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

  /** A successor takes over from the current process, to the end. @returns how long that took, in milliseconds */
  async takeOver(environment: Environment = {}): Promise<number> {
    const predecessor = this.current;
    const startedMs = performance.now();
    this.load.phase = 'takeover';
    const successor = this.startSuccessor(environment);
    const log = new TakeoverLog(predecessor, successor);
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
    return ms;
  }

  /** Whether links, readiness and API writes are all answered within that time; resolves as soon as they are. */
  async servesWithin(msMax: number): Promise<boolean> {
    const deadlineMs = performance.now() + msMax;
    let writesBefore = Infinity;
    while (performance.now() < deadlineMs) {
      const { acknowledged } = this.load.ledger;
      if (acknowledged > writesBefore) return true;
      if (writesBefore === Infinity && (await this.#isReady())) {
        writesBefore = this.load.ledger.acknowledged;
      }
      await pause(pollMs);
    }
    return false;
  }

  async redirects(): Promise<boolean> {
    const { redirect } = this.#options.ports;
    return (await statusOf(`http://127.0.0.1:${redirect}`, 'HEAD', '/no-such-code')) === 404;
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
    await this.#receipts.settle(() => undelivered(this.current));
    const { code } = await this.current.terminate();
    await Promise.all(this.#processes.map(({ exit }) => exit));
    const { dataDir } = this.#options;
    for (const left of leftInJournals(dataDir)) this.note(left);
    const compared = await this.load.compare({ first: this.#firstDay, last: today() });
    const receipts = await withStores(dataDir, ({ management, queries }) =>
      this.#receipts.compare(this, management, queries),
    );
    for (const note of compared.changed.notes) this.note(note);
    return { ...sums, ...compared, receipts, exitCode: code, notes: this.notes };
  }

  /** What the processes logged above information. */
  complaints(): string[] {
    const entries = this.#processes.flatMap(({ complaints }) => complaints);
    return entries.map((entry) => JSON.stringify(entry));
  }

  async close(): Promise<void> {
    this.load.close();
    await this.#receipts.close();
    await Promise.all(this.#processes.filter(isAlive).map((left) => left.kill()));
  }
}

const processOptions = (
  { dataDir, ports }: ServiceOptions,
  environment: Environment = {},
): ProcessOptions => ({
  dataDir,
  ports,
  environment: {
    QZ_TRUSTED_PROXIES: '127.0.0.0/8',
    QZ_IMAGES_THREADS: '1',
    ...toLoopback,
    ...environment,
  },
});

/** False too for a process that has ended and is not reaped yet. */
export function isAlive({ pid }: ServiceProcess): boolean {
  try {
    return memoryOf(pid).residentBytes > 0;
  } catch {
    return false;
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
