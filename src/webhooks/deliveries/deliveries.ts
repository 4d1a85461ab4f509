/**
 * Deliveries as the API sees them: lists, one with all its attempts, sending again, dead letters, and the
 * sample that an endpoint is tried with.
 */
import type { Clock } from '../../model/clock.ts';
import type { EventKind } from '../../model/event.ts';
import { Failure } from '../../model/failure.ts';
import { idTail, idTimeMs, parseId } from '../../model/ids.ts';
import type { AttemptRecord, DeliveryState, EndpointRecord } from '../../model/webhook.ts';
import type { AttemptSender } from '../attempt/attempt-sender.ts';
import {
  type DeadLetterFilter,
  type DeadLetterPlace,
  DeadLetters,
  type DeliveryPage,
} from './dead-letters.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { type Delivery, findDelivery, stateCodes } from './delivery-transaction.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { EndpointDrain } from '../endpoints/endpoint-drain.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';

/** Samples on their way at once; one more is refused. */
const samplesMax = 64;
/** What waits for a removed endpoint is usually canceled within this; a full disk may take longer. */
const sweepMsMax = 1_000;
const placePattern = /^\d{1,15}$/;

export interface EndpointFigures {
  /** Attempts since the last success. */
  readonly consecutiveFailures: number;
  readonly lastSuccessAtMs: number | undefined;
  readonly lastFailureAtMs: number | undefined;
  /** Deliveries that are to be sent, now or later. */
  readonly waiting: number;
}

export interface DeliveryFilter {
  readonly state?: DeliveryState | undefined;
  /** Of the page above. */
  readonly before?: string | undefined;
  readonly limit: number;
  readonly skip?: number | undefined;
}

export interface SampleResult {
  /** `dlv_…` */
  readonly id: string;
  readonly state: DeliveryState;
  readonly attempt: AttemptRecord;
}

export interface DeliveriesOptions {
  readonly book: DeliveryStore;
  readonly endpoints: Endpoints;
  readonly dispatcher: Dispatcher;
  readonly sweep: EndpointDrain;
  readonly sender: AttemptSender;
  readonly clock: Clock;
}

