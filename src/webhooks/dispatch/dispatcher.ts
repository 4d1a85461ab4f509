/**
 * The dispatcher: starts what the lanes allow, and turns what comes back into the next state.
 *
 *   made, or due by the wheel --> lanes --> sender --> result --> window: judged, committed --> lanes
 *
 * A delivery is on the wire at most once at a time; it is sent twice when the process dies between an answer and
 * its line in the journal (result-window.ts), when a thread dies with it, and when the store takes no writes after
 * a crash.
 *
 * While results cannot be stored (disk full) nothing more is started: what was sent would be sent again.
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
} from '../deliveries/delivery-transaction.ts';
import type { EndpointDrain } from '../endpoints/endpoint-drain.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import { type SchedulerLimits, FairScheduler, type Taken, type Wanted } from './fair-scheduler.ts';
import { RecentDeliveries } from './recent-deliveries.ts';
import { type Ended, ResultBatcher } from './result-batcher.ts';
import { shouldDisable, judge, statsAfter } from '../deliveries/retry-policy.ts';
import type { WebhookMeter } from '../webhook-meter.ts';

/** A delivery whose thread died under it this often is taken for the cause. */
const deathsMax = 3;

export interface DispatcherOptions {
  readonly book: DeliveryStore;
  readonly journal: ResultJournal;
  readonly endpoints: Endpoints;
  readonly sender: AttemptSender;
  readonly sweep: EndpointDrain;
  readonly meter: WebhookMeter;
  readonly log: Logger;
  /** 0 to 1. */
  readonly random: () => number;
  readonly limits: SchedulerLimits;
  readonly retryDelaysMs: readonly number[];
}

