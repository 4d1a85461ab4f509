/**
 * The codes that were stored before the load began, up to millions, and the ledger of their scans: two arrays, because
 * an entry of the crash runs' ledger takes a kilobyte. Half of the scans go to a thousand of them, the others to any.
 */
import { pathsOf, targetOf } from '../../bench/loads/seed.ts';
import type { Ledger } from '../crash/ledger.ts';
import type { Random } from '../crash/random.ts';
import type { OtherCodes, Stores } from '../crash/comparison.ts';
import { requestOnNewConnection, type ScanRequest } from './scan-request.ts';

const popularCodes = 1_000;
const refererStart = 'https://seeded.example/';

export interface SeededSums {
  readonly answered: number;
  readonly counted: number;
  /** Answered and not counted; counted more often than sent; code by code. */
  readonly lost: number;
  readonly duplicated: number;
}

export class SeededCodes implements OtherCodes {
  readonly #ledger: Pick<Ledger, 'note'>;
  readonly #random: Random;
  readonly #paths: readonly string[];
  readonly #known: ReadonlySet<string>;
  readonly #sent: Uint32Array;
  readonly #answered: Uint32Array;
  #scans = 0;

  constructor(count: number, ledger: Pick<Ledger, 'note'>, random: Random) {
    this.#ledger = ledger;
    this.#random = random;
    this.#paths = pathsOf(count);
    this.#known = new Set(this.#paths);
    this.#sent = new Uint32Array(count);
    this.#answered = new Uint32Array(count);
  }

  hasPath(path: string): boolean {
    return this.#known.has(path);
  }

  hasReferer(referer: string): boolean {
    return referer.startsWith(refererStart);
  }

  next(): ScanRequest | undefined {
    const count = this.#paths.length;
    if (count === 0) return undefined;
    const among = this.#random.chance(0.5) ? Math.min(popularCodes, count) : count;
    const index = this.#random.between(0, among);
    const path = this.#paths[index] ?? '';
    const visitor = this.#scans++;
    this.#sent[index]!++;
    return {
      path,
      text: requestOnNewConnection(path, visitor, refererStart),
      onResponse: (status, location) => {
        if (status === 302) this.#answered[index]!++;
        if (status === 302 && location === targetOf(index + 1)) return;
        this.#ledger.note(`${path} was answered ${status} ${location}`);
      },
    };
  }

  compare({ management, queries: { analytics } }: Stores): SeededSums {
    const sums = { answered: 0, counted: 0, lost: 0, duplicated: 0 };
    for (const [index, path] of this.#paths.entries()) {
      const [sent = 0, answered = 0] = [this.#sent[index], this.#answered[index]];
      const no = management.shortCodes.get(path.slice(1));
      const counted = no === undefined ? 0 : analytics.lifetimeScans(no);
      sums.answered += answered;
      sums.counted += counted;
      sums.lost += Math.max(0, answered - counted);
      sums.duplicated += Math.max(0, counted - sent);
    }
    return sums;
  }
}