export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #dead: DeadLetters;
  #samples = 0;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    this.#dead = new DeadLetters(options.book, options.endpoints);
  }

  /** An endpoint's deliveries, newest first. A skip costs as much as reading what is skipped. */
  list(endpointNo: number, filter: DeliveryFilter): DeliveryPage {
    const { state, before, limit, skip = 0 } = filter;
    const { store } = this.#options.book;
    store.environment.refresh();
    const isPlace = before !== undefined && placePattern.test(before);
    const top = isPlace ? Number(before) - 1 : Number.MAX_SAFE_INTEGER;
    const states = state === undefined ? Object.values(stateCodes) : [stateCodes[state]];
    // The newest of each state, merged: one more than the page tells whether there is another.
    const numbers = states.flatMap((code) => {
      const keys = store.log.keys({
        start: [endpointNo, code, top],
        end: [endpointNo, code, -1],
        reverse: true,
        limit: skip + limit + 1,
      });
      return Array.from(keys, ([, , no]) => no);
    });
    const newest = numbers.sort((a, b) => b - a).slice(skip, skip + limit + 1);
    const data = newest.slice(0, limit).flatMap((no) => findDelivery(store, no) ?? []);
    const last = newest[limit - 1];
    return newest.length > limit && last !== undefined ? { data, before: String(last) } : { data };
  }

  /** How many `list` has in all. */
  count(endpointNo: number, state?: DeliveryState): number {
    const counts = this.#options.book.store.ledgers.get(endpointNo)?.counts;
    if (counts === undefined) return 0;
    if (state !== undefined) return counts[state];
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }

  /** @throws Failure not_found, also for another workspace's and for one that was forgotten */
  get(workspaceNo: number, id: string): Delivery {
    const found = this.find(workspaceNo, id);
    if (found === undefined) throw new Failure('not_found', 'There is no delivery with this id');
    return found;
  }

  find(workspaceNo: number, id: string): Delivery | undefined {
    if (parseId('dlv', id) === undefined) return undefined;
    const { store } = this.#options.book;
    store.environment.refresh();
    const delivery = findDelivery(store, idTail(id));
    const isIt = delivery?.workspaceNo === workspaceNo && delivery.createdAtMs === idTimeMs(id);
    return isIt ? delivery : undefined;
  }

  /** The wall's time of the next attempt; undefined when there is none. */
  nextAttemptAtMs({ state, dueMs }: Delivery): number | undefined {
    return state === 'pending' ? this.#options.book.time.wallMs(dueMs) : undefined;
  }

  /** The wall's time at which it is forgotten; undefined while that is not settled. */
  expiresAtMs({ state, expiresMs }: Delivery): number | undefined {
    const isSettled = state === 'dead' || state === 'canceled';
    return isSettled ? this.#options.book.time.wallMs(expiresMs) : undefined;
  }

  /**
   * Sends it once more: a new delivery of the same events and bytes.
   * @throws Failure not_found, conflict when its endpoint is off
   */
  async redeliver(workspaceNo: number, id: string): Promise<Delivery> {
    const { book, dispatcher } = this.#options;
    const delivery = this.get(workspaceNo, id);
    this.#dead.assertOn(delivery.endpointNo);
    const made = await book.write((pen) => pen.create(delivery));
    dispatcher.offer([made]);
    return made;
  }

  /** Newest first. */
  deadLetters(workspaceNo: number, filter: DeadLetterFilter & DeadLetterPlace): DeliveryPage {
    this.#options.book.store.environment.refresh();
    return this.#dead.list(workspaceNo, filter);
  }

  deadLetterCount(workspaceNo: number, filter: DeadLetterFilter = {}): number {
    return this.#dead.count(workspaceNo, filter);
  }

  /** @throws Failure not_found, conflict when it is no dead letter or its endpoint is off */
  async replay(workspaceNo: number, id: string): Promise<Delivery> {
    return await this.#dead.replay(this.get(workspaceNo, id));
  }

  /** @returns how many are sent again */
  async replayRange(
    workspaceNo: number,
    range: DeadLetterFilter & { readonly fromMs: number; readonly beforeMs: number },
  ): Promise<number> {
    return await this.#dead.replayRange(workspaceNo, range, this.#options.clock.now());
  }

  /** What waits for a removed endpoint is canceled. Resolves when it is, or goes on in the background. */
  async removeEndpoint(endpointNo: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, sweepMsMax);
    });
    await Promise.race([this.#options.sweep.run(endpointNo), late]);
    clearTimeout(timer);
  }

  figures(endpointNo: number): EndpointFigures {
    const ledger = this.#options.book.store.ledgers.get(endpointNo);
    return {
      consecutiveFailures: ledger?.failuresInRow ?? 0,
      lastSuccessAtMs: ledger?.lastSuccessAtMs,
      lastFailureAtMs: ledger?.lastFailureAtMs,
      waiting: ledger?.counts.pending ?? 0,
    };
  }

  /**
   * Sends a sample now, once, whatever its endpoint's state, and logs it as a delivery.
   * @throws Failure overloaded when many are on their way
   */
  async sendNow(
    { no: endpointNo, workspaceNo, url }: EndpointRecord,
    kind: EventKind,
    eventId: string,
    body: Uint8Array,
  ): Promise<SampleResult> {
    const { book, endpoints, sender, clock } = this.#options;
    if (this.#samples >= samplesMax) {
      throw new Failure('overloaded', 'Too many test events are on their way, try again shortly', {
        retryAfterSeconds: 1,
      });
    }
    this.#samples += 1;
    try {
      const slot = await book.write((pen) => pen.reserve());
      const task = {
        deliveryNo: slot.no,
        deliveryId: slot.id,
        eventId,
        kind,
        attempt: 1,
        url,
        body,
        secrets: endpoints.secretsOf(endpointNo),
      };
      const startedMs = clock.now();
      const ended = await new Promise<AttemptRecord | undefined>((resolve) => {
        sender.send([task], (_, attempt) => resolve(attempt));
      });
      const attempt = ended ?? { atMs: startedMs, durationMs: 0, failure: 'unknown' as const };
      const made = { endpointNo, workspaceNo, kind, eventIds: [eventId], body };
      const { id, state } = await book.write((pen) => pen.record(slot, made, attempt));
      return { id, state, attempt };
    } finally {
      this.#samples -= 1;
    }
  }
}