interface Flight {
  readonly delivery: Delivery;
  deaths: number;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #lanes: FairScheduler<Delivery>;
  readonly #flights = new Map<number, Flight>();
  readonly #deaths = new Map<number, number>();
  readonly #madeLately = new RecentDeliveries();
  readonly #results: ResultBatcher;
  #isPumping = false;
  #isStopping = false;
  /** Why results cannot be stored; undefined = they can. */
  fault: string | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { book } = options;
    this.#lanes = new FairScheduler(options.limits, {
      take: (endpointNo, wanted) => this.#take(endpointNo, wanted),
      failuresInRow: (endpointNo) => book.store.ledgers.get(endpointNo)?.failuresInRow ?? 0,
    });
    this.#results = new ResultBatcher({
      journal: options.journal,
      nowMs: () => book.time.now(),
      commit: (batch) => this.#commit(batch),
      onCommitted: (batch) => {
        for (const { delivery } of batch) this.#lanes.settled(delivery);
        this.pump();
      },
      onFault: (error) => this.#turnFault(error),
    });
    options.sweep.onBusy(({ no, endpointNo }) => this.#lanes.isBusy({ no, endpointNo }));
    book.onWoken((endpointNos) => {
      for (const endpointNo of endpointNos) this.#lanes.wake(endpointNo);
      this.pump();
    });
  }

  get inFlight(): number {
    return this.#lanes.flying;
  }

  /** Results that wait for their commit. */
  get unsettled(): number {
    return this.#results.size;
  }

  /** Nothing is about to start, and no result waits; attempts may be in flight. */
  get isQuiet(): boolean {
    return !this.#isPumping && this.#results.isQuiet;
  }

  /** Sends deliveries that were just committed; what finds no room waits in the queue. */
  offer(deliveries: readonly Delivery[]): void {
    const started: Delivery[] = [];
    for (const delivery of deliveries) {
      if (this.#lanes.offer(delivery)) started.push(delivery);
      else this.#madeLately.keep(delivery);
    }
    this.#launch(started);
  }

  wake(endpointNo: number): void {
    this.#lanes.wake(endpointNo);
  }

  /** Starts all that may start now: at the end of this turn, once. */
  pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    setImmediate(() => {
      this.#isPumping = false;
      if (this.#isStopping) return;
      this.#options.book.store.environment.refresh();
      this.#launch(this.#lanes.next());
    });
  }

  /** Endpoints whose lanes had nothing to do for the last `looks` calls. */
  idle(looks: number): number[] {
    return this.#lanes.idle(looks);
  }

  rested(endpointNo: number): void {
    this.#lanes.rested(endpointNo);
  }

  /** Starts nothing more, and waits for what is in flight, at most `msMax`; the rest stays queued. */
  async stop(msMax: number): Promise<void> {
    this.#isStopping = true;
    this.#lanes.hold();
    const isDone = await settlesWithin(msMax, () => this.#flights.size === 0);
    if (!isDone) {
      this.#options.log.warn(
        { attempts: this.#flights.size },
        'attempts are cut off, to be repeated',
      );
    }
    await this.#results.stop();
  }

  /** Commits what was heard since `stop`. */
  async settle(): Promise<void> {
    await this.#results.stop();
  }

  #launch(deliveries: readonly Delivery[]): void {
    const tasks: AttemptTask[] = [];
    for (const delivery of deliveries) {
      const task = this.#task(delivery);
      if (task === undefined) continue;
      this.#flights.set(delivery.no, { delivery, deaths: this.#deaths.get(delivery.no) ?? 0 });
      tasks.push(task);
    }
    if (tasks.length > 0) this.#options.sender.send(tasks, (no, attempt) => this.#end(no, attempt));
  }

  /** Undefined when its endpoint was switched off meanwhile: then the sweep has it. */
  #task(delivery: Delivery): AttemptTask | undefined {
    const { endpoints, sweep } = this.#options;
    const { no, id, endpointNo, kind, eventIds, attemptsMade, body } = delivery;
    const endpoint = endpoints.byNo(endpointNo);
    if (endpoint?.status !== 'enabled') {
      this.#lanes.undone(delivery);
      sweep.start(endpointNo);
      return undefined;
    }
    return {
      deliveryNo: no,
      deliveryId: id,
      eventId: eventIds[0] ?? id,
      kind,
      attempt: attemptsMade + 1,
      url: endpoint.url,
      body,
      secrets: endpoints.secretsOf(endpointNo),
    };
  }

  #take(endpointNo: number, { count, isBusy, from }: Wanted): Taken<Delivery> {
    const { book, endpoints, sweep } = this.#options;
    if (endpoints.byNo(endpointNo)?.status !== 'enabled') {
      sweep.start(endpointNo);
      return { taken: [], next: from };
    }
    const taken: Delivery[] = [];
    let next = from;
    const end: QueueKey = [endpointNo, book.time.now() + 1, 0];
    for (const [, dueMs, no] of book.store.queue.keys({ start: [endpointNo, ...from], end })) {
      if (taken.length === count) break;
      next = [dueMs, no + 1];
      if (isBusy(no)) continue;
      const delivery = this.#madeLately.take(no, dueMs) ?? findDelivery(book.store, no);
      if (delivery !== undefined) taken.push(delivery);
    }
    return { taken, next };
  }

  #end(no: number, attempt: AttemptRecord | undefined): void {
    const flight = this.#flights.get(no);
    if (flight === undefined) return;
    this.#flights.delete(no);
    const { delivery, deaths } = flight;
    if (attempt === undefined && deaths + 1 < deathsMax) {
      this.#deaths.set(no, deaths + 1);
      this.#lanes.undone(delivery);
      this.pump();
      return;
    }
    this.#deaths.delete(no);
    const { book, random, meter } = this.#options;
    const known = attempt ?? {
      atMs: book.time.wallMs(book.time.now()),
      durationMs: 0,
      failure: 'unknown',
    };
    this.#lanes.ended(delivery, known.failure === undefined ? 'succeeded' : 'failed');
    meter.ended(delivery, known);
    this.#results.add({ delivery, attempt: known, wheelMs: book.time.now(), random: random() });
    if (this.#lanes.flying === 0) this.#results.close();
    this.pump();
  }

  /** Judges and commits what the process before heard and did not commit. Before anything is made or sent. */
  recover(): void {
    const { book, journal, log } = this.#options;
    const left: Ended[] = [];
    for (const { deliveryNo, attemptNo, ...heard } of journal.left) {
      const delivery = findDelivery(book.store, deliveryNo);
      const isOpen = delivery?.state === 'pending' && delivery.attemptsMade + 1 === attemptNo;
      if (isOpen) left.push({ delivery, ...heard });
    }
    if (left.length > 0) {
      try {
        this.#disable(book.writeNow((pen) => this.#settleAll(pen, left)));
        log.info({ attempts: left.length }, 'results of attempts were taken over');
      } catch (err) {
        if (!(err instanceof Failure)) throw err;
        log.warn({ err, attempts: left.length }, 'attempts are repeated, their results are lost');
      }
    }
    journal.forget();
  }

  #turnFault(error: unknown): void {
    if (error !== undefined) return this.#fail(error);
    this.fault = undefined;
    if (!this.#isStopping) this.#lanes.release();
    this.#options.log.info('webhooks are sent again');
  }

  #fail(error: unknown): void {
    if (this.fault === undefined) {
      this.#options.log.error({ err: error }, 'cannot store how webhooks ended, nothing is sent');
    }
    this.fault = error instanceof Failure ? error.message : 'a defect, see the log';
    this.#lanes.hold();
  }

  async #commit(batch: readonly Ended[]): Promise<void> {
    this.#disable(await this.#options.book.write((pen) => this.#settleAll(pen, batch)));
  }

  #settleAll(
    pen: DeliveryTransaction,
    batch: readonly Ended[],
  ): ReadonlyMap<number, DisabledReason> {
    const toDisable = new Map<number, DisabledReason>();
    for (const ended of batch) this.#settle(pen, ended, toDisable);
    return toDisable;
  }

  #disable(toDisable: ReadonlyMap<number, DisabledReason>): void {
    const { endpoints } = this.#options;
    for (const [endpointNo, reason] of toDisable) {
      if (endpoints.byNo(endpointNo)?.status !== 'enabled') continue;
      this.#options.log.warn(
        { endpoint: endpoints.byNo(endpointNo)?.id, reason },
        'endpoint disabled',
      );
      endpoints.disable(endpointNo, reason).catch((err: unknown) => {
        // Tried again with its next failure.
        this.#options.log.error({ err }, 'cannot disable an endpoint');
      });
    }
  }

  #settle(
    pen: DeliveryTransaction,
    { delivery, attempt, wheelMs, random }: Ended,
    toDisable: Map<number, DisabledReason>,
  ): void {
    const { endpoints, retryDelaysMs } = this.#options;
    const { endpointNo } = delivery;
    const endpoint = endpoints.byNo(endpointNo);
    const { event, delayMs } = judge(attempt, delivery.tries, retryDelaysMs, random);
    const ledger = statsAfter(pen.ledger(endpointNo), attempt, wheelMs);
    pen.setLedger(endpointNo, ledger);
    if (event === 'gone') toDisable.set(endpointNo, 'gone');
    else if (shouldDisable(ledger, wheelMs)) toDisable.set(endpointNo, 'failing');
    if (event === 'failed' && endpoint === undefined) {
      pen.move(delivery, 'endpoint_removed', { attempt });
    } else if (event === 'failed' && endpoint?.status === 'disabled') {
      pen.move(delivery, 'endpoint_disabled', { attempt, deadReason: 'endpoint_disabled' });
    } else {
      const deadReason = event === 'gone' ? 'gone' : 'exhausted';
      const moved = pen.move(delivery, event, {
        attempt,
        deadReason,
        dueMs: this.#due(event, wheelMs, delayMs, delivery),
      });
      if (endpoint === undefined) pen.move(moved, 'endpoint_removed');
    }
  }

  #due(event: string, wheelMs: number, delayMs: number, { dueMs }: Delivery): number {
    return event === 'failed' ? wheelMs + 1 + delayMs : dueMs;
  }
}

/** Polls; nothing else happens meanwhile that could tell. */
async function settlesWithin(msMax: number, isDone: () => boolean): Promise<boolean> {
  const stepMs = 10;
  for (let waitedMs = 0; waitedMs < msMax && !isDone(); waitedMs += stepMs) {
    await pause(stepMs);
  }
  return isDone();
}
