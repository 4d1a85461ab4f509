/** One pass over raw scans, and who waits for its answer: it ends when the last of them leaves. */
import type { Asker } from '../asker.ts';
import type { RawAnswer, RawQuery, RawScanCounter } from './raw-query.ts';

export class KeptAnswer {
  /** As it was asked: what the answer was expected to have. */
  readonly query: RawQuery;
  readonly answer: Promise<RawAnswer>;
  /** What is done of it, 0 to 1. */
  share = 0;
  readonly #pass = new AbortController();
  /** Called when nobody waits any more: who comes after that needs another pass. */
  readonly #onGivenUp: () => void;
  #waiting = 0;

  constructor(raw: RawScanCounter, query: RawQuery, onGivenUp: () => void) {
    this.query = query;
    this.#onGivenUp = onGivenUp;
    const onProgress = (share: number): void => void (this.share = share);
    this.answer = raw.run(query, onProgress, this.#pass.signal);
  }

  /** @param asker absent = it stays until the answer is there @throws as `run`; its reason where the asker has left */
  async wait(asker?: Asker): Promise<RawAnswer> {
    asker?.left.throwIfAborted();
    const leave = (): void => {
      if (--this.#waiting > 0) return;
      this.#onGivenUp();
      this.#pass.abort(asker?.left.reason);
    };
    this.#waiting++;
    asker?.left.addEventListener('abort', leave);
    if (asker !== undefined) asker.waitsFor = this;
    try {
      return await this.answer;
    } finally {
      asker?.left.removeEventListener('abort', leave);
      if (asker !== undefined) asker.waitsFor = undefined;
    }
  }
}
