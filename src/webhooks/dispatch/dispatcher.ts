/**
 * Sends the deliveries that the fair scheduler allows, and turns each result into the next state.
 *
 *   feed, row that is due --> fair scheduler --> sender --> result --> batch: decided and committed --> fair scheduler
 *
 * A delivery has at most one attempt in flight. It is sent twice if the process dies between the answer and its line
 * in the result journal (results.ts), if a thread dies with it, or if the store accepts no writes after a crash. While
 * results cannot be stored (a full disk, a cluster without brokers) no attempt starts, and threads return unstarted ones.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../../model/failure.ts';
import type { DisabledReason } from '../../model/webhook.ts';
import type { DueKey } from '../../store/delivery/delivery.ts';
import type { ResultJournal } from '../../store/delivery/result-journal.ts';
import type { Logger } from '../../platform/log.ts';
import { type AttemptSender, recordOf, type SentResult } from '../attempt/attempt-sender.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import { type Delivery, requestId, statusGone } from '../deliveries/delivery.ts';
import { findRow, storedStats } from '../deliveries/delivery-transaction.ts';
import type { EndpointDrain } from '../endpoints/endpoint-drain.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { WebhookMeter } from '../webhook-metrics.ts';
import {
  FairScheduler,
  type QueuePosition,
  type SchedulerLimits,
  type Taken,
  type TakeRequest,
} from './fair-scheduler.ts';
import {
  applyResult,
  type EndedAttempt,
  type EndpointsToDisable,
  ResultBatcher,
  uncommittedResults,
} from './results.ts';
import type { EndpointNo } from '../../model/numbers.ts';
import type { Feeds } from '../feeds/feeds.ts';

/** After so many thread deaths during its attempts, a delivery counts as their cause. */
const threadDeathsMax = 3;

