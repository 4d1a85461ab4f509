/**
 * Answers from raw scans, kept for seconds: the cards of a page ask the same question at once, and one pass answers all of them.
 * Who asks a little later gets newer numbers.
 */
import { LRUCache } from 'lru-cache';
import type { WorkspaceNo } from '../../../model/numbers.ts';
import type { RawAnswer, RawQuery, RawScanCounter } from './raw-query.ts';

const keptMs = 3_000;
/** One may have the counts of 100,000 codes, 5 MB. */
const keptMax = 16;

export class KeptAnswers implements RawScanCounter {
  readonly #raw: RawScanCounter;
  readonly #kept = new LRUCache<string, Promise<RawAnswer>>({ max: keptMax, ttl: keptMs });
  readonly #shares = new Map<WorkspaceNo, number>();

  constructor(raw: RawScanCounter) {
    this.#raw = raw;
  }

  /** Of a question that was asked just now, whatever its answer was expected to have. */
  find(query: RawQuery): Promise<RawAnswer> | undefined {
    return this.#kept.get(keyOf(query));
  }

  /** One that has fewer scans than are expected is asked for anew: some have come since. */
  async run(query: RawQuery): Promise<RawAnswer> {
    const known = this.find(query);
    if (known !== undefined) {
      const answer = await known;
      if (hasAll(answer, query)) return answer;
    }
    const key = keyOf(query);
    const asked = this.#ask(query);
    this.#kept.set(key, asked);
    asked.catch(() => this.#kept.delete(key));
    const answer = await asked;
    // What has expired is refused, and not kept for those who expect nothing.
    if (!hasAll(answer, query)) this.#kept.delete(key);
    return answer;
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
