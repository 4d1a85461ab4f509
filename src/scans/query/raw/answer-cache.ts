/**
 * Caches answers from raw scans for seconds: the cards of a page ask the same query at once, and one pass answers all. A
 * later query gets newer numbers. A pass ends early when all its clients have canceled.
 */
import { LRUCache } from 'lru-cache';
import type { QueryClient } from '../subject.ts';
import { type RawAnswer, RawControl, type RawQuery, type RawScanCounter } from './raw-query.ts';

/** Counted from the answer; a running pass is always cached. */
const cachedMs = 3_000;
/** An answer with 100,000 codes has 5 MB. */
const passesMax = 16;

class Pass {
  readonly query: RawQuery;
  readonly answer: Promise<RawAnswer>;
  readonly control = new RawControl();
  #waiting = 0;

  constructor(raw: RawScanCounter, query: RawQuery) {
    this.query = query;
    this.answer = raw.run(query, this.control);
  }

  /** @param client absent = cannot cancel @throws as `run`; the client's reason when it has canceled */
  async wait(client?: QueryClient): Promise<RawAnswer> {
    client?.signal.throwIfAborted();
    const leave = (): void => {
      if (--this.#waiting === 0) this.control.cancel();
    };
    this.#waiting++;
    client?.signal.addEventListener('abort', leave);
    if (client !== undefined) client.waitsFor = this.control;
    try {
      return await this.answer;
    } catch (error) {
      client?.signal.throwIfAborted();
      throw error;
    } finally {
      client?.signal.removeEventListener('abort', leave);
      if (client !== undefined) client.waitsFor = undefined;
    }
  }
}

export class AnswerCache {
  readonly #raw: RawScanCounter;
  readonly #passes = new LRUCache<string, Pass>({ max: passesMax, ttl: cachedMs });

  constructor(raw: RawScanCounter) {
    this.#raw = raw;
  }

  /** The cached pass. Its answer may lack newer scans. */
  find(query: RawQuery): Pass | undefined {
    const pass = this.#passes.get(keyOf(query));
    return pass?.control.isCanceled === true ? undefined : pass;
  }

  /** Runs again when a cached answer has fewer scans than expected. @param client absent = cannot cancel */
  async run(query: RawQuery, client?: QueryClient): Promise<RawAnswer> {
    const known = this.find(query);
    if (known !== undefined) {
      const answer = await known.wait(client);
      if (hasAll(answer, query)) return answer;
    }
    client?.signal.throwIfAborted();
    const pass = new Pass(this.#raw, query);
    // `expected` counts no bots, so it cannot show that an answer lacks some: not cached.
    if (query.readsAll !== true) void this.#store(pass);
    return await pass.wait(client);
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
