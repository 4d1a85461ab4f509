/**
 * Results of attempts between the moment they are heard and their commit.
 *
 *   add --> journal, at the end of the turn --> [ window ] --> commit --> journal emptied
 *
 * The first result after a pause is committed at once, and what comes meanwhile waits for the window's end: 50 ms
 * after the last commit, or 250 results, or nothing is left in flight. A commit costs 0.8 ms of CPU whatever it
 * holds; with one each time the last had ended, deliveries cost a quarter more in all.
 *
 * A commit that fails is tried again until it succeeds; nothing more is started meanwhile (`onFault`), for what
 * would be sent could not be remembered.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { AttemptRecord } from '../../model/webhook.ts';
import type { ResultJournal } from '../../store/delivery/result-journal.ts';
import type { Delivery } from '../deliveries/delivery-transaction.ts';

const windowMs = 50;
/** Results of one commit: bounds how long the control thread is held, 20 us each. */
const commitMax = 250;
const retryMs = 500;

export interface Ended {
  readonly delivery: Delivery;
  readonly attempt: AttemptRecord;
  /** Wheel time at which this thread heard of it: no earlier than its end. */
  readonly wheelMs: number;
  /** Drawn once, so that a commit that is tried again says the same. */
  readonly random: number;
}

export interface ResultBatcherOptions {
  readonly journal: ResultJournal;
  /** Milliseconds of a clock that only goes on. */
  readonly nowMs: () => number;
  /** One transaction. */
  readonly commit: (batch: readonly Ended[]) => Promise<void>;
  readonly onCommitted: (batch: readonly Ended[]) => void;
  /** Told of the error of each commit that fails, and `undefined` when one succeeds after that. */
  readonly onFault: (error: unknown) => void;
}

export class ResultBatcher {
  readonly #options: ResultBatcherOptions;
  /** Oldest first. */
  readonly #heard: Ended[] = [];
  /** The newest of them, not yet in the journal. */
  #unwritten: Ended[] = [];
  #running: Promise<void> | undefined;
  #endsMs = 0;
  #isFailing = false;
  #isStopping = false;
  /** The window is to end, now or when the commit that runs has. */
  #isClosing = false;
  #end: () => void = () => undefined;

  constructor(options: ResultBatcherOptions) {
    this.#options = options;
  }

  /** Results that wait for their commit. */
  get size(): number {
    return this.#heard.length;
  }

  get isQuiet(): boolean {
    return this.#heard.length === 0 && this.#running === undefined;
  }

  add(ended: Ended): void {
    this.#heard.push(ended);
    this.#unwritten.push(ended);
    if (this.#unwritten.length === 1) queueMicrotask(() => this.#write());
    if (this.#heard.length >= commitMax) this.close();
    this.#run();
  }

  /** Ends the window now. */
  close(): void {
    this.#isClosing = true;
    this.#end();
  }

  /** Commits what there is, with one try. What is heard later is committed by the next call. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.close();
    while (this.#running !== undefined) await this.#running;
  }

  #run(): void {
    this.#running ??= this.#commitAll().finally(() => {
      this.#running = undefined;
      if (this.#heard.length > 0 && !this.#isStopping) this.#run();
    });
  }

  async #commitAll(): Promise<void> {
    const { journal, nowMs } = this.#options;
    while (this.#heard.length > 0) {
      await this.#passed();
      this.#write();
      journal.turn();
      if (!(await this.#commit(this.#heard.length))) return;
      this.#endsMs = nowMs() + windowMs;
      journal.settle();
    }
  }

  /** Resolves when the window ends. */
  async #passed(): Promise<void> {
    // The end of the turn, so that what comes with the first result is with it in one commit.
    await new Promise((resolve) => setImmediate(resolve));
    const restMs = this.#endsMs - this.#options.nowMs();
    if (restMs > 0 && !this.#isClosing) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, restMs);
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isClosing = false;
  }

  /** @returns whether the oldest `count` are committed */
  async #commit(count: number): Promise<boolean> {
    const { commit, onCommitted, onFault } = this.#options;
    for (let left = count; left > 0;) {
      const batch = this.#heard.slice(0, Math.min(left, commitMax));
      try {
        await commit(batch);
      } catch (error) {
        this.#isFailing = true;
        onFault(error);
        if (this.#isStopping) return false;
        await pause(retryMs);
        continue;
      }
      left -= batch.length;
      this.#heard.splice(0, batch.length);
      if (this.#isFailing) onFault(undefined);
      this.#isFailing = false;
      onCommitted(batch);
    }
    return true;
  }

  #write(): void {
    const results = this.#unwritten;
    if (results.length === 0) return;
    this.#unwritten = [];
    try {
      this.#options.journal.append(
        results.map(({ delivery, attempt, wheelMs, random }) => {
          const attemptNo = delivery.attemptsMade + 1;
          return { deliveryNo: delivery.no, attemptNo, wheelMs, random, attempt };
        }),
      );
    } catch {
      // A full disk, most likely: the commit finds out, and says so.
      this.close();
    }
  }
}
