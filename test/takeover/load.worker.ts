/**
 * The load in a thread of its own, ledger and comparison with it: what starts and kills the service beside it holds up
 * no scan, and an answer is compared with what was acknowledged when its scan began.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { compare, type Days, type OtherCodes, withStores } from '../crash/comparison.ts';
import { askEveryLink } from '../crash/every-link.ts';
import { Ledger } from '../crash/ledger.ts';
import { Random } from '../crash/random.ts';
import { nextScan, requestOf, Scanners } from '../crash/scanners.ts';
import { Writes } from '../crash/writes.ts';
import { Field } from './field.ts';
import { LimitedCodes } from './limited.ts';
import type {
  LoadComparison,
  LoadOrder,
  LoadReply,
  LoadResult,
  LoadSetting,
  LoadSums,
} from './load.ts';
import { type Asked, Phones } from './phones.ts';
import { PatientClient, Writing } from './writing.ts';

/** Of all scans: on connections that are kept. */
const keptShare = 0.1;
/** Of phones: codes that are led elsewhere meanwhile, and limited ones; the others scan the field. */
const changedShare = 0.3;
const limitedShare = 0.1;
const refillMs = 20;
const lastAnswersMsMax = 12_000;

class Load {
  readonly #setting: LoadSetting;
  readonly #ledger = new Ledger();
  readonly #random: Random;
  readonly #field: Field;
  readonly #limited: LimitedCodes;
  readonly #client: PatientClient;
  readonly #writes: Writes;
  readonly #writing: Writing;
  readonly #phones: Phones;
  readonly #kept: Scanners;
  readonly #refill: NodeJS.Timeout;

  constructor(setting: LoadSetting) {
    const { ports, perSecond, codes, apiKey, seed, kept } = setting;
    this.#setting = setting;
    this.#random = new Random(seed);
    const ledger = this.#ledger;
    this.#field = new Field(codes, ledger, this.#random.fork());
    this.#limited = new LimitedCodes(ledger, this.#random.fork());
    this.#client = new PatientClient(`http://127.0.0.1:${ports.api}`, apiKey, ledger);
    this.#writes = new Writes(ledger, this.#random.fork());
    this.#writing = new Writing(this.#writes, this.#client, ledger);
    this.#refill = setInterval(() => this.#limited.refill(this.#client), refillMs);
    this.#phones = new Phones({
      port: ports.redirect,
      perSecond: perSecond * (1 - keptShare),
      next: () => this.#next(),
    });
    this.#kept = new Scanners({
      port: ports.redirect,
      ledger,
      random: this.#random.fork(),
      perSecond: perSecond * keptShare,
      ...(kept === 'busy'
        ? ({ connections: 4, use: 'evenly' } as const)
        : ({ connections: 32, use: 'first free' } as const)),
    });
  }

  async take(order: LoadOrder): Promise<LoadResult> {
    switch (order.kind) {
      case 'phase':
        this.#phones.phase = order.phase;
        return {};
      case 'count': {
        const { scans, acknowledged } = this.#ledger;
        return { counts: { scans, writesAcknowledged: acknowledged } };
      }
      case 'finish':
        return { sums: await this.#finish() };
      case 'ask':
        await askEveryLink(this.#ledger, this.#setting.ports.redirect);
        return {};
      case 'compare':
        return { comparison: await this.#compare(order.days) };
      default:
        throw new Error(`Cannot do ${JSON.stringify(order)}`);
    }
  }

  #next(): Asked | undefined {
    const draw = this.#random.next();
    if (draw < changedShare) return this.#changed();
    const limited = draw < changedShare + limitedShare ? this.#limited.next() : undefined;
    return limited ?? this.#field.next() ?? this.#changed();
  }

  #changed(): Asked | undefined {
    const scan = nextScan(this.#ledger, this.#random);
    if (scan === undefined) return undefined;
    return {
      path: scan.code.path,
      request: requestOf(scan, 'close'),
      answered: (status, location) => this.#ledger.receive(scan, status, location),
      lost: () => undefined,
    };
  }

  async #finish(): Promise<LoadSums> {
    clearInterval(this.#refill);
    await this.#writing.stop();
    await this.#writes.resolve(this.#client);
    await this.#limited.close();
    await this.#phones.finish();
    const keptBroken = await this.#kept.finish(lastAnswersMsMax);
    await this.#client.close();
    return { phones: this.#phones.sums, keptBroken, writing: this.#writing.sums };
  }

  async #compare(days: Days): Promise<LoadComparison> {
    const parts = [this.#field, this.#limited];
    const others: OtherCodes = {
      hasPath: (path) => parts.some((part) => part.hasPath(path)),
      hasReferer: (referer) => parts.some((part) => part.hasReferer(referer)),
    };
    const { dataDir } = this.#setting;
    const { field, limited } = await withStores(dataDir, (stores) => ({
      field: this.#field.compare(stores),
      limited: this.#limited.compare(stores),
    }));
    const changed = await compare(this.#ledger, dataDir, days, { others });
    return { changed, field, limited };
  }
}

if (parentPort === null) throw new Error('Cannot run: expected to be a thread');
const port = parentPort;
const setting: LoadSetting = workerData;
const load = new Load(setting);
port.on('message', (order: LoadOrder) => {
  const reply = (result: LoadReply): void => port.postMessage(result);
  load.take(order).then(
    (result) => reply({ no: order.no, result }),
    (error: unknown) => reply({ no: order.no, result: {}, error: String(error) }),
  );
});