interface DispatcherOptions {
  readonly store: DeliveryStore;
  readonly journal: ResultJournal;
  readonly feeds: Feeds;
  readonly endpoints: Endpoints;
  readonly sender: AttemptSender;
  readonly drain: EndpointDrain;
  readonly meter: WebhookMeter;
  readonly log: Logger;
  readonly random: () => number;
  readonly limits: SchedulerLimits;
  readonly retryDelaysMs: readonly number[];
  /** In a cluster: whether this machine leads and no other can yet. Absent = results can always be stored. */
  readonly isHeld?: (() => boolean) | undefined;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #scheduler: FairScheduler<Delivery>;
  readonly #inFlight = new Map<string, Delivery>();
  readonly #threadDeaths = new Map<string, number>();
  /** Endpoints whose receiver answered 410: nothing is sent until they are disabled. */
  readonly #gone = new Set<EndpointNo>();
  readonly #results: ResultBatcher;
  #isDispatching = false;
  #isStopping = false;
  /** Why results cannot be stored; undefined if they can. */
  fault: string | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { store, journal, limits } = options;
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
  }

  get inFlight(): number {
    return this.#scheduler.inFlight;
  }

  get committing(): number {
    return this.#results.size;
  }

  /** No attempt is about to start and no result waits; attempts may be in flight. */
  get isQuiet(): boolean {
    return !this.#isDispatching && this.#results.isQuiet;
  }

  get isIdle(): boolean {
    return this.#scheduler.isEmpty;
  }

  /** @param work `fresh`: only the feeds have got some; `rows`: due rows too */
  wake(work: 'fresh' | 'rows', endpointNos: Iterable<EndpointNo>): void {
    for (const endpointNo of endpointNos) {
      if (work === 'fresh') this.#scheduler.wake(endpointNo);
      else this.#scheduler.wakeRows(endpointNo);
    }
    this.#dispatch();
  }

  isActive(delivery: Pick<Delivery, 'endpointNo' | 'id'>): boolean {
    return this.#scheduler.isActive(delivery);
  }

  idle(checks: number): number[] {
    return this.#scheduler.idle(checks);
  }

  removeIdle(endpointNo: EndpointNo): void {
    this.#scheduler.removeIdle(endpointNo);
  }

  /** Starts no more attempts and waits at most `msMax` for those in flight; the rest stays queued. */
  async stop(msMax: number): Promise<void> {
    this.#isStopping = true;
    this.#scheduler.pause();
    this.#recallAll();
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

  async flush(): Promise<void> {
    await this.#results.stop();
  }

  /** Commits the results that the previous process did not, before anything is created or sent. */
  async recover(): Promise<void> {
    const { store, feeds, journal, log } = this.#options;
    const results = feeds.isTakenOver ? [] : uncommittedResults(store, feeds, journal);
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

  /** Starts every allowed attempt, once, at the end of this event loop cycle. */
  #dispatch(): void {
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    setImmediate(() => {
      this.#isDispatching = false;
      if (this.#isStopping || this.#options.isHeld?.() === false) return;
      this.#options.store.tables.environment.refresh();
      this.#send(this.#scheduler.start());
    });
  }

  #send(deliveries: readonly Delivery[]): void {
    if (deliveries.length === 0) return;
    for (const delivery of deliveries) this.#inFlight.set(delivery.id, delivery);
    const { endpoints, sender } = this.#options;
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

  /** Due rows and fresh deliveries, older first. */
  #take(endpointNo: EndpointNo, { count, active, rowsFrom }: TakeRequest): Taken<Delivery> {
    const { feeds, endpoints, drain } = this.#options;
    if (endpoints.byNo(endpointNo)?.status !== 'enabled') {
      drain.start(endpointNo);
      return { taken: [], rowsFrom };
    }
    if (this.#gone.has(endpointNo)) return { taken: [], rowsFrom };
    const rows = rowsFrom === undefined ? undefined : this.#rows(endpointNo, rowsFrom, active);
    let row = rows?.next();
    const taken: Delivery[] = [];
    while (taken.length < count) {
      const fresh = feeds.first(endpointNo);
      const due = row?.done === false ? row.value : undefined;
      if (due !== undefined && due.dueMs <= (fresh?.dueMs ?? Infinity)) {
        taken.push(due);
        row = rows?.next();
      } else if (fresh !== undefined) {
        feeds.start(fresh);
        taken.push(fresh);
      } else break;
    }
    const next = row?.done === false ? ([row.value.dueMs, row.value.id] as const) : undefined;
    rows?.return(undefined);
    return { taken, rowsFrom: next };
  }

  *#rows(
    endpointNo: EndpointNo,
    from: QueuePosition,
    active: ReadonlySet<string>,
  ): Generator<Delivery, undefined> {
    const { tables, wheelClock } = this.#options.store;
    const damaged: DueKey[] = [];
    const end: DueKey = [endpointNo, wheelClock.now() + 1, ''];
    for (const key of tables.due.keys({ start: [endpointNo, ...from], end })) {
      const [, , id] = key;
      if (active.has(id)) continue;
      const delivery = findRow(tables, id);
      if (delivery !== undefined) yield delivery;
      else if (tables.rows.has(id)) damaged.push(key);
    }
    if (damaged.length > 0) void this.#discard(damaged);
    return undefined;
  }

  /** Removes damaged deliveries from the queue: their bytes must not be sent, nor found again and again. */
  async #discard(keys: readonly DueKey[]): Promise<void> {
    const { store, log } = this.#options;
    const deliveries = keys.map(([, , id]) => id);
    try {
      await store.transaction((tx) => {
        for (const key of keys) tx.discard(key);
      });
      log.error({ deliveries }, 'damaged webhook deliveries removed from the queue, unsent');
    } catch (err) {
      log.error({ err, deliveries }, 'removing damaged webhook deliveries failed, retrying');
    }
  }

  #onResult(id: string, sent: SentResult): void {
    const delivery = this.#inFlight.get(id);
    if (delivery === undefined) return;
    this.#inFlight.delete(id);
    const deaths = (this.#threadDeaths.get(id) ?? 0) + (sent === 'unknown' ? 1 : 0);
    if (sent === 'unsent' || (sent === 'unknown' && deaths < threadDeathsMax)) {
      if (deaths > 0) this.#threadDeaths.set(id, deaths);
      this.#options.feeds.giveBack(delivery);
      this.#scheduler.returnToQueue(delivery);
      this.#dispatch();
      return;
    }
    this.#threadDeaths.delete(id);
    const { store, random, meter } = this.#options;
    const wheelMs = store.wheelClock.now();
    const result = recordOf(sent, store.wheelClock.wallMs(wheelMs));
    this.#scheduler.ended(delivery, result.failure === undefined ? 'succeeded' : 'failed');
    meter.ended(delivery, result);
    const drawn = result.failure === undefined ? 0 : random();
    this.#results.add({ delivery, attempt: result, wheelMs, random: drawn });
    if (result.status === statusGone) {
      this.#gone.add(delivery.endpointNo);
      this.#options.sender.recall?.(delivery.endpointNo);
    }
    if (this.#scheduler.inFlight === 0) this.#results.flush();
    this.#dispatch();
  }

  #recallAll(): void {
    const endpointNos = new Set(Array.from(this.#inFlight.values(), (one) => one.endpointNo));
    for (const endpointNo of endpointNos) this.#options.sender.recall?.(endpointNo);
  }

  #resume(): void {
    this.fault = undefined;
    if (!this.#isStopping) this.#scheduler.resume();
    this.#options.log.info('webhooks resumed');
  }

  #pause(error: unknown): void {
    if (this.fault === undefined) {
      // In a cluster: another machine leads, or none can.
      const isRefused = error instanceof Failure && error.code === 'not_active';
      const level = isRefused ? 'info' : 'error';
      this.#options.log[level]({ err: error }, 'storing webhook results failed, webhooks paused');
      this.#recallAll();
    }
    this.fault = error instanceof Failure ? error.message : 'a defect, see the log';
    this.#scheduler.pause();
  }

  async #commit(batch: readonly EndedAttempt[]): Promise<void> {
    const settled = batch.map(({ delivery }) => delivery);
    const toDisable = await this.#options.feeds.transaction(settled, (tx) => {
      const found: EndpointsToDisable = new Map();
      for (const result of batch) applyResult(tx, result, this.#options, found);
      return found;
    });
    this.#disable(toDisable);
  }

  #disable(toDisable: EndpointsToDisable): void {
    const { endpoints, log } = this.#options;
    for (const [endpointNo, reason] of toDisable) {
      const endpoint = endpoints.byNo(endpointNo);
      if (endpoint?.status === 'enabled') {
        log.warn({ endpoint: endpoint.id, reason }, 'webhook endpoint disabled');
        void this.#disableOne(endpointNo, reason);
      } else this.#gone.delete(endpointNo);
    }
  }

  async #disableOne(endpointNo: EndpointNo, reason: DisabledReason): Promise<void> {
    const { endpoints, log } = this.#options;
    try {
      await endpoints.disable(endpointNo, reason);
    } catch (err) {
      log.error({ err }, 'disabling a webhook endpoint failed, retrying after its next failure');
    }
    this.#gone.delete(endpointNo);
    this.wake('rows', [endpointNo]);
  }
}
