/**
 * Results of attempts: collected, journaled, and committed many in one transaction.
 *
 * The first result after a pause is committed at once. Later results wait until 200 ms after the last commit, until
 * there are 1,000, or until nothing is in flight: a commit costs 0.8 ms of CPU whatever it holds. A failed commit is
 * retried until it succeeds. Meanwhile nothing starts (`onFault`): its result could not be stored.
 */
import { setImmediate as yieldToEventLoop, setTimeout as pause } from 'node:timers/promises';
import type { EndpointNo } from '../../model/numbers.ts';
import type { AttemptRecord, DisabledReason } from '../../model/webhook.ts';
import { toWheelMs, type WheelMs } from '../../model/wheel-time.ts';
import type { ResultJournal } from '../../store/delivery/result-journal.ts';
import { decide, type Delivery, shouldDisable, statsAfter } from '../deliveries/delivery.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import { type DeliveryTransaction, findRow } from '../deliveries/delivery-transaction.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { Feeds } from '../feeds/feeds.ts';

const intervalMs = 200;
/** Results of one commit, about 5 µs each: bounds the time that it blocks the control thread. */
const commitMax = 1_000;
const retryMs = 500;

export interface EndedAttempt {
  readonly delivery: Delivery;
  readonly attempt: AttemptRecord;
  /** Wheel time of the result's arrival, after the end of the attempt. */
  readonly wheelMs: WheelMs;
  /** Drawn once, so that a repeated commit decides the same. */
  readonly random: number;
}

interface ResultBatcherOptions {
  readonly journal: ResultJournal;
  readonly nowMs: () => number;
  readonly commit: (batch: readonly EndedAttempt[]) => Promise<void>;
  readonly onCommitted: (batch: readonly EndedAttempt[]) => void;
  /** Called with the error of each failed commit, and with `undefined` at the next success. */
  readonly onFault: (error: unknown) => void;
}

export class ResultBatcher {
  readonly #options: ResultBatcherOptions;
  readonly #waiting: EndedAttempt[] = [];
  #unwritten: EndedAttempt[] = [];
  #running: Promise<void> | undefined;
  #nextCommitMs = 0;
  #isFailing = false;
  #isStopping = false;
  /** Commit now, or after the running commit. */
  #isFlushing = false;
  #endWait: () => void = () => undefined;

  constructor(options: ResultBatcherOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.length;
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

  flush(): void {
    this.#isFlushing = true;
    this.#endWait();
  }

  /** Commits once what is there, without retries. The next call commits later results. */
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

  async #collect(): Promise<void> {
    // Results of the first one's event loop cycle join its commit.
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

  /** Commits the oldest `count` results. @returns whether it succeeded */
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
          const { id: deliveryId, endpointNo, outboxRef } = delivery;
          const attemptNo = delivery.attemptsMade + 1;
          return { deliveryId, endpointNo, outboxRef, attemptNo, wheelMs, random, attempt };
        }),
      );
    } catch {
      // Most likely a full disk: the commit fails too and reports it.
      this.flush();
    }
  }
}

export type EndpointsToDisable = Map<EndpointNo, DisabledReason>;

/** Applies a result inside the transaction. @param toDisable collects the endpoints to disable after the commit */
export function applyResult(
  tx: DeliveryTransaction,
  { delivery, attempt, wheelMs, random }: EndedAttempt,
  { endpoints, retryDelaysMs }: { endpoints: Endpoints; retryDelaysMs: readonly number[] },
  toDisable: EndpointsToDisable,
): void {
  const { endpointNo } = delivery;
  const status = endpoints.byNo(endpointNo)?.status ?? 'deleted';
  const { event, delayMs } = decide(attempt, delivery.tries, retryDelaysMs, random);
  const stats = statsAfter(tx.stats(endpointNo), attempt, wheelMs);
  tx.setStats(endpointNo, stats);
  if (event === 'gone') toDisable.set(endpointNo, 'gone');
  else if (shouldDisable(stats, wheelMs)) toDisable.set(endpointNo, 'failing');
  if (event === 'failed' && status === 'deleted') {
    tx.move(delivery, 'endpoint_removed', { attempt });
  } else if (event === 'failed' && status === 'disabled') {
    tx.move(delivery, 'endpoint_disabled', { attempt, deadReason: 'endpoint_disabled' });
  } else {
    const deadReason = event === 'gone' ? 'gone' : 'exhausted';
    const dueMs = event === 'failed' ? toWheelMs(wheelMs + 1 + delayMs) : delivery.dueMs;
    const moved = tx.move(delivery, event, { attempt, deadReason, dueMs });
    if (status === 'deleted') tx.move(moved, 'endpoint_removed');
  }
}

/** Results that a dead process did not commit, without committed ones; their deliveries count as in flight again. */
export function uncommittedResults(
  store: DeliveryStore,
  feeds: Feeds,
  journal: ResultJournal,
): EndedAttempt[] {
  const results: EndedAttempt[] = [];
  for (const { deliveryId, endpointNo, outboxRef, attemptNo, ...result } of journal.uncommitted) {
    const delivery =
      outboxRef === undefined
        ? findRow(store.tables, deliveryId)
        : feeds.recover(endpointNo, { id: deliveryId, ...outboxRef });
    const isOpen = delivery?.state === 'pending' && delivery.attemptsMade + 1 === attemptNo;
    if (isOpen) results.push({ delivery, ...result });
  }
  return results;
}
