/**
 * The load with its ledgers and their comparison:
 *
 *   scans on new connections          scan-generator.ts    of changed and of limited codes
 *   scans on keep-alive connections   crash/scanners.ts    of changed codes
 *   API writes                        api-writes.ts        create, change and delete the changed codes
 */
import { compare, type Comparison, type Days, withStores } from '../crash/comparison.ts';
import { askEveryLink } from '../crash/every-link.ts';
import { Ledger } from '../crash/ledger.ts';
import { Random } from '../crash/random.ts';
import { nextScan, requestOf, Scanners } from '../crash/scanners.ts';
import type { Ports } from '../support/process.ts';
import { ApiWrites, RetryingClient } from './api-writes.ts';
import { LimitedCodes, type LimitedSums } from './limited-codes.ts';
import { type Phase, ScanGenerator, type ScanSums } from './scan-generator.ts';
import type { ScanRequest } from './scan-request.ts';

export interface LoadOptions {
  readonly dataDir: string;
  readonly ports: Ports;
  readonly apiKey: string;
  readonly seed: number;
  /** Scans, on new and on keep-alive connections together. */
  readonly perSecond: number;
  /** Keep-alive connections have a tenth of the scans; a predecessor waits up to ten seconds for idle ones. */
  readonly keepAlive: 'mostly idle' | 'busy';
}

export interface LoadSums {
  /** Scans on new connections. */
  readonly scans: ScanSums;
  /** Requests on keep-alive connections without a response. */
  readonly keepAliveBroken: number;
  /** Longest time between two acknowledged writes. */
  readonly writePauseMsMax: number;
}

export interface LoadComparison {
  /** Codes that the load created, gave other targets and deleted. */
  readonly changed: Comparison;
  readonly limited: LimitedSums;
}

/** Of all scans: those on keep-alive connections. */
const keepAliveShare = 0.1;
/** Of scans on new connections: those of limited codes. */
const limitedShare = 0.15;
const refillMs = 20;
const lastResponsesMsMax = 12_000;

export class Load {
  readonly #options: LoadOptions;
  /** Of changed codes. */
  readonly ledger = new Ledger();
  readonly #random: Random;
  readonly #limited: LimitedCodes;
  readonly #client: RetryingClient;
  readonly #apiWrites: ApiWrites;
  readonly #newConnections: ScanGenerator;
  readonly #keepAlive: Scanners;
  readonly #refill: NodeJS.Timeout;

  constructor(options: LoadOptions) {
    const { ports, perSecond, apiKey, seed, keepAlive } = options;
    this.#options = options;
    this.#random = new Random(seed);
    const { ledger } = this;
    this.#limited = new LimitedCodes(ledger, this.#random.fork());
    this.#client = new RetryingClient(`http://127.0.0.1:${ports.api}`, apiKey, ledger);
    this.#apiWrites = new ApiWrites(this.#client, ledger, this.#random.fork());
    this.#refill = setInterval(() => this.#limited.refill(this.#client), refillMs);
    this.#newConnections = new ScanGenerator({
      port: ports.redirect,
      perSecond: perSecond * (1 - keepAliveShare),
      next: () => this.#next(),
    });
    this.#keepAlive = new Scanners({
      port: ports.redirect,
      ledger,
      random: this.#random.fork(),
      perSecond: perSecond * keepAliveShare,
      ...(keepAlive === 'busy'
        ? ({ connections: 4, use: 'evenly' } as const)
        : ({ connections: 32, use: 'first free' } as const)),
    });
  }

  /** Scans that start or end from now on count to this phase. */
  set phase(phase: Phase) {
    this.#newConnections.phase = phase;
  }

  #next(): ScanRequest | undefined {
    const limited = this.#random.chance(limitedShare) ? this.#limited.next() : undefined;
    if (limited !== undefined) return limited;
    const scan = nextScan(this.ledger, this.#random);
    if (scan === undefined) return undefined;
    return {
      path: scan.code.path,
      text: requestOf(scan, 'close'),
      onResponse: (status, location) => this.ledger.receive(scan, status, location),
    };
  }

  /** Ends scans and writes, and compares the target of every changed code with its last acknowledged write. */
  async finish(): Promise<LoadSums> {
    clearInterval(this.#refill);
    await this.#apiWrites.finish();
    await this.#limited.close();
    await this.#newConnections.finish();
    const keepAliveBroken = await this.#keepAlive.finish(lastResponsesMsMax);
    await this.#client.close();
    await askEveryLink(this.ledger, this.#options.ports.redirect);
    const writePauseMsMax = this.#apiWrites.pauseMsMax;
    return { scans: this.#newConnections.sums, keepAliveBroken, writePauseMsMax };
  }

  /** Compares the ledgers with the stores of the service, which has ended. */
  async compare(days: Days): Promise<LoadComparison> {
    const { dataDir } = this.#options;
    const limited = await withStores(dataDir, (stores) => this.#limited.compare(stores));
    const changed = await compare(this.ledger, dataDir, days, { others: this.#limited });
    return { changed, limited };
  }

  /** Ends it at once, also after a failure. */
  close(): void {
    clearInterval(this.#refill);
    this.#apiWrites.close();
    this.#newConnections.close();
    this.#keepAlive.drop();
  }
}
