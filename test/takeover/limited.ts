/**
 * Codes with a scan limit, one after the other, scanned by a crowd until each has refused its share: exactly as many
 * redirects as its limit, whichever processes gave them, and from then on 410.
 */
import { foldShortCode } from '../../src/model/code.ts';
import { agentOf, requestText } from '../crash/scanners.ts';
import type { Ledger } from '../crash/ledger.ts';
import type { Random } from '../crash/random.ts';
import type { OtherCodes, Stores } from '../crash/comparison.ts';
import type { Caller } from '../crash/writes.ts';
import type { Asked } from './phones.ts';

const limitMin = 20;
const limitMax = 400;
/** Refusals that show that it stays over. */
const refusalsWanted = 20;
const refererStart = 'https://limited.example/';

interface LimitedCode {
  readonly path: string;
  readonly target: string;
  readonly limit: number;
  redirects: number;
  refusals: number;
  lost: number;
  inFlight: number;
  /** Something was refused: what is asked from now on must be refused too. */
  isOver: boolean;
}

export interface LimitedSums {
  readonly codes: number;
  readonly ended: number;
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

  /** Sees to it that there is one to scan. */
  refill(client: Caller): void {
    const current = this.#current;
    const isDone = current === undefined || current.refusals >= refusalsWanted;
    if (!isDone || this.#creating !== undefined || this.#isClosed) return;
    this.#current = undefined;
    this.#creating = this.#create(client)
      // Its service was killed: the next refill makes another one.
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
      lost: 0,
      inFlight: 0,
      isOver: false,
    };
    this.#codes.push(code);
    const body = { target: code.target, slug: code.path.slice(1), scanLimit: code.limit };
    const { status, text } = await client.call('POST', '/v1/qr-codes', { body });
    if (status !== 201) return this.#ledger.note(`${code.path} was answered ${status}: ${text}`);
    this.#current = code;
  }

  next(): Asked | undefined {
    const code = this.#current;
    if (code === undefined) return undefined;
    const visitor = this.#scans++;
    const wasOver = code.isOver;
    code.inFlight++;
    return {
      path: code.path,
      request: requestText({
        path: code.path,
        visitor,
        agent: agentOf(visitor).text,
        referer: `${refererStart}${visitor}`,
        connection: 'close',
      }),
      answered: (status, location) => {
        code.inFlight--;
        this.#take(code, status, location);
        if (status === 302 && wasOver) this.#ledger.note(`${code.path} redirects after it refused`);
      },
      lost: () => {
        code.inFlight--;
        code.lost++;
      },
    };
  }

  #take(code: LimitedCode, status: number, location: string): void {
    if (status === 302 && location === code.target) {
      code.redirects++;
      if (code.redirects > code.limit) this.#ledger.note(`${code.path} exceeds ${code.limit}`);
    } else if (status === 410) {
      code.isOver = true;
      code.refusals++;
    } else {
      this.#ledger.note(`${code.path} was answered ${status} ${location}`);
    }
  }

  compare({ management, queries: { analytics } }: Stores): LimitedSums {
    let [ended, redirects, counted, lost, duplicated] = [0, 0, 0, 0, 0];
    for (const code of this.#codes) {
      const no = management.shortCodes.get(foldShortCode(code.path.slice(1)));
      const scans = no === undefined ? 0 : analytics.lifetimeScans(no);
      redirects += code.redirects;
      counted += scans;
      lost += Math.max(0, code.redirects - scans);
      duplicated += Math.max(0, scans - code.redirects - code.lost);
      if (!code.isOver) continue;
      ended++;
      // What was lost on its way back may have been a redirect.
      if (code.redirects + code.lost < code.limit) {
        this.#ledger.note(`${code.path} ended after ${code.redirects} of ${code.limit}`);
      }
      if (scans > code.limit) this.#ledger.note(`${code.path} has ${scans} of ${code.limit} scans`);
    }
    return { codes: this.#codes.length, ended, redirects, counted, lost, duplicated };
  }
}
