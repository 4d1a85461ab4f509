/**
 * A crash run: the real service under load, killed at random moments, started again on the same data
 * folder, and at the end compared with the ledger.
 *
 *   round   start -> load on -> ready -> `kill -9`, either somewhere in the start or somewhere later
 *   end     start -> every pending write settled -> every short link asked once -> SIGTERM -> compare
 *
 * Each start draws its own number of threads, window and segment size, so that recovery also meets
 * journals and shards that were cut differently before. A receiver is subscribed to every event from the
 * first start on, and outlives all kills.
 */
import { Client } from '../support/client.ts';
import { everyStart, pause, type Ports, ServiceProcess } from '../support/process.ts';
import { compare, type Comparison } from './comparison.ts';
import { leftInJournals, undelivered } from './left-over.ts';
import { askEveryLink } from './every-link.ts';
import { firstStart, toLoopback } from './first-start.ts';
import { Ledger } from './ledger.ts';
import { Random } from './random.ts';
import { Receipts } from './receipts.ts';
import { Scanners } from './scanners.ts';
import { Writes } from './writes.ts';

export interface CrashOptions {
  readonly dataDir: string;
  readonly ports: Ports;
  readonly rounds: number;
  readonly seed: number;
  readonly durability: 'process' | 'power';
  /** Longest load of a round after the service is ready. */
  readonly loadMsMax: number;
  readonly perSecond: number;
  readonly onRound?: (round: Round, ledger: Ledger) => void;
}

export interface Round {
  readonly number: number;
  readonly killed: 'starting' | 'running';
  /** From the start of the process to its kill. */
  readonly killedAfterMs: number;
  /** From the start of the process until it was ready, and until the first redirect; absent when killed before. */
  readonly readyMs: number | undefined;
  readonly firstRedirectMs: number | undefined;
}

export interface CrashResult extends Comparison {
  readonly rounds: readonly Round[];
  /** How the last, orderly end went. */
  readonly exitCode: number | null;
}

const connections = 48;
/** Kills that hit a starting service: recovery, catching up, loading links. */
const startingShare = 0.3;
/** No kill of a running service comes before so many scans and writes of the run were answered. */
const answeredMin = { scans: 100, writes: 5 };
const dayMs = 86_400_000;

export async function runCrashes(options: CrashOptions): Promise<CrashResult> {
  const random = new Random(options.seed);
  const ledger = new Ledger();
  const receipts = new Receipts(random.fork());
  const firstDay = Math.floor(Date.now() / dayMs);
  try {
    const apiKey = await firstStart(options, await receipts.open());
    const run = new CrashRun({ ...options, apiKey }, random, ledger, receipts);
    const rounds: Round[] = [];
    for (let number = 1; number <= options.rounds; number++) {
      const round = await run.round(number);
      rounds.push(round);
      options.onRound?.(round, ledger);
    }
    const exitCode = await run.finish();
    const days = { first: firstDay, last: Math.floor(Date.now() / dayMs) };
    return { rounds, exitCode, ...(await compare(ledger, options.dataDir, days, { receipts })) };
  } finally {
    await receipts.close();
  }
}

class CrashRun {
  readonly #options: CrashOptions & { readonly apiKey: string };
  readonly #random: Random;
  readonly #ledger: Ledger;
  readonly #writes: Writes;
  readonly #receipts: Receipts;
  /** Known once the first round was ready. */
  #usualReadyMs: number | undefined;

  constructor(
    options: CrashOptions & { readonly apiKey: string },
    random: Random,
    ledger: Ledger,
    receipts: Receipts,
  ) {
    this.#receipts = receipts;
    this.#options = options;
    this.#random = random;
    this.#ledger = ledger;
    this.#writes = new Writes(ledger, random.fork());
  }

  async round(number: number): Promise<Round> {
    const random = this.#random.fork();
    const killed = number > 1 && random.chance(startingShare) ? 'starting' : 'running';
    const waitMs = random.between(0, this.#options.loadMsMax);
    const startMs = random.next() * (this.#usualReadyMs ?? 0) * 1.2;
    const service = this.#start();
    const startedMs = performance.now();
    const scanners = this.#scanners(random);
    const client = new Client(service.apiUrl, this.#options.apiKey);
    let readyMs: number | undefined;
    const whenReady = async (): Promise<void> => {
      readyMs = await service.ready();
      this.#usualReadyMs = (this.#usualReadyMs ?? readyMs) * 0.8 + readyMs * 0.2;
      this.#writes.start(client);
    };
    const ready = whenReady();
    if (killed === 'starting') {
      await Promise.race([pause(startMs), service.exit]);
      ready.catch(() => undefined);
    } else {
      await ready;
      await this.#isUnderWay(service);
      await pause(waitMs);
    }
    const killedAfterMs = performance.now() - startedMs;
    this.#receipts.killed();
    await service.kill();
    scanners.drop();
    await ready.catch(() => undefined);
    await this.#writes.stop();
    await client.close();
    this.#checkLog(service);
    return { number, killed, killedAfterMs, readyMs, firstRedirectMs: scanners.firstAnswerMs };
  }

  /** Resolves also when the service ends by itself. */
  async #isUnderWay({ exit }: ServiceProcess): Promise<void> {
    const { scans, writes } = answeredMin;
    const ledger = this.#ledger;
    let ended: unknown;
    while (ended === undefined && (ledger.answered < scans || ledger.acknowledged < writes)) {
      ended = await Promise.race([exit, pause(5)]);
    }
  }

  /** The last start: nothing is pending, every link answers as acknowledged, every event goes out. */
  async finish(): Promise<number | null> {
    const service = this.#start();
    await service.ready();
    const client = new Client(service.apiUrl, this.#options.apiKey);
    await this.#writes.resolve(client);
    await client.close();
    await askEveryLink(this.#ledger, this.#options.ports.redirect);
    await this.#receipts.settle(() => undelivered(service));
    const { code } = await service.terminate();
    this.#checkLog(service);
    for (const left of leftInJournals(this.#options.dataDir)) this.#ledger.note(left);
    return code;
  }

  #start(): ServiceProcess {
    this.#receipts.started();
    const { dataDir, ports, durability } = this.#options;
    const random = this.#random.fork();
    return new ServiceProcess({
      dataDir,
      ports,
      environment: {
        QZ_DURABILITY: durability,
        QZ_TRUSTED_PROXIES: '127.0.0.0/8',
        QZ_REDIRECT_THREADS: String(random.between(1, 3)),
        QZ_SCANS_SHARDS: String(random.between(1, 4)),
        // Kills hit a thread that ends a segment, and segments that wait to be deleted.
        QZ_SCANS_SEGMENT_MS_MAX: String(random.pick([10, 500, 60_000])),
        QZ_IMAGES_THREADS: '1',
        ...toLoopback,
      },
    });
  }

  #scanners(random: Random): Scanners {
    const { ports, perSecond } = this.#options;
    const ledger = this.#ledger;
    const port = ports.redirect;
    return new Scanners({ port, ledger, random: random.fork(), connections, perSecond });
  }

  /** A start after a kill has nothing to complain about, but for a torn tail. */
  #checkLog(service: ServiceProcess): void {
    const lines = service.stderr.split('\n').filter((line) => line.endsWith('}'));
    for (const line of lines) {
      const entry: { level?: string; msg?: string } = JSON.parse(line);
      const text = entry.msg ?? '';
      if (entry.level === 'info' || /torn tail/.test(text) || everyStart.test(text)) continue;
      this.#ledger.note(`the log says: ${line.slice(0, 300)}`);
    }
  }
}
