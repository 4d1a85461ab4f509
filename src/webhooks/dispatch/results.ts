/**
 * Results of attempts: journaled, decided, and committed many in one transaction.
 *
 *   add --> journal, by the end of the cycle --> transaction: what each result means --> onCommitted
 *                                                    |
 *                                                    +--> endpoints that are gone or fail for days are disabled
 *
 * The first result after a pause is committed at once. Later results wait until 200 ms after the last commit, until
 * there are 1,000, or until nothing is in flight: a commit costs 0.8 ms of CPU whatever it holds. A failed commit is
 * retried until it succeeds. Meanwhile nothing starts (`fault`): its result could not be stored.
 */
import { setImmediate as yieldToEventLoop, setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../../model/failure.ts';
import type { EndpointNo } from '../../model/numbers.ts';
import type { AttemptRecord, DisabledReason } from '../../model/webhook.ts';
import { toWheelMs, type WheelMs } from '../../model/wheel-time.ts';
import type { Logger } from '../../platform/log.ts';
import type { ResultJournal } from '../../store/delivery/result-journal.ts';
import {
  decide,
  type Delivery,
  shouldDisable,
  statsAfter,
  statusGone,
} from '../deliveries/delivery.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import { type DeliveryTransaction, findRow } from '../deliveries/delivery-transaction.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { Feeds } from '../feeds/feeds.ts';

const intervalMs = 200;
/** Results of one commit, about 5 µs each: bounds the time that it blocks the control thread. */
const commitMax = 1_000;
const retryMs = 500;

type EndpointsToDisable = Map<EndpointNo, DisabledReason>;

export interface EndedAttempt {
  readonly delivery: Delivery;
  readonly attempt: AttemptRecord;
  /** Wheel time of the result's arrival, after the end of the attempt. */
  readonly wheelMs: WheelMs;
  /** Drawn once, so that a repeated commit decides the same. */
  readonly random: number;
}

interface ResultsOptions {
  readonly store: DeliveryStore;
  readonly journal: ResultJournal;
  readonly feeds: Pick<Feeds, 'giveBack' | 'isTakenOver' | 'recover' | 'transaction'>;
  readonly endpoints: Pick<Endpoints, 'byNo' | 'disable'>;
  /** Of the delivery queue, which takes nothing for these. */
  readonly gone: Set<EndpointNo>;
  readonly retryDelaysMs: readonly number[];
  readonly log: Logger;
  readonly onCommitted: (batch: readonly EndedAttempt[]) => void;
  /** Called when commits begin to fail. */
  readonly onFault: () => void;
  /** Called with an endpoint that left `gone`: it may have work. */
  readonly onWork: (endpointNos: readonly EndpointNo[]) => void;
}

export class Results {
  readonly #options: ResultsOptions;
  readonly #waiting: EndedAttempt[] = [];
  #unwritten: EndedAttempt[] = [];
  #running: Promise<void> | undefined;
  #nextCommitMs = 0;
  #isStopping = false;
  /** Commit now, or after the running commit. */
  #isFlushing = false;
  #endWait: () => void = () => undefined;
  /** Why results cannot be stored; undefined if they can. */
  fault: string | undefined;

  constructor(options: ResultsOptions) {
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
    if (result.attempt.status === statusGone) this.#options.gone.add(result.delivery.endpointNo);
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
    const { journal, store } = this.#options;
    while (this.#waiting.length > 0) {
      await this.#collect();
      this.#write();
      journal.rotate();
      if (!(await this.#commitOldest(this.#waiting.length))) return;
      this.#nextCommitMs = store.wheelClock.now() + intervalMs;
      journal.markCommitted();
    }
  }

  async #collect(): Promise<void> {
    // Results of the first one's event loop cycle join its commit.
    await yieldToEventLoop();
    const waitMs = this.#nextCommitMs - this.#options.store.wheelClock.now();
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

  /** @returns whether it succeeded */
  async #commitOldest(count: number): Promise<boolean> {
    for (let left = count; left > 0;) {
      const batch = this.#waiting.slice(0, Math.min(left, commitMax));
      try {
        await this.#commit(batch);
      } catch (error) {
        this.#fail(error);
        if (this.#isStopping) return false;
        await pause(retryMs);
        continue;
      }
      left -= batch.length;
      this.#waiting.splice(0, batch.length);
      if (this.fault !== undefined) this.#options.log.info('webhooks resumed');
      this.fault = undefined;
      this.#options.onCommitted(batch);
    }
    return true;
  }

  async #commit(batch: readonly EndedAttempt[]): Promise<void> {
    const settled = batch.map(({ delivery }) => delivery);
    const toDisable = await this.#options.feeds.transaction(settled, (tx) => {
      const found: EndpointsToDisable = new Map();
      for (const result of batch) this.#apply(tx, result, found);
      return found;
    });
    for (const [endpointNo, reason] of toDisable) void this.#disable(endpointNo, reason);
  }

  #fail(error: unknown): void {
    const { log, onFault } = this.#options;
    const isFirst = this.fault === undefined;
    this.fault = error instanceof Failure ? error.message : 'a defect, see the log';
    if (!isFirst) return;
    // In a cluster this machine has lost the lead, or no machine can lead now.
    const level = error instanceof Failure && error.code === 'not_active' ? 'info' : 'error';
    log[level]({ err: error }, 'storing webhook results failed, webhooks paused');
    onFault();
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

  /** Applies a result inside the transaction. @param toDisable collects the endpoints to disable after the commit */
  #apply(
    tx: DeliveryTransaction,
    { delivery, attempt, wheelMs, random }: EndedAttempt,
    toDisable: EndpointsToDisable,
  ): void {
    const { endpoints, retryDelaysMs } = this.#options;
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

  async #disable(endpointNo: EndpointNo, reason: DisabledReason): Promise<void> {
    const { endpoints, gone, log, onWork } = this.#options;
    const endpoint = endpoints.byNo(endpointNo);
    if (endpoint?.status !== 'enabled') {
      gone.delete(endpointNo);
      return;
    }
    log.warn({ endpoint: endpoint.id, reason }, 'webhook endpoint disabled');
    try {
      await endpoints.disable(endpointNo, reason);
    } catch (err) {
      log.error({ err }, 'disabling a webhook endpoint failed, retrying after its next failure');
    }
    gone.delete(endpointNo);
    onWork([endpointNo]);
  }

  /** Commits the results that the previous process did not, before anything is created or sent. */
  async recover(): Promise<void> {
    const { feeds, journal, log } = this.#options;
    const results = feeds.isTakenOver ? [] : this.#uncommitted();
    if (results.length > 0) {
      const attempts = results.length;
      try {
        await this.#commit(results);
        log.info({ attempts }, 'webhook attempt results recovered');
      } catch (err) {
        if (!(err instanceof Failure)) throw err;
        for (const { delivery } of results) feeds.giveBack(delivery);
        // Another machine writes: they may count when this one leads again.
        if (err.code === 'not_active') return;
        log.warn(
          { err, attempts },
          'recovering webhook attempt results failed, the attempts are repeated',
        );
      }
    }
    journal.clear();
  }

  /** Results that a dead process did not commit, without committed ones; their deliveries count as in flight again. */
  #uncommitted(): EndedAttempt[] {
    const { store, feeds, journal } = this.#options;
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
}
