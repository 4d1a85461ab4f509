/**
 * Starts the attempts that the fair scheduler allows. A delivery comes here three times. Each time, every attempt that
 * may start now starts at the end of the event loop cycle:
 *
 *   1  feeds, store --> wake         its endpoint has work ---+
 *   2  sender --------> #onResult    its attempt ended -------+--> #start: fair scheduler --> sender
 *   3  results -------> committed    its result is stored ----+
 *
 * A delivery has at most one attempt in flight. It is sent twice if the process dies between the answer and its line
 * in the result journal (results.ts), if a thread dies with it, or if the store accepts no writes after a crash. While
 * results cannot be stored (a full disk, a cluster without brokers) no attempt starts, and threads return unstarted ones.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { EndpointNo } from '../../model/numbers.ts';
import type { Logger } from '../../platform/log.ts';
import { type AttemptSender, recordOf, type SentResult } from '../attempt/attempt-sender.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import { type Delivery, requestId, statusGone } from '../deliveries/delivery.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { WebhookMeter } from '../webhook-metrics.ts';
import type { FairScheduler } from './fair-scheduler.ts';
import type { EndedAttempt, Results } from './results.ts';

/** After so many thread deaths during its attempts, a delivery counts as their cause. */
const threadDeathsMax = 3;

interface DispatcherOptions {
  readonly store: DeliveryStore;
  readonly endpoints: Endpoints;
  readonly scheduler: FairScheduler<Delivery>;
  readonly results: Results;
  readonly sender: AttemptSender;
  readonly meter: WebhookMeter;
  readonly log: Logger;
  readonly random: () => number;
  /** In a cluster: whether this machine leads and no other can yet. Absent = results can always be stored. */
  readonly isHeld?: (() => boolean) | undefined;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #inFlight = new Map<string, Delivery>();
  readonly #threadDeaths = new Map<string, number>();
  #isDispatching = false;
  #isStopping = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** No attempt is about to start and no result waits; attempts may be in flight. */
  get isQuiet(): boolean {
    return !this.#isDispatching && this.#options.results.isQuiet;
  }

  /** @param work `fresh`: only the feeds have got some; `rows`: due rows too */
  wake(work: 'fresh' | 'rows', endpointNos: Iterable<EndpointNo>): void {
    const { scheduler } = this.#options;
    for (const endpointNo of endpointNos) {
      if (work === 'fresh') scheduler.wake(endpointNo);
      else scheduler.wakeRows(endpointNo);
    }
    this.#dispatch();
  }

  #onResult(id: string, sent: SentResult): void {
    const delivery = this.#inFlight.get(id);
    if (delivery === undefined) return;
    this.#inFlight.delete(id);
    const { scheduler, results, sender, store, random, meter } = this.#options;
    const deaths = (this.#threadDeaths.get(id) ?? 0) + (sent === 'unknown' ? 1 : 0);
    if (sent === 'unsent' || (sent === 'unknown' && deaths < threadDeathsMax)) {
      if (deaths > 0) this.#threadDeaths.set(id, deaths);
      scheduler.returnToQueue(delivery);
      this.#dispatch();
      return;
    }
    this.#threadDeaths.delete(id);
    const wheelMs = store.wheelClock.now();
    const attempt = recordOf(sent, store.wheelClock.wallMs(wheelMs));
    const isSuccess = attempt.failure === undefined;
    scheduler.ended(delivery, isSuccess ? 'succeeded' : 'failed');
    meter.ended(delivery, attempt);
    results.add({ delivery, attempt, wheelMs, random: isSuccess ? 0 : random() });
    if (attempt.status === statusGone) sender.recall?.(delivery.endpointNo);
    if (scheduler.inFlight === 0) results.flush();
    this.#dispatch();
  }

  committed(batch: readonly EndedAttempt[]): void {
    for (const { delivery } of batch) this.#options.scheduler.committed(delivery);
    this.#dispatch();
  }

  /** Threads return the attempts that they have not started. */
  recallAll(): void {
    const endpointNos = new Set(Array.from(this.#inFlight.values(), (one) => one.endpointNo));
    for (const endpointNo of endpointNos) this.#options.sender.recall?.(endpointNo);
  }

  /** Starts no more attempts and waits at most `msMax` for those in flight; the rest stays queued. */
  async stop(msMax: number): Promise<void> {
    this.#isStopping = true;
    this.recallAll();
    const stepMs = 10;
    for (let waitedMs = 0; waitedMs < msMax && this.#inFlight.size > 0; waitedMs += stepMs) {
      await pause(stepMs);
    }
    if (this.#inFlight.size > 0) {
      const attempts = this.#inFlight.size;
      this.#options.log.warn({ attempts }, 'webhook attempts stopped, they are repeated');
    }
    await this.#options.results.stop();
  }

  /** Starts every allowed attempt, once, at the end of this event loop cycle. */
  #dispatch(): void {
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    setImmediate(() => {
      this.#isDispatching = false;
      const { isHeld, results } = this.#options;
      if (this.#isStopping || results.fault !== undefined || isHeld?.() === false) return;
      this.#start();
    });
  }

  #start(): void {
    const { store, endpoints, scheduler, sender } = this.#options;
    store.tables.environment.refresh();
    const deliveries = scheduler.start();
    if (deliveries.length === 0) return;
    for (const delivery of deliveries) this.#inFlight.set(delivery.id, delivery);
    let secretsOf: EndpointNo | undefined;
    let secrets: readonly string[] = [];
    const tasks = deliveries.map((delivery) => {
      const { id, endpointNo, kind, attemptsMade, body } = delivery;
      const url = endpoints.byNo(endpointNo)?.url;
      if (url === undefined) throw new Error('Cannot send: the endpoint was deleted');
      if (endpointNo !== secretsOf) secrets = endpoints.secretsOf(endpointNo);
      secretsOf = endpointNo;
      const eventId = requestId(delivery);
      const attempt = attemptsMade + 1;
      return { deliveryId: id, endpointNo, eventId, kind, attempt, url, body, secrets };
    });
    sender.send(tasks, (id, result) => this.#onResult(id, result));
  }
}
