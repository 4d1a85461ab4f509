/**
 * Deliveries as the API needs them: lists, one with all its attempts, redelivery, dead letters, and the sample
 * that tests an endpoint.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import type { EventKind } from '../../model/event.ts';
import { Failure } from '../../model/failure.ts';
import { type IdSource, parseId } from '../../model/ids.ts';
import type { AttemptRecord, DeliveryState, EndpointRecord } from '../../model/webhook.ts';
import { type AttemptSender, recordOf, type SentResult } from '../attempt/attempt-sender.ts';
import { DeadLetters, type DeliveryPage } from './dead-letters.ts';
import type { DeliveryStore } from './delivery-store.ts';
import {
  afterAll,
  type Delivery,
  type NewDelivery,
  newestFirst,
  pendingDelivery,
} from './delivery.ts';
import { findLogged, logEntries, unpackDelivered } from './delivery-log.ts';
import { findRow, storedStats } from './delivery-transaction.ts';
import type { EndpointDrain } from '../endpoints/endpoint-drain.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';
import { type RowState, rowStates, stateCodes } from '../../store/delivery/delivery.ts';
import type { Feeds } from '../outboxes/feeds.ts';

/** Samples in flight at once; one more is refused. */
const samplesMax = 64;
/** The queue of a deleted endpoint is usually canceled within this; a full disk may take longer. */
const drainMsMax = 1_000;

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
  readonly feeds: Feeds;
  readonly ids: IdSource;
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
  list(endpointNo: EndpointNo, { state, before, limit }: DeliveryFilter): DeliveryPage {
    const { store, feeds, endpoints } = this.#options;
    store.tables.environment.refresh();
    const endpoint = endpoints.byNo(endpointNo);
    if (endpoint === undefined) return { data: [] };
    const top = before === undefined ? undefined : parseId('dlv', before);
    const states = state === undefined ? [...rowStates, 'delivered' as const] : [state];
    // The newest of each state, merged; one more than the page shows whether there is a next page.
    const found = states.flatMap((one) =>
      one === 'delivered'
        ? this.#delivered(endpoint, top, limit + 1)
        : this.#rows(endpoint, one, top, limit + 1),
    );
    if (states.includes('pending')) {
      // What was committed a moment ago stands in memory until that is reported.
      const known = new Set(found.map(({ id }) => id));
      const fresh = feeds.newest(endpoint, top ?? afterAll, limit + 1);
      found.push(...fresh.filter(({ id }) => !known.has(id)));
    }
    const newest = found.toSorted(newestFirst);
    const data = newest.slice(0, limit);
    const last = data.at(-1);
    return newest.length > limit && last !== undefined ? { data, before: last.id } : { data };
  }

  #rows({ no }: EndpointRecord, state: RowState, before = afterAll, limit: number): Delivery[] {
    const { tables } = this.#options.store;
    const code = stateCodes[state];
    const keys = tables.states.keys({
      start: [no, code, before],
      end: [no, code, ''],
      reverse: true,
      limit: limit + 1,
    });
    return Array.from(keys, ([, , id]) => id)
      .filter((id) => id < before)
      .flatMap((id) => findRow(tables, id) ?? []);
  }

  #delivered({ no, workspaceNo }: EndpointRecord, before = afterAll, limit: number): Delivery[] {
    const found: Delivery[] = [];
    for (const entry of logEntries(this.#options.store.tables.log, no, before)) {
      if (found.push(unpackDelivered(entry, no, workspaceNo)) === limit) break;
    }
    return found;
  }

  /** How many deliveries `list` has in all; those of a long backlog are counted about. */
  count(no: EndpointNo, state?: DeliveryState): number {
    const { store, feeds } = this.#options;
    const counts = storedStats(store.tables, no)?.counts;
    const fresh = state === undefined || state === 'pending' ? feeds.count(no) : 0;
    if (counts === undefined) return fresh;
    if (state !== undefined) return counts[state] + fresh;
    return Object.values(counts).reduce((sum, count) => sum + count, fresh);
  }

  /** @throws Failure not_found, also for another workspace's and for one that was deleted */
  get(workspaceNo: WorkspaceNo, id: string): Delivery {
    const found = this.find(workspaceNo, id);
    if (found === undefined) throw new Failure('not_found', 'There is no delivery with this id');
    return found;
  }

  find(workspaceNo: WorkspaceNo, id: string): Delivery | undefined {
    if (parseId('dlv', id) === undefined) return undefined;
    const { store, endpoints, feeds } = this.#options;
    const { tables } = store;
    tables.environment.refresh();
    const row = findRow(tables, id);
    if (row !== undefined) return row.workspaceNo === workspaceNo ? row : undefined;
    for (const endpoint of endpoints.list(workspaceNo)) {
      const entry = findLogged(tables.log, endpoint.no, id);
      if (entry !== undefined) return unpackDelivered(entry, endpoint.no, workspaceNo);
      const fresh = feeds.find(endpoint, id);
      if (fresh !== undefined) return fresh;
    }
    return undefined;
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
    const { store, ids } = this.#options;
    return await store.transaction((tx) => tx.create(ids.newId('dlv'), delivery));
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
      waiting: (stats?.counts.pending ?? 0) + this.#options.feeds.count(endpointNo),
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
    body: string,
  ): Promise<SampleResult> {
    const { store, ids, endpoints, sender, clock } = this.#options;
    if (this.#samples >= samplesMax) {
      throw new Failure('overloaded', 'Too many test events are on their way, try again shortly', {
        retryAfterSeconds: 1,
      });
    }
    this.#samples += 1;
    try {
      const created: NewDelivery = { endpointNo, workspaceNo, kind, eventIds: [eventId], body };
      const sample = pendingDelivery(ids.newId('dlv'), created, store.wheelClock.now());
      const task = {
        deliveryId: sample.id,
        endpointNo: undefined,
        eventId,
        kind,
        attempt: 1,
        url,
        body,
        secrets: endpoints.secretsOf(endpointNo),
      };
      const startedMs = clock.now();
      const result = await new Promise<SentResult>((resolve) => {
        sender.send([task], (_, sent) => resolve(sent));
      });
      const attempt = recordOf(result, startedMs);
      const event = attempt.failure === undefined ? 'succeeded' : 'dropped';
      const { id, state } = await store.transaction((tx) => tx.move(sample, event, { attempt }));
      return { id, state, attempt };
    } finally {
      this.#samples -= 1;
    }
  }
}
