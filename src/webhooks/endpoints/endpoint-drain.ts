/**
 * Settles the waiting deliveries of a disabled or deleted endpoint, in batches in the background:
 *
 *   disabled   waiting deliveries, in the outboxes too, become dead letters, which can be replayed
 *   deleted    waiting rows are canceled and the log is removed; dead letters stay until they expire
 *
 * Attempts in flight keep their result. A drain that a crash interrupts continues at the next start (`resume`). If the
 * endpoint is enabled again, the rest of the queue stays.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { EndpointNo } from '../../model/numbers.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import type { DueKey } from '../../store/delivery/delivery.ts';
import type { Logger } from '../../platform/log.ts';
import { type DeliveryStore, firstKeys } from '../deliveries/delivery-store.ts';
import type { DeliveryTransaction } from '../deliveries/delivery-transaction.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import { pruneLog } from '../deliveries/delivery-log.ts';
import type { FairScheduler } from '../dispatch/fair-scheduler.ts';
import type { Feeds } from '../feeds/feeds.ts';
import type { Endpoints } from './endpoints.ts';

const batchMax = 500;
const retryMs = 1_000;

const makeDead = (tx: DeliveryTransaction, delivery: Delivery): unknown =>
  tx.move(delivery, 'endpoint_disabled', { deadReason: 'endpoint_disabled' });

interface EndpointDrainOptions {
  readonly store: DeliveryStore;
  readonly feeds: Feeds;
  readonly endpoints: Endpoints;
  /** Whether an attempt of the delivery is in flight or commits. */
  readonly isActive: FairScheduler<Delivery>['isActive'];
  readonly log: Logger;
}

export class EndpointDrain {
  readonly #options: EndpointDrainOptions;
  readonly #running = new Map<number, Promise<void>>();
  #isClosed = false;

  constructor(options: EndpointDrainOptions) {
    this.#options = options;
  }

  get isQuiet(): boolean {
    return this.#running.size === 0;
  }

  /** Drains in the background; never an endpoint with a damaged record, because it may be enabled. */
  start(endpointNo: EndpointNo): void {
    if (this.#options.endpoints.isDamaged(endpointNo)) return;
    void this.run(endpointNo);
  }

  /** Resolves when the queue is empty or the endpoint is enabled again. */
  async run(endpointNo: EndpointNo): Promise<void> {
    let running = this.#running.get(endpointNo);
    if (running === undefined) {
      running = this.#drain(endpointNo).finally(() => this.#running.delete(endpointNo));
      this.#running.set(endpointNo, running);
    }
    await running;
  }

  /** After a crash, drains the endpoints that are disabled or deleted and not drained yet. */
  resume(): void {
    const { store, feeds, endpoints } = this.#options;
    for (const [no] of firstKeys(store.tables.due)) this.#resume(no);
    for (const no of feeds.withWork()) this.#resume(no);
    for (const no of store.tables.stats.keys({}))
      if (endpoints.byNo(no) === undefined) this.start(no);
  }

  #resume(no: EndpointNo): void {
    if (this.#options.endpoints.byNo(no)?.status !== 'enabled') this.start(no);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#running.values());
  }

  async #drain(endpointNo: EndpointNo): Promise<void> {
    const { endpoints, log } = this.#options;
    while (!this.#isClosed) {
      const endpoint = endpoints.byNo(endpointNo);
      if (endpoint?.status === 'enabled') return;
      try {
        const drained =
          endpoint === undefined
            ? await this.#drainDeleted(endpointNo)
            : (await this.#drainRows(endpointNo, endpoint)) +
              (await this.#options.feeds.moveToRows(endpointNo, batchMax, makeDead));
        if (drained === 0) return;
      } catch (err) {
        log.error({ err }, 'draining a webhook endpoint failed, retrying');
        await pause(retryMs);
      }
    }
  }

  async #drainDeleted(endpointNo: EndpointNo): Promise<number> {
    const { store, feeds } = this.#options;
    feeds.remove(endpointNo);
    const rows = await this.#drainRows(endpointNo, undefined);
    const logged = await feeds.transaction([], (tx) => {
      const removed = pruneLog(store.tables.log, endpointNo, batchMax);
      if (removed < batchMax) tx.logDeleted(endpointNo);
      return removed;
    });
    return rows + logged;
  }

  async #drainRows(endpointNo: EndpointNo, endpoint: EndpointRecord | undefined): Promise<number> {
    return await this.#options.store.transaction((tx) => {
      const keys = this.#batch(endpointNo);
      for (const key of keys) {
        const delivery = tx.find(key[2]);
        if (delivery === undefined) tx.discard(key);
        else if (endpoint === undefined) tx.move(delivery, 'endpoint_removed');
        else makeDead(tx, delivery);
      }
      return keys.length;
    });
  }

  #batch(endpointNo: EndpointNo): DueKey[] {
    const { store, isActive } = this.#options;
    const { due } = store.tables;
    const found: DueKey[] = [];
    for (const key of due.keys({ start: [endpointNo, 0, ''], end: [endpointNo + 1, 0, ''] })) {
      if (found.length === batchMax) break;
      if (!isActive({ id: key[2], endpointNo })) found.push(key);
    }
    return found;
  }
}
