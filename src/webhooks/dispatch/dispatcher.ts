/**
 * The dispatcher: sends the deliveries that the fair scheduler allows, and turns each result into the next state.
 *
 *   created, or due --> fair scheduler --> sender --> result --> batch: decided and committed --> fair scheduler
 *
 * A delivery has at most one attempt in flight. It is sent twice when the process dies between the answer and its
 * line in the result journal (result-batcher.ts), when a thread dies with it, and when the store takes no writes
 * after a crash.
 *
 * While results cannot be stored (disk full) nothing is started, because it would be sent again later.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../../model/failure.ts';
import type { AttemptRecord, AttemptTask, DisabledReason } from '../../model/webhook.ts';
import type { QueueKey } from '../../store/delivery/delivery.ts';
import type { ResultJournal } from '../../store/delivery/result-journal.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { AttemptSender } from '../attempt/attempt-sender.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import {
  type Delivery,
  type DeliveryTransaction,
  findDelivery,
  storedStats,
} from '../deliveries/delivery-transaction.ts';
import { decide, shouldDisable, statsAfter } from '../deliveries/retry-policy.ts';
import type { EndpointDrain } from '../endpoints/endpoint-drain.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { WebhookMeter } from '../webhook-meter.ts';
import {
  FairScheduler,
  type SchedulerLimits,
  type Taken,
  type TakeRequest,
} from './fair-scheduler.ts';
import { RecentDeliveries } from './recent-deliveries.ts';
import { type EndedAttempt, ResultBatcher } from './result-batcher.ts';
import { toWheelMs } from '../../model/wheel-time.ts';
import type { DeliveryNo, EndpointNo } from '../../model/numbers.ts';

/** After so many thread deaths during its attempts a delivery is taken for the cause. */
const threadDeathsMax = 3;

export interface DispatcherOptions {
  readonly store: DeliveryStore;
  readonly journal: ResultJournal;
  readonly endpoints: Endpoints;
  readonly sender: AttemptSender;
  readonly drain: EndpointDrain;
  readonly meter: WebhookMeter;
  readonly log: Logger;
  /** 0 to 1. */
  readonly random: () => number;
  readonly limits: SchedulerLimits;
  readonly retryDelaysMs: readonly number[];
}

