/**
 * Brings into the link table what another process has changed.
 *
 *   quietzone import …   LinkLoader.write, in the transaction of its change     link_changes: 1, 2, 3 …
 *                                                                                    │
 *   the running service  now and then: is the last number beyond the one seen? ────┘
 *                        then publishes the newest link of each code
 *
 * It checks once a second, and every 250 ms from the first change of another process until 10 s after the last.
 * The process that holds the link table numbers its own changes too, publishes them itself, and passes over them here
 * (own-changes.ts); a run that finds nothing reads one value (about 2 us). A start reads every link anyway: it begins
 * at the number that stood before that reading, and publishing a change twice changes nothing. A change that is
 * damaged, or missing because too many came meanwhile, may be of any code: all are published then.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { CodeNo } from '../../model/numbers.ts';
import { linkChangesOf } from '../../store/management/link-changes.ts';
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
  #checksLeft = 0;
  #isClosed = false;
  /** The run in progress, and the one that waits for its end. */
  #running: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;

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

  /** Goes on after the change `number`. */
  begin(number: number): void {
    this.#seen = number;
  }

  start(): void {
    void this.#ticker.runNow();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#ticker.close();
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
    this.#checksLeft = Math.max(0, this.#checksLeft - 1);
    while (this.#seen < last && !this.#isClosed) {
      const upTo = Math.min(last, this.#seen + sliceMax);
      const codeNos = this.#changedByOthers(this.#seen + 1, upTo);
      if (codeNos?.length !== 0) this.#checksLeft = busyChecks;
      if (codeNos === undefined) await this.#links.publishAll();
      else this.#links.publishMany(codeNos);
      this.#seen = codeNos === undefined ? last : upTo;
      await yieldToEventLoop();
    }
  }

  /** Undefined where a change is missing or damaged. */
  #changedByOthers(first: number, last: number): CodeNo[] | undefined {
    const { own } = this.#links;
    let from = first;
    while (from <= last && own.take(from)) from++;
    if (from > last) return [];
    const changes = linkChangesOf(this.#store, from, last);
    return changes && [...changes].flatMap(([number, no]) => (own.take(number) ? [] : [no]));
  }
}
