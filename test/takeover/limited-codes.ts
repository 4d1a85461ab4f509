/**
 * Codes with a scan limit and the ledger of their scans. One after the other is scanned until its limit is reached and
 * beyond: it gives at least as many redirects as its limit, in whichever processes, and each is counted. The scans of an
 * upgrade may exceed the limit.
 */
import { foldShortCode } from '../../src/model/code.ts';
import type { Ledger } from '../crash/ledger.ts';
import type { Random } from '../crash/random.ts';
import type { OtherCodes, Stores } from '../crash/comparison.ts';
import type { Caller } from '../crash/writes.ts';
import { requestOnNewConnection, type ScanRequest } from './scan-request.ts';

const limitMin = 20;
const limitMax = 400;
/** Responses 410 before the next code follows: the limit holds once it is reached. */
const refusalsMin = 20;
const refererStart = 'https://limited.example/';

interface LimitedCode {
  readonly path: string;
  readonly target: string;
  readonly limit: number;
  redirects: number;
  refusals: number;
  faults: number;
}

export interface LimitedSums {
  readonly redirects: number;
  readonly counted: number;
  readonly lost: number;
  readonly duplicated: number;
}

export class LimitedCodes implements OtherCodes {
  readonly #ledger: Pick<Ledger, 'note'>;
  readonly #random: Random;
  readonly #codes: LimitedCode[] = [];
  #current: LimitedCode | undefined;
  #scans = 0;
  #creating: Promise<void> | undefined;
  #isClosed = false;

  constructor(ledger: Pick<Ledger, 'note'>, random: Random) {
    this.#ledger = ledger;
    this.#random = random;
  }

  hasPath(path: string): boolean {
    return path.startsWith('/limited-');
  }

  hasReferer(referer: string): boolean {
    return referer.startsWith(refererStart);
  }

  /** Creates the next code once the current one needs no more scans. */
  refill(client: Caller): void {
    const current = this.#current;
    const isDone = current === undefined || current.refusals >= refusalsMin;
    if (!isDone || this.#creating !== undefined || this.#isClosed) return;
    this.#current = undefined;
    this.#creating = this.#create(client)
      // The service was killed: the next refill creates another one.
      .catch(() => undefined)
      .finally(() => (this.#creating = undefined));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#creating;
  }

  async #create(client: Caller): Promise<void> {
    const number = this.#codes.length;
    const code: LimitedCode = {
      path: `/limited-${number}`,
      target: `https://limited.example/target/${number}`,
      limit: this.#random.between(limitMin, limitMax),
      redirects: 0,
      refusals: 0,
      faults: 0,
    };
    this.#codes.push(code);
    const body = { target: code.target, slug: code.path.slice(1), scanLimit: code.limit };
    const { status, text } = await client.call('POST', '/v1/qr-codes', { body });
    if (status !== 201) return this.#ledger.note(`${code.path} was answered ${status}: ${text}`);
    this.#current = code;
  }

  next(): ScanRequest | undefined {
    const code = this.#current;
    if (code === undefined) return undefined;
    const visitor = this.#scans++;
    return {
      path: code.path,
      text: requestOnNewConnection(code.path, visitor, refererStart),
      onResponse: (status, location) => this.#take(code, status, location),
      onFault: () => code.faults++,
    };
  }

  #take(code: LimitedCode, status: number, location: string): void {
    if (status === 302 && location === code.target) {
      code.redirects++;
    } else if (status === 410) {
      code.refusals++;
    } else {
      this.#ledger.note(`${code.path} was answered ${status} ${location}`);
    }
  }

  compare({ management, queries: { analytics } }: Stores): LimitedSums {
    let [redirects, counted, lost, duplicated] = [0, 0, 0, 0];
    for (const code of this.#codes) {
      const no = management.shortCodes.get(foldShortCode(code.path.slice(1)));
      const scans = no === undefined ? 0 : analytics.lifetimeScans(no);
      redirects += code.redirects;
      counted += scans;
      lost += Math.max(0, code.redirects - scans);
      duplicated += Math.max(0, scans - code.redirects - code.faults);
      if (code.refusals === 0) continue;
      // A response that never arrived may have been a redirect.
      if (code.redirects + code.faults < code.limit) {
        this.#ledger.note(`${code.path} refused after ${code.redirects} of ${code.limit}`);
      }
    }
    return { redirects, counted, lost, duplicated };
  }
}
