/**
 * ResultBatcher: collects attempt results and commits many in one transaction.
 *
 *   add --> journal, at the end of the event loop cycle --> [ batch ] --> commit --> journal emptied
 *
 * The first result after a pause is committed at once. Results that arrive meanwhile wait until 200 ms after the
 * last commit, until there are 1,000, or until nothing is in flight. A commit costs 0.8 ms of CPU whatever it
 * holds; what is not committed is in the journal.
 *
 * A commit that fails is retried until it succeeds. Nothing more is started meanwhile (`onFault`), because its
 * result could not be stored and it would be sent again.
 */
import { setImmediate as yieldToEventLoop, setTimeout as pause } from 'node:timers/promises';
import type { AttemptRecord } from '../../model/webhook.ts';
import type { ResultJournal } from '../../store/delivery/result-journal.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import type { WheelMs } from '../../model/wheel-time.ts';

const intervalMs = 200;
/** Results of one commit: bounds how long the control thread is blocked, some 5 us each. */
const commitMax = 1_000;
const retryMs = 500;

export interface EndedAttempt {
  readonly delivery: Delivery;
  readonly attempt: AttemptRecord;
  /** Wheel time at which the result arrived: no earlier than the end of the attempt. */
  readonly wheelMs: WheelMs;
  /** Drawn once, so that a commit that is repeated decides the same. */
  readonly random: number;
}

export interface ResultBatcherOptions {
  readonly journal: ResultJournal;
  /** Milliseconds of a clock that never steps back. */
  readonly nowMs: () => number;
  /** One transaction. */
  readonly commit: (batch: readonly EndedAttempt[]) => Promise<void>;
  readonly onCommitted: (batch: readonly EndedAttempt[]) => void;
  /** Called with the error of each commit that fails, and with `undefined` when one succeeds after that. */
  readonly onFault: (error: unknown) => void;
}

export class ResultBatcher {
  readonly #options: ResultBatcherOptions;
  /** Oldest first. */
  readonly #waiting: EndedAttempt[] = [];
  /** The newest of them, not yet in the journal. */
  #unwritten: EndedAttempt[] = [];
  #running: Promise<void> | undefined;
  #nextCommitMs = 0;
  #isFailing = false;
  #isStopping = false;
  /** The batch is to be committed now, or when the running commit has ended. */
  #isFlushing = false;
  #endWait: () => void = () => undefined;

  constructor(options: ResultBatcherOptions) {
    this.#options = options;
  }

  /** Results that are not committed. */
  get size(): number {
    return this.#waiting.length;
  }

  /** How long the oldest of them has waited. */
  get oldestMs(): number {
    const [oldest] = this.#waiting;
    return oldest === undefined ? 0 : this.#options.nowMs() - oldest.wheelMs;
  }

  get isQuiet(): boolean {
    return this.#waiting.length === 0 && this.#running === undefined;
  }

  add(result: EndedAttempt): void {
    this.#waiting.push(result);
    this.#unwritten.push(result);
    if (this.#unwritten.length === 1) queueMicrotask(() => this.#write());
    if (this.#waiting.length >= commitMax) this.flush();
    this.#run();
  }

  /** Commits the batch now, without waiting for more. */
  flush(): void {
    this.#isFlushing = true;
    this.#endWait();
  }

  /** Commits what there is, with one try. Results that arrive later are committed by the next call. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.flush();
    while (this.#running !== undefined) await this.#running;
  }

  #run(): void {
    this.#running ??= this.#commitAll().finally(() => {
      this.#running = undefined;
      if (this.#waiting.length > 0 && !this.#isStopping) this.#run();
    });
  }

  async #commitAll(): Promise<void> {
    const { journal, nowMs } = this.#options;
    while (this.#waiting.length > 0) {
      await this.#collect();
      this.#write();
      journal.rotate();
      if (!(await this.#commit(this.#waiting.length))) return;
      this.#nextCommitMs = nowMs() + intervalMs;
      journal.markCommitted();
    }
  }

  /** Resolves when the batch is to be committed. */
  async #collect(): Promise<void> {
    // Results of the same event loop cycle as the first go into one commit with it.
    await yieldToEventLoop();
    const waitMs = this.#nextCommitMs - this.#options.nowMs();
    if (waitMs > 0 && !this.#isFlushing) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs);
        this.#endWait = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isFlushing = false;
  }

  /** @returns whether the oldest `count` are committed */
  async #commit(count: number): Promise<boolean> {
    const { commit, onCommitted, onFault } = this.#options;
    for (let left = count; left > 0;) {
      const batch = this.#waiting.slice(0, Math.min(left, commitMax));
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
      this.#waiting.splice(0, batch.length);
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
          const { id: deliveryId, endpointNo, place } = delivery;
          const attemptNo = delivery.attemptsMade + 1;
          return { deliveryId, endpointNo, place, attemptNo, wheelMs, random, attempt };
        }),
      );
    } catch {
      // Most likely a full disk: the commit fails too, and reports it.
      this.flush();
    }
  }
}
