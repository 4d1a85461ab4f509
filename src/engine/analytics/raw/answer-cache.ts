/**
 * Caches answers from raw scans for seconds: the cards of a page ask the same query at once, and one pass answers all. A
 * later query gets newer numbers.
 */
import { LRUCache } from 'lru-cache';
import type { RawAnswer, RawQuery, RawScanCounter } from './raw-query.ts';

/** Counted from the answer; a running pass is always cached. */
const cachedMs = 3_000;
/** An answer with 100,000 codes has 5 MB. */
const passesMax = 16;

interface Pass {
  readonly query: RawQuery;
  readonly answer: Promise<RawAnswer>;
}

export class AnswerCache {
  readonly #raw: RawScanCounter;
  readonly #passes = new LRUCache<string, Pass>({ max: passesMax, ttl: cachedMs });

  constructor(raw: RawScanCounter) {
    this.#raw = raw;
  }

  /** The cached pass. Its answer may lack newer scans. */
  find(query: RawQuery): Pass | undefined {
    return this.#passes.get(keyOf(query));
  }

  /** Runs again when a cached answer has fewer scans than expected. */
  async run(query: RawQuery): Promise<RawAnswer> {
    const known = this.find(query);
    if (known !== undefined) {
      const answer = await known.answer;
      if (hasAll(answer, query)) return answer;
    }
    const pass = { query, answer: this.#raw.run(query) };
    // `expected` counts no bots, so it cannot show that an answer lacks some: not cached.
    if (query.readsAll !== true) void this.#store(pass);
    return await pass.answer;
  }

  /** Caches an answer with all expected scans; not a failure or an answer that lacks expired scans. */
  async #store(pass: Pass): Promise<void> {
    const key = keyOf(pass.query);
    this.#passes.set(key, pass, { ttl: 0 });
    const answer = await pass.answer.catch(() => undefined);
    // Another pass may have replaced it.
    if (this.#passes.peek(key) !== pass) return;
    if (answer && hasAll(answer, pass.query)) this.#passes.set(key, pass);
    else this.#passes.delete(key);
  }
}

const keyOf = ({ codes, expected: _expected, ...query }: RawQuery): string =>
  JSON.stringify([query, codes && [...codes]]);

export const hasAll = ({ all }: RawAnswer, { expected = 0 }: RawQuery): boolean => all >= expected;
