/**
 * The follower: brings into the link table what another process has changed.
 *
 *   quietzone import …   LinkLoader.write, in the transaction of its change     link_changes: 1, 2, 3 …
 *                                                                                    │
 *   the running service  every 250 ms: is the last number beyond the one seen? ──────┘
 *                        then bring in the newest link of each code, and remove what was seen
 *
 * A change by the process that holds the link table is put there directly and needs no number, so the
 * ordinary path pays nothing; a look that finds nothing reads one value (about 2 us). A start reads
 * every link anyway: it begins at the number that stood before that reading, and a change seen twice
 * is put twice, which changes nothing.
 */
import type { Management } from '../../store/management/management.ts';
import type { LinkLoader } from './link-loader.ts';

/** A change of another process is seen this much later at most. */
const followMs = 250;
/** Changes brought in between two turns of the event loop: at 8 us each, 4 ms. */
const sliceMax = 500;

export class LinkRefresher {
  readonly #store: Management;
  readonly #links: LinkLoader;
  readonly #onError: (error: unknown) => void;
  #seen: number;
  #isTrimmed = false;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** Before the link table is filled: what comes after this is followed. */
  constructor(store: Management, links: LinkLoader, onError: (error: unknown) => void) {
    this.#store = store;
    this.#links = links;
    this.#onError = onError;
    this.#seen = store.last('link');
  }

  start(): void {
    this.#running = this.#look();
  }

  async #look(): Promise<void> {
    try {
      await this.follow();
    } catch (error) {
      this.#onError(error);
    }
    if (!this.#isClosed) this.#timer = setTimeout(() => this.start(), followMs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Brings in what has been numbered since the last look. */
  async follow(): Promise<void> {
    const { environment, bulk } = this.#store;
    environment.refresh();
    const last = this.#store.last('link');
    while (this.#seen < last && !this.#isClosed) {
      const changed: number[] = [];
      let seen = last;
      for (const { key, value } of bulk.linkChanges.range({
        start: this.#seen + 1,
        limit: sliceMax,
      })) {
        changed.push(value);
        seen = key;
      }
      this.#links.wakeMany(changed);
      this.#seen = changed.length < sliceMax ? Math.max(seen, last) : seen;
      this.#isTrimmed = false;
      await new Promise<void>((resume) => setImmediate(resume));
    }
    while (!this.#isTrimmed && !this.#isClosed) await this.#trim();
  }

  /** Removes changes that were followed, a slice of them. */
  async #trim(): Promise<void> {
    const { environment, bulk } = this.#store;
    const range = { start: 0, end: this.#seen + 1, limit: sliceMax };
    const old = [...bulk.linkChanges.keys(range)];
    if (old.length > 0) {
      await environment.transaction(() => {
        for (const key of old) bulk.linkChanges.remove(key);
      });
    }
    this.#isTrimmed = old.length < sliceMax;
  }
}
