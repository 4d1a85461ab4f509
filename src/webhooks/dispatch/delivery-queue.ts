/**
 * The fair scheduler takes an endpoint's due rows and fresh deliveries from here, older first. A row stays queued in the
 * store while it is sent; a fresh delivery leaves its feed. An endpoint that is not enabled gets nothing: its queue is
 * drained.
 */
import type { EndpointNo } from '../../model/numbers.ts';
import type { Logger } from '../../platform/log.ts';
import type { DueKey } from '../../store/delivery/delivery.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import { findRow, storedStats } from '../deliveries/delivery-transaction.ts';
import type { EndpointDrain } from '../endpoints/endpoint-drain.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { Feeds } from '../feeds/feeds.ts';
import type { QueuePosition, QueueSource, Taken, TakeRequest } from './fair-scheduler.ts';

interface DeliveryQueueOptions {
  readonly store: DeliveryStore;
  readonly feeds: Feeds;
  readonly endpoints: Endpoints;
  readonly drain: EndpointDrain;
  readonly log: Logger;
}

export class DeliveryQueue implements QueueSource<Delivery> {
  readonly #options: DeliveryQueueOptions;
  /** Endpoints whose receiver answered 410: they get nothing, and results.ts disables them. */
  readonly gone = new Set<EndpointNo>();

  constructor(options: DeliveryQueueOptions) {
    this.#options = options;
  }

  take(endpointNo: EndpointNo, { count, active, rowsFrom }: TakeRequest): Taken<Delivery> {
    const { feeds, endpoints, drain } = this.#options;
    if (endpoints.byNo(endpointNo)?.status !== 'enabled') {
      drain.start(endpointNo);
      return { taken: [], rowsFrom };
    }
    if (this.gone.has(endpointNo)) return { taken: [], rowsFrom };
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

  giveBack(delivery: Delivery): void {
    this.#options.feeds.giveBack(delivery);
  }

  failuresInRow(endpointNo: EndpointNo): number {
    return storedStats(this.#options.store.tables, endpointNo)?.failuresInRow ?? 0;
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
}
