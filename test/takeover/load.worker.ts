/**
 * The load in a thread of its own, with its ledgers and their comparison: starts and kills of processes on the main
 * thread delay no scan, and a scan and the writes before it are recorded in their order.
 *
 *   scans on new connections          scan-generator.ts    of changed, limited and seeded codes
 *   scans on keep-alive connections   crash/scanners.ts    of changed codes
 *   API writes                        api-writes.ts        create, change and delete the changed codes
 */
import { parentPort, workerData } from 'node:worker_threads';
import { compare, type Days, type OtherCodes, withStores } from '../crash/comparison.ts';
import { askEveryLink } from '../crash/every-link.ts';
import { Ledger } from '../crash/ledger.ts';
import { Random } from '../crash/random.ts';
import { nextScan, requestOf, Scanners } from '../crash/scanners.ts';
import { ApiWrites, RetryingClient } from './api-writes.ts';
import { LimitedCodes } from './limited-codes.ts';
import type {
  LoadCommand,
  LoadComparison,
  LoadOptions,
  LoadReply,
  LoadResult,
  LoadSums,
} from './load.ts';
import { ScanGenerator } from './scan-generator.ts';
import type { ScanRequest } from './scan-request.ts';
import { SeededCodes } from './seeded-codes.ts';

/** Of all scans: those on keep-alive connections. */
const keepAliveShare = 0.1;
/** Of scans on new connections: those of changed and of limited codes; the others are of seeded ones. */
const changedShare = 0.3;
const limitedShare = 0.1;
const refillMs = 20;
const lastResponsesMsMax = 12_000;

class Load {
  readonly #options: LoadOptions;
  /** Of changed codes. */
  readonly #ledger = new Ledger();
  readonly #random: Random;
  readonly #seeded: SeededCodes;
  readonly #limited: LimitedCodes;
  readonly #client: RetryingClient;
  readonly #apiWrites: ApiWrites;
  readonly #newConnections: ScanGenerator;
  readonly #keepAlive: Scanners;
  readonly #refill: NodeJS.Timeout;

  constructor(options: LoadOptions) {
    const { ports, perSecond, codes, apiKey, seed, keepAlive } = options;
    this.#options = options;
    this.#random = new Random(seed);
    const ledger = this.#ledger;
    this.#seeded = new SeededCodes(codes, ledger, this.#random.fork());
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

  async run(command: LoadCommand): Promise<LoadResult> {
    switch (command.kind) {
      case 'phase':
        this.#newConnections.phase = command.phase;
        return {};
      case 'count': {
        const { scans, acknowledged } = this.#ledger;
        return { counts: { scans, writesAcknowledged: acknowledged } };
      }
      case 'finish':
        return { sums: await this.#finish() };
      case 'check links':
        await askEveryLink(this.#ledger, this.#options.ports.redirect);
        return {};
      case 'compare':
        return { comparison: await this.#compare(command.days) };
      default:
        throw new Error(`Cannot run the command ${JSON.stringify(command)}`);
    }
  }

  #next(): ScanRequest | undefined {
    const draw = this.#random.next();
    if (draw < changedShare) return this.#nextChanged();
    const limited = draw < changedShare + limitedShare ? this.#limited.next() : undefined;
    return limited ?? this.#seeded.next() ?? this.#nextChanged();
  }

  #nextChanged(): ScanRequest | undefined {
    const scan = nextScan(this.#ledger, this.#random);
    if (scan === undefined) return undefined;
    return {
      path: scan.code.path,
      text: requestOf(scan, 'close'),
      onResponse: (status, location) => this.#ledger.receive(scan, status, location),
    };
  }

  async #finish(): Promise<LoadSums> {
    clearInterval(this.#refill);
    await this.#apiWrites.finish();
    await this.#limited.close();
    await this.#newConnections.finish();
    const keepAliveBroken = await this.#keepAlive.finish(lastResponsesMsMax);
    await this.#client.close();
    return { scans: this.#newConnections.sums, keepAliveBroken, apiWrites: this.#apiWrites.sums };
  }

  async #compare(days: Days): Promise<LoadComparison> {
    const parts = [this.#seeded, this.#limited];
    const others: OtherCodes = {
      hasPath: (path) => parts.some((part) => part.hasPath(path)),
      hasReferer: (referer) => parts.some((part) => part.hasReferer(referer)),
    };
    const { dataDir } = this.#options;
    const { seeded, limited } = await withStores(dataDir, (stores) => ({
      seeded: this.#seeded.compare(stores),
      limited: this.#limited.compare(stores),
    }));
    const changed = await compare(this.#ledger, dataDir, days, { others });
    return { changed, seeded, limited };
  }
}

if (parentPort === null) throw new Error('Cannot run: expected to be a thread');
const port = parentPort;
const options: LoadOptions = workerData;
const load = new Load(options);
port.on('message', (command: LoadCommand) => {
  const { no } = command;
  const reply = (message: LoadReply): void => port.postMessage(message);
  load.run(command).then(
    (result) => reply({ no, ...result }),
    (error: unknown) => reply({ no, error: String(error) }),
  );
});
