/**
 * Answers from raw scans, kept for seconds: the cards of a page ask the same question at once, and one pass answers all of them.
 * Who asks a little later gets newer numbers.
 */
import { LRUCache } from 'lru-cache';
import type { WorkspaceNo } from '../../../model/numbers.ts';
import type { RawAnswer, RawQuery, RawScanCounter } from './raw-query.ts';

/** From the answer on; a question that is being answered is kept however long that takes. */
const keptMs = 3_000;
/** One may have the counts of 100,000 codes, 5 MB. */
const keptMax = 16;

export interface KeptAnswer {
  readonly answer: Promise<RawAnswer>;
  /** As it was asked: what the answer was expected to have. */
  readonly query: RawQuery;
}

export class KeptAnswers implements RawScanCounter {
  readonly #raw: RawScanCounter;
  readonly #kept = new LRUCache<string, KeptAnswer>({ max: keptMax, ttl: keptMs });
  readonly #shares = new Map<WorkspaceNo, number>();

  constructor(raw: RawScanCounter) {
    this.#raw = raw;
  }

  /** Of a question that was asked just now, whatever its answer was expected to have: it may have less. */
  find(query: RawQuery): KeptAnswer | undefined {
    return this.#kept.get(keyOf(query));
  }

  /** One that has fewer scans than are expected is asked for anew: some have come since. */
  async run(query: RawQuery): Promise<RawAnswer> {
    const known = this.find(query);
    if (known !== undefined) {
      const answer = await known.answer;
      if (hasAll(answer, query)) return answer;
    }
    const key = keyOf(query);
    const asked = { answer: this.#ask(query), query };
    this.#kept.set(key, asked, { ttl: 0 });
    try {
      const answer = await asked.answer;
      // What has expired is refused, and not kept for those who expect nothing.
      if (hasAll(answer, query)) this.#kept.set(key, asked);
      else this.#kept.delete(key);
      return answer;
    } catch (error) {
      this.#kept.delete(key);
      throw error;
    }
  }

  /** What is done of the query that runs for a workspace, 0 to 1; undefined where none runs. */
  shareOf(workspaceNo: WorkspaceNo): number | undefined {
    return this.#shares.get(workspaceNo);
  }

  async #ask(query: RawQuery): Promise<RawAnswer> {
    const { workspaceNo } = query;
    if (workspaceNo === undefined) return await this.#raw.run(query);
    try {
      return await this.#raw.run(query, (share) => {
        this.#shares.set(workspaceNo, share);
      });
    } finally {
      this.#shares.delete(workspaceNo);
    }
  }
}

const keyOf = ({ codes, expected: _expected, ...query }: RawQuery): string =>
  JSON.stringify([query, codes && [...codes]]);

/** Whether each span has the scans that its records say. */
export const hasAll = ({ all }: RawAnswer, { expected = [] }: RawQuery): boolean =>
  expected.every((scans, span) => (all[span] ?? 0) >= scans);