type EndpointsToDisable = Map<number, DisabledReason>;

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #scheduler: FairScheduler<Delivery>;
  readonly #inFlight = new Map<number, Delivery>();
  /** Of deliveries whose thread died; until an attempt has a result. */
  readonly #threadDeaths = new Map<number, number>();
  readonly #recent = new RecentDeliveries();
  readonly #results: ResultBatcher;
  #isDispatching = false;
  #isStopping = false;
  /** Taken out of the queue, unsent, since the start. */
  damagedDeliveries = 0;
  /** Why results cannot be stored; undefined = they can. */
  fault: string | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { store, drain, journal, limits } = options;
    this.#scheduler = new FairScheduler(limits, {
      take: (endpointNo, request) => this.#take(endpointNo, request),
      failuresInRow: (endpointNo) => storedStats(store.tables, endpointNo)?.failuresInRow ?? 0,
    });
    this.#results = new ResultBatcher({
      journal,
      nowMs: () => store.wheelClock.now(),
      commit: (batch) => this.#commit(batch),
      onCommitted: (batch) => {
        for (const { delivery } of batch) this.#scheduler.committed(delivery);
        this.#dispatch();
      },
      onFault: (error) => (error === undefined ? this.#resume() : this.#pause(error)),
    });
    drain.onActive((delivery) => this.#scheduler.isActive(delivery));
    store.onReady((endpointNos) => this.wake(endpointNos));
  }

  get inFlight(): number {
    return this.#scheduler.inFlight;
  }

  /** Attempts that ended and wait for their commit. */
  get committing(): number {
    return this.#results.size;
  }

  /** Nothing is about to start, and no result waits; attempts may be in flight. */
  get isQuiet(): boolean {
    return !this.#isDispatching && this.#results.isQuiet;
  }

  /** Keeps deliveries that were just committed, which saves reading them back. */
  remember(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) this.#recent.add(delivery);
  }

  /** The endpoints' queues may hold something due. */
  wake(endpointNos: Iterable<EndpointNo>): void {
    for (const endpointNo of endpointNos) this.#scheduler.wake(endpointNo);
    this.#dispatch();
  }

  /** Endpoints that had no work in the last `checks` calls. */
  idle(checks: number): number[] {
    return this.#scheduler.idle(checks);
  }

  removeIdle(endpointNo: EndpointNo): void {
    this.#scheduler.removeIdle(endpointNo);
  }

  /** Starts nothing more, and waits for what is in flight, at most `msMax`; the rest stays queued. */
  async stop(msMax: number): Promise<void> {
    this.#isStopping = true;
    this.#scheduler.pause();
    const stepMs = 10;
    for (let waitedMs = 0; waitedMs < msMax && this.#inFlight.size > 0; waitedMs += stepMs) {
      await pause(stepMs);
    }
    if (this.#inFlight.size > 0) {
      const attempts = this.#inFlight.size;
      this.#options.log.warn({ attempts }, 'webhook attempts stopped, they are repeated');
    }
    await this.#results.stop();
  }

  /** Commits the results that arrived after `stop`. */
  async flush(): Promise<void> {
    await this.#results.stop();
  }

  /** Commits the results that the previous process did not commit. Call it before anything is created or sent. */
  recover(): void {
    const { store, journal, log } = this.#options;
    const results: EndedAttempt[] = [];
    for (const { deliveryNo, attemptNo, ...result } of journal.uncommitted) {
      const delivery = findDelivery(store.tables, deliveryNo);
      const isOpen = delivery?.state === 'pending' && delivery.attemptsMade + 1 === attemptNo;
      if (isOpen) results.push({ delivery, ...result });
    }
    const attempts = results.length;
    if (attempts > 0) {
      try {
        this.#disable(store.transactionSync((tx) => this.#applyAll(tx, results)));
        log.info({ attempts }, 'webhook attempt results recovered');
      } catch (err) {
        if (!(err instanceof Failure)) throw err;
        log.warn(
          { err, attempts },
          'recovering webhook attempt results failed, the attempts are repeated',
        );
      }
    }
    journal.clear();
  }

  /** Starts every attempt that may start, once at the end of this event loop cycle. */
  #dispatch(): void {
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    setImmediate(() => {
      this.#isDispatching = false;
      if (this.#isStopping) return;
      this.#options.store.tables.environment.refresh();
      this.#send(this.#scheduler.start());
    });
  }

  #send(deliveries: readonly Delivery[]): void {
    if (deliveries.length === 0) return;
    for (const delivery of deliveries) this.#inFlight.set(delivery.no, delivery);
    const tasks = deliveries.map((delivery) => this.#task(delivery));
    this.#options.sender.send(tasks, (no, attempt) => this.#onResult(no, attempt));
  }

  #task({ no, id, endpointNo, kind, eventIds, attemptsMade, body }: Delivery): AttemptTask {
    const { endpoints } = this.#options;
    const url = endpoints.byNo(endpointNo)?.url;
    if (url === undefined)
      throw new Error('Cannot send: the endpoint is deleted, expected one to take from');
    return {
      deliveryNo: no,
      deliveryId: id,
      eventId: eventIds[0] ?? id,
      kind,
      attempt: attemptsMade + 1,
      url,
      body,
      secrets: endpoints.secretsOf(endpointNo),
    };
  }

  #take(endpointNo: EndpointNo, { count, isActive, from }: TakeRequest): Taken<Delivery> {
    const { store, endpoints, drain } = this.#options;
    if (endpoints.byNo(endpointNo)?.status !== 'enabled') {
      drain.start(endpointNo);
      return { taken: [], next: from };
    }
    const taken: Delivery[] = [];
    const damaged: QueueKey[] = [];
    let next = from;
    const end: QueueKey = [endpointNo, store.wheelClock.now() + 1, 0];
    for (const key of store.tables.queue.keys({ start: [endpointNo, ...from], end })) {
      const [, dueMs, no] = key;
      if (taken.length === count) break;
      next = [dueMs, no + 1];
      if (isActive(no)) continue;
      const delivery = this.#recent.take(no, dueMs) ?? findDelivery(store.tables, no);
      if (delivery !== undefined) taken.push(delivery);
      else if (store.tables.deliveries.has(no)) damaged.push(key);
    }
    if (damaged.length > 0) void this.#discard(damaged);
    return { taken, next };
  }

  /** Damaged deliveries leave the queue: their bytes must not be sent, and they must not be found again and again. */
  async #discard(keys: readonly QueueKey[]): Promise<void> {
    const { store, log } = this.#options;
    const deliveries = keys.map(([, , no]) => no);
    try {
      await store.transaction((tx) => {
        for (const key of keys) tx.discard('pending', key);
      });
      this.damagedDeliveries += keys.length;
      log.error({ deliveries }, 'damaged webhook deliveries were taken out of the queue, unsent');
    } catch (err) {
      log.error({ err, deliveries }, 'taking out damaged webhook deliveries failed, retrying');
    }
  }

  /** @param attempt undefined when the thread died before its result */
  #onResult(no: DeliveryNo, attempt: AttemptRecord | undefined): void {
    const delivery = this.#inFlight.get(no);
    if (delivery === undefined) return;
    this.#inFlight.delete(no);
    const deaths = (this.#threadDeaths.get(no) ?? 0) + 1;
    if (attempt === undefined && deaths < threadDeathsMax) {
      this.#threadDeaths.set(no, deaths);
      this.#scheduler.returnToQueue(delivery);
      this.#dispatch();
      return;
    }
    this.#threadDeaths.delete(no);
    const { store, random, meter } = this.#options;
    const wheelMs = store.wheelClock.now();
    const atMs = store.wheelClock.wallMs(wheelMs);
    const result = attempt ?? { atMs, durationMs: 0, failure: 'unknown' };
    this.#scheduler.ended(delivery, result.failure === undefined ? 'succeeded' : 'failed');
    meter.ended(delivery, result);
    this.#results.add({ delivery, attempt: result, wheelMs, random: random() });
    if (this.#scheduler.inFlight === 0) this.#results.flush();
    this.#dispatch();
  }

  #resume(): void {
    this.fault = undefined;
    if (!this.#isStopping) this.#scheduler.resume();
    this.#options.log.info('webhooks resumed');
  }

  #pause(error: unknown): void {
    if (this.fault === undefined) {
      this.#options.log.error({ err: error }, 'storing webhook results failed, webhooks paused');
    }
    this.fault = error instanceof Failure ? error.message : 'a defect, see the log';
    this.#scheduler.pause();
  }

  async #commit(batch: readonly EndedAttempt[]): Promise<void> {
    this.#disable(await this.#options.store.transaction((tx) => this.#applyAll(tx, batch)));
  }

  #disable(toDisable: EndpointsToDisable): void {
    const { endpoints, log } = this.#options;
    for (const [endpointNo, reason] of toDisable) {
      const endpoint = endpoints.byNo(endpointNo);
      if (endpoint?.status !== 'enabled') continue;
      log.warn({ endpoint: endpoint.id, reason }, 'webhook endpoint disabled');
      endpoints.disable(endpointNo, reason).catch((err: unknown) => {
        log.error({ err }, 'disabling a webhook endpoint failed, retrying after its next failure');
      });
    }
  }

  #applyAll(tx: DeliveryTransaction, batch: readonly EndedAttempt[]): EndpointsToDisable {
    const toDisable: EndpointsToDisable = new Map();
    for (const result of batch) this.#apply(tx, result, toDisable);
    return toDisable;
  }

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
}
