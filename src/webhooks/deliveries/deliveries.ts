/** Deliveries for the API: lists, single deliveries, redelivery, dead letters, and samples that test an endpoint. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import type { EventKind } from '../../model/event.ts';
import { Failure } from '../../model/failure.ts';
import { type IdSource, parseId } from '../../model/ids.ts';
import type { AttemptRecord, DeliveryState, EndpointRecord } from '../../model/webhook.ts';
import { type AttemptSender, recordOf, type SentResult } from '../attempt/attempt-sender.ts';
import { type DeadLetterPage, DeadLetters, type DeliveryPage } from './dead-letters.ts';
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
import type { Feeds } from '../feeds/feeds.ts';

/** Samples in flight; more are refused. */
const samplesMax = 64;
/** Draining a deleted endpoint usually takes less; a full disk may take longer. */
const drainMsMax = 1_000;

export interface EndpointFigures {
  readonly consecutiveFailures: number;
  readonly lastSuccessAtMs: number | undefined;
  readonly lastFailureAtMs: number | undefined;
  readonly waiting: number;
}

interface DeliveryFilter extends DeadLetterPage {
  readonly state?: DeliveryState | undefined;
}

interface SampleResult {
  /** `dlv_…` */
  readonly id: string;
  readonly state: DeliveryState;
  readonly attempt: AttemptRecord;
}

interface DeliveriesOptions {
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

  list(endpointNo: EndpointNo, { state, before, limit }: DeliveryFilter): DeliveryPage {
    const { store, feeds, endpoints } = this.#options;
    store.tables.environment.refresh();
    const endpoint = endpoints.byNo(endpointNo);
    if (endpoint === undefined) return { data: [] };
    const top = before === undefined ? undefined : parseId('dlv', before);
    const states = state === undefined ? [...rowStates, 'delivered' as const] : [state];
    // Merges the newest of each state; one more than the limit shows whether another page follows.
    const found = states.flatMap((one) =>
      one === 'delivered'
        ? this.#delivered(endpoint, top, limit + 1)
        : this.#rows(endpoint, one, top, limit + 1),
    );
    if (states.includes('pending')) {
      // A delivery that was just committed is in memory until the commit is reported.
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

  /** The number of deliveries of `list`; an estimate for a long backlog. */
  count(no: EndpointNo, state?: DeliveryState): number {
    const { store, feeds } = this.#options;
    const counts = storedStats(store.tables, no)?.counts;
    const fresh = state === undefined || state === 'pending' ? feeds.count(no) : 0;
    if (counts === undefined) return fresh;
    if (state !== undefined) return counts[state] + fresh;
    return Object.values(counts).reduce((sum, count) => sum + count, fresh);
  }

  /** @throws Failure not_found, also for another workspace's or a deleted delivery */
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

  /** Wall-clock time of the next attempt; undefined without one. */
  nextAttemptAtMs({ state, dueMs }: Delivery): number | undefined {
    return state === 'pending' ? this.#options.store.wheelClock.wallMs(dueMs) : undefined;
  }

  /** Wall-clock time of its deletion; undefined unless it is dead or canceled. */
  expiresAtMs({ state, expiresMs }: Delivery): number | undefined {
    const hasExpiry = state === 'dead' || state === 'canceled';
    return hasExpiry ? this.#options.store.wheelClock.wallMs(expiresMs) : undefined;
  }

  /** Sends the same events and bytes again. @throws Failure not_found, conflict if its endpoint is disabled */
  async redeliver(workspaceNo: WorkspaceNo, id: string): Promise<Delivery> {
    const delivery = this.get(workspaceNo, id);
    this.deadLetters.assertEnabled(delivery.endpointNo);
    const { store, ids } = this.#options;
    return await store.transaction((tx) => tx.create(ids.newId('dlv'), delivery));
  }

  /** Cancels a deleted endpoint's queue; a long one continues in the background. */
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

  /** Sends one sample at once, also to a disabled endpoint. @throws Failure overloaded if too many are in flight */
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
