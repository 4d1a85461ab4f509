/**
 * Images that are asked for again and again, ready to be sent: no request is made of the request, nothing
 * is looked up in the store. A cached image costs what its bytes cost.
 *
 *   address + query --> ready? --> sent
 *                          no  --> images.ts, which leaves its answer here
 *
 * An answer is good as long as nothing has been committed since the code was looked at: every commit
 * throws all of them away, before the request that caused it is answered. So a deleted code is 410 and a
 * new design is seen at once, and under writes the ordinary way is taken more often, that is all.
 */
import type { ReadyAnswers, Reply } from '../../http/request.ts';
import { ByteBoundedCache } from '../../images/cache.ts';
import type { Signal } from '../../model/signal.ts';

/** Small next to the images kept in memory, whose bytes these are. */
const bytesMax = 16_777_216;
/** A query beyond it is not the dashboard's nor a page's. */
const addressLengthMax = 200;

export class ReadyImages implements ReadyAnswers {
  readonly prefix = '/i/';
  readonly #replies = new ByteBoundedCache<Reply>(bytesMax);
  #answered = 0;
  /** Counts commits. */
  #generation = 0;
  #cleared = 0;

  /** @param changes fired after a commit, before its request is answered */
  constructor(changes: readonly Signal[]) {
    for (const signal of changes) signal.listen(() => (this.#generation += 1));
  }

  /** Answered from here so far. */
  get answered(): number {
    return this.#answered;
  }

  /** To be handed back to `keep` with what was made of the store as it is now. */
  get generation(): number {
    return this.#generation;
  }

  find(path: string, query: string): Reply | undefined {
    this.#forgetOld();
    const reply = this.#replies.find(`${path}?${query}`);
    if (reply !== undefined) this.#answered += 1;
    return reply;
  }

  keep(path: string, query: string, reply: Reply, generation: number): void {
    const { status, body } = reply;
    if (status !== 200 || !(body instanceof Uint8Array)) return;
    if (generation !== this.#generation || path.length + query.length > addressLengthMax) return;
    this.#forgetOld();
    this.#replies.put(`${path}?${query}`, reply, body.length);
  }

  #forgetOld(): void {
    if (this.#cleared === this.#generation) return;
    this.#cleared = this.#generation;
    this.#replies.clear();
  }
}
