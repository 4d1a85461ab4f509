/**
 * Answers from raw scans, kept for seconds: the cards of a page ask the same question at once, and one pass answers all of them.
 * Who asks a little later gets newer numbers.
 */
import { LRUCache } from 'lru-cache';
import type { Asker } from '../asker.ts';
import { KeptAnswer } from './kept-answer.ts';
import type { RawAnswer, RawQuery, RawScanCounter } from './raw-query.ts';

/** From the answer on; a question that is being answered is kept however long that takes. */
const keptMs = 3_000;
/** One may have the counts of 100,000 codes, 5 MB. */
const keptMax = 16;

export class KeptAnswers {
  readonly #raw: RawScanCounter;
  readonly #kept = new LRUCache<string, KeptAnswer>({ max: keptMax, ttl: keptMs });

  constructor(raw: RawScanCounter) {
    this.#raw = raw;
  }

  /** Of a question that was asked just now, whatever its answer was expected to have: it may have less. */
  find(query: RawQuery): KeptAnswer | undefined {
    return this.#kept.get(keyOf(query));
  }

  /**
   * One that has fewer scans than are expected is asked for anew: some have come since.
   * @param asker absent = nobody who could leave
   */
  async run(query: RawQuery, asker?: Asker): Promise<RawAnswer> {
    const known = this.find(query);
    if (known !== undefined) {
      const answer = await known.wait(asker);
      if (hasAll(answer, query)) return answer;
    }
    asker?.left.throwIfAborted();
    const key = keyOf(query);
    const asked = new KeptAnswer(this.#raw, query, () => this.#remove(key, asked));
    // Whether an answer lacks bots, the scans that are expected do not say: it is not kept.
    if (query.readsAll !== true) {
      this.#kept.set(key, asked, { ttl: 0 });
      void this.#keepWhole(key, asked);
    }
    return await asked.wait(asker);
  }

  /** What has expired is refused, and not kept for those who expect nothing; nor is a failure. */
  async #keepWhole(key: string, asked: KeptAnswer): Promise<void> {
    const isWhole = await asked.answer.then(
      (answer) => hasAll(answer, asked.query),
      () => false,
    );
    if (!isWhole) this.#remove(key, asked);
    else if (this.#kept.peek(key) === asked) this.#kept.set(key, asked);
  }

  /** Unless another has taken its place. */
  #remove(key: string, asked: KeptAnswer): void {
    if (this.#kept.peek(key) === asked) this.#kept.delete(key);
  }
}

const keyOf = ({ codes, expected: _expected, ...query }: RawQuery): string =>
  JSON.stringify([query, codes && [...codes]]);

/** Whether each span has the scans that its records say. */
export const hasAll = ({ all }: RawAnswer, { expected = [] }: RawQuery): boolean =>
  expected.every((scans, span) => (all[span] ?? 0) >= scans);
