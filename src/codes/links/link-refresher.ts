/**
 * Brings into the link table what another process has changed.
 *
 *   quietzone import …   LinkLoader.write, in the transaction of its change     link_changes: 1, 2, 3 …
 *                                                                                    │
 *   the running service  now and then: is the last number beyond the one seen? ────┘
 *                        then publishes the newest link of each code, and deletes the numbers it has seen
 *
 * It checks once a second, and every 250 ms from the first change until 10 s after the last.
 * The process that holds the link table publishes its own changes and numbers none, so the ordinary path pays
 * nothing; a run that finds nothing reads one value (about 2 us). A start reads every link anyway: it begins
 * at the number that stood before that reading, and publishing a change twice changes nothing. A damaged change may be
 * of any code: all are published then.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Management } from '../../store/management/management.ts';
import type { Logger } from '../../telemetry/log.ts';
import { Ticker } from '../../telemetry/ticker.ts';
import type { LinkLoader } from './link-loader.ts';

/** The first change of another process is seen this much later at most. */
const idleMs = 1_000;
/** And those that follow it. */
const busyMs = 250;
/** Checks after the last change before it rests: 10 s. */
const busyChecks = 40;
/** Changes published without a pause: at 8 us each, 4 ms. */
const sliceMax = 500;

export class LinkRefresher {
  readonly #store: Management;
  readonly #links: LinkLoader;
  readonly #ticker: Ticker;
  #seen: number;
  #isPruned = false;
  #checksLeft = 0;
  #isClosed = false;

  /** To be made before the link table is filled: later changes are seen. */
  constructor(store: Management, links: LinkLoader, log: Logger) {
    this.#store = store;
    this.#links = links;
    this.#seen = store.last('link');
    this.#ticker = new Ticker({
      everyMs: () => (this.#checksLeft > 0 ? busyMs : idleMs),
      run: () => this.refresh(),
      log,
      failed: 'reading links that another process changed failed, retrying',
      resumed: 'reading links that another process changed resumed',
    });
  }

  start(): void {
    void this.#ticker.runNow();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#ticker.close();
  }

  /** Publishes what has been numbered since the last time. */
  async refresh(): Promise<void> {
    const { environment, bulk } = this.#store;
    environment.refresh();
    const last = this.#store.last('link');
    this.#checksLeft = this.#seen < last ? busyChecks : Math.max(0, this.#checksLeft - 1);
    while (this.#seen < last && !this.#isClosed) {
      const range = { start: this.#seen + 1, limit: sliceMax };
      const damaged: number[] = [];
      const changes = [...bulk.linkChanges.range(range, (key) => damaged.push(key))];
      this.#links.publishMany(changes.map(({ value }) => value));
      if (damaged.length > 0) await this.#links.publishAll();
      this.#seen = Math.max(changes.at(-1)?.key ?? last, damaged.at(-1) ?? 0);
      if (changes.length + damaged.length < sliceMax) this.#seen = last;
      this.#isPruned = false;
      await yieldToEventLoop();
    }
    while (!this.#isPruned && !this.#isClosed) await this.#prune();
  }

  /** Removes a slice of the numbers that were seen. */
  async #prune(): Promise<void> {
    const { environment, bulk } = this.#store;
    const old = [...bulk.linkChanges.keys({ start: 0, end: this.#seen + 1, limit: sliceMax })];
    if (old.length > 0) {
      await environment.transaction(() => {
        for (const key of old) bulk.linkChanges.remove(key);
      });
    }
    this.#isPruned = old.length < sliceMax;
  }
}
