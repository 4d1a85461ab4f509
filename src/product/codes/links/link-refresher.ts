/**
 * Brings into the link table what another process or machine has changed: the leader of a cluster, or a successor.
 *
 *   LinkLoader.write, in the transaction of the change     link_changes: 1, 2, 3 …
 *   refresh()   is the last number beyond the one seen? then publishes the newest link of each code since
 *
 * Publishing a change twice changes nothing and costs 8 us, so changes of this process are published again. If a change is
 * damaged or missing, it may be of any code: all are published.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { linkChangesOf } from '../../../store/management/link-changes.ts';
import type { Management } from '../../../store/management/management.ts';
import type { LinkLoader } from './link-loader.ts';

/** Changes published without a pause: at 8 us each, 4 ms. */
const sliceMax = 500;

export class LinkRefresher {
  readonly #store: Management;
  readonly #links: LinkLoader;
  #seen: number;
  #isClosed = false;
  /** The run in progress, and the one that waits for its end. */
  #running: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  /** Create it before the link table is filled: it sees later changes. */
  constructor(store: Management, links: LinkLoader) {
    this.#store = store;
    this.#links = links;
    this.#seen = store.last('link');
  }

  /** Continues after the change `number`. */
  begin(number: number): void {
    this.#seen = number;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  /** Changes up to this number are in the link table, or pending there. */
  get seen(): number {
    return this.#seen;
  }

  /** Resolves when every change that was committed before the call is in the link table, or pending there. */
  refresh(): Promise<void> {
    // Who calls while one waits joins it: it reads the last number only when it begins.
    this.#waiting ??= this.#running.then(() => {
      this.#waiting = undefined;
      const run = this.#follow();
      this.#running = run.catch(() => undefined);
      return run;
    });
    return this.#waiting;
  }

  async #follow(): Promise<void> {
    this.#store.environment.refresh();
    const last = this.#store.last('link');
    while (this.#seen < last && !this.#isClosed) {
      const upTo = Math.min(last, this.#seen + sliceMax);
      const changes = linkChangesOf(this.#store, this.#seen + 1, upTo);
      if (changes === undefined) await this.#links.publishAll();
      else this.#links.publishMany([...changes.values()]);
      this.#seen = changes === undefined ? last : upTo;
      await yieldToEventLoop();
    }
  }
}
