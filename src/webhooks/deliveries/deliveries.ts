/**
 * Deliveries as the API needs them: lists, one with all its attempts, redelivery, dead letters, and the sample
 * that tests an endpoint.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import type { EventKind } from '../../model/event.ts';
import { Failure } from '../../model/failure.ts';
import { idTail, idTimeMs, parseId } from '../../model/ids.ts';
import type { AttemptRecord, DeliveryState, EndpointRecord } from '../../model/webhook.ts';
import type { AttemptSender } from '../attempt/attempt-sender.ts';
import { DeadLetters, type DeliveryPage } from './dead-letters.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { type Delivery, findDelivery, stateCodes, storedStats } from './delivery-transaction.ts';
import type { EndpointDrain } from '../endpoints/endpoint-drain.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';

/** Samples in flight at once; one more is refused. */
const samplesMax = 64;
/** The queue of a deleted endpoint is usually canceled within this; a full disk may take longer. */
const drainMsMax = 1_000;
const placePattern = /^\d{1,15}$/;

export interface EndpointFigures {
  /** Attempts since the last success. */
  readonly consecutiveFailures: number;
  readonly lastSuccessAtMs: number | undefined;
  readonly lastFailureAtMs: number | undefined;
  /** Deliveries in the queue, due now or later. */
  readonly waiting: number;
}

export interface DeliveryFilter {
  readonly state?: DeliveryState | undefined;
  /** `before` of the previous page. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export interface SampleResult {
  /** `dlv_…` */
  readonly id: string;
  readonly state: DeliveryState;
  readonly attempt: AttemptRecord;
}

export interface DeliveriesOptions {
  readonly store: DeliveryStore;
  readonly endpoints: Endpoints;
  readonly drain: EndpointDrain;
  readonly sender: AttemptSender;
  readonly clock: Clock;
}

export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly deadLetters: DeadLetters;
  #samples = 0;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    const { store, endpoints, clock } = options;
    this.deadLetters = new DeadLetters({ store, endpoints, clock });
  }

  /** An endpoint's deliveries, newest first. */
  list(endpointNo: EndpointNo, filter: DeliveryFilter): DeliveryPage {
    const { state, before, limit } = filter;
    const { tables } = this.#options.store;
    tables.environment.refresh();
    const isPlace = before !== undefined && placePattern.test(before);
    const top = isPlace ? Number(before) - 1 : Number.MAX_SAFE_INTEGER;
    const states = state === undefined ? Object.values(stateCodes) : [stateCodes[state]];
    // The newest of each state, merged; one more than the page shows whether there is a next page.
    const numbers = states.flatMap((code) => {
      const keys = tables.log.keys({
        start: [endpointNo, code, top],
        end: [endpointNo, code, -1],
        reverse: true,
        limit: limit + 1,
      });
      return Array.from(keys, ([, , no]) => no);
    });
    const newest = numbers.sort((a, b) => b - a).slice(0, limit + 1);
    const data = newest.slice(0, limit).flatMap((no) => findDelivery(tables, no) ?? []);
    const last = newest[limit - 1];
    return newest.length > limit && last !== undefined ? { data, before: String(last) } : { data };
  }

  /** How many deliveries `list` has in all. */
  count(endpointNo: EndpointNo, state?: DeliveryState): number {
    const counts = storedStats(this.#options.store.tables, endpointNo)?.counts;
    if (counts === undefined) return 0;
    if (state !== undefined) return counts[state];
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }

  /** @throws Failure not_found, also for another workspace's and for one that was deleted */
  get(workspaceNo: WorkspaceNo, id: string): Delivery {
    const found = this.find(workspaceNo, id);
    if (found === undefined) throw new Failure('not_found', 'There is no delivery with this id');
    return found;
  }

  find(workspaceNo: WorkspaceNo, id: string): Delivery | undefined {
    if (parseId('dlv', id) === undefined) return undefined;
    const { tables } = this.#options.store;
    tables.environment.refresh();
    const delivery = findDelivery(tables, idTail(id));
    const isFound = delivery?.workspaceNo === workspaceNo && delivery.createdAtMs === idTimeMs(id);
    return isFound ? delivery : undefined;
  }

  /** Wall-clock time of the next attempt; undefined when no attempt follows. */
  nextAttemptAtMs({ state, dueMs }: Delivery): number | undefined {
    return state === 'pending' ? this.#options.store.wheelClock.wallMs(dueMs) : undefined;
  }

  /** Wall-clock time at which it is deleted; undefined unless it is dead or canceled. */
  expiresAtMs({ state, expiresMs }: Delivery): number | undefined {
    const hasExpiry = state === 'dead' || state === 'canceled';
    return hasExpiry ? this.#options.store.wheelClock.wallMs(expiresMs) : undefined;
  }

  /**
   * Creates a new delivery of the same events and bytes.
   * @throws Failure not_found, conflict when its endpoint is disabled
   */
  async redeliver(workspaceNo: WorkspaceNo, id: string): Promise<Delivery> {
    const delivery = this.get(workspaceNo, id);
    this.deadLetters.assertEnabled(delivery.endpointNo);
    return await this.#options.store.transaction((tx) => tx.create(delivery));
  }

  /** Cancels the queue of a deleted endpoint; a long one is canceled in the background. */
  async drainEndpoint(endpointNo: EndpointNo): Promise<void> {
    const late = pause(drainMsMax, undefined, { ref: false });
    await Promise.race([this.#options.drain.run(endpointNo), late]);
  }

  figures(endpointNo: EndpointNo): EndpointFigures {
    const stats = storedStats(this.#options.store.tables, endpointNo);
    return {
      consecutiveFailures: stats?.failuresInRow ?? 0,
      lastSuccessAtMs: stats?.lastSuccessAtMs,
      lastFailureAtMs: stats?.lastFailureAtMs,
      waiting: stats?.counts.pending ?? 0,
    };
  }

  /**
   * Sends a sample now, once, also to a disabled endpoint, and logs it as a delivery.
   * @throws Failure overloaded when too many are in flight
   */
  async sendNow(
    { no: endpointNo, workspaceNo, url }: EndpointRecord,
    kind: EventKind,
    eventId: string,
    body: Uint8Array,
  ): Promise<SampleResult> {
    const { store, endpoints, sender, clock } = this.#options;
    if (this.#samples >= samplesMax) {
      throw new Failure('overloaded', 'Too many test events are on their way, try again shortly', {
        retryAfterSeconds: 1,
      });
    }
    this.#samples += 1;
    try {
      const slot = await store.transaction((tx) => tx.reserve());
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
      const result = await new Promise<AttemptRecord | undefined>((resolve) => {
        sender.send([task], (_, attempt) => resolve(attempt));
      });
      const attempt = result ?? { atMs: startedMs, durationMs: 0, failure: 'unknown' as const };
      const sample = { endpointNo, workspaceNo, kind, eventIds: [eventId], body };
      const { id, state } = await store.transaction((tx) => tx.record(slot, sample, attempt));
      return { id, state, attempt };
    } finally {
      this.#samples -= 1;
    }
  }
}
