/**
 * EndpointDrain: empties the queue of an endpoint that was disabled or deleted, in batches in the background:
 *
 *   disabled   pending deliveries become dead letters, which can be replayed
 *   deleted    pending deliveries are canceled, delivered ones deleted; dead letters stay until they expire
 *
 * Attempts in flight keep their result. A drain that a crash interrupts continues at the next start (`resume`), and
 * whenever the dispatcher finds the endpoint disabled. An endpoint that is enabled again keeps what the drain has
 * not reached.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { QueueKey } from '../../store/delivery/delivery.ts';
import type { Logger } from '../../telemetry/log.ts';
import { type DeliveryStore, firstKeys } from '../deliveries/delivery-store.ts';
import { stateCodes } from '../deliveries/delivery-transaction.ts';
import type { Endpoints } from './endpoints.ts';
import type { DeliveryNo, EndpointNo } from '../../model/numbers.ts';

/** Deliveries of one transaction. */
const batchMax = 500;
const retryMs = 1_000;

type IsActive = (delivery: { readonly no: DeliveryNo; readonly endpointNo: EndpointNo }) => boolean;

export interface EndpointDrainOptions {
  readonly store: DeliveryStore;
  readonly endpoints: Endpoints;
  readonly log: Logger;
}

export class EndpointDrain {
  readonly #options: EndpointDrainOptions;
  readonly #running = new Map<number, Promise<void>>();
  #isActive: IsActive = () => false;
  #isClosed = false;

  constructor(options: EndpointDrainOptions) {
    this.#options = options;
    options.endpoints.onChange((no, record) => {
      if (record?.status !== 'enabled') this.start(no);
    });
  }

  /** Sets the test for what is in flight or committing: the dispatcher's. */
  onActive(isActive: IsActive): void {
    this.#isActive = isActive;
  }

  get isQuiet(): boolean {
    return this.#running.size === 0;
  }

  /** Drains in the background, once at a time; never an endpoint of which nothing is known but its number. */
  start(endpointNo: EndpointNo): void {
    if (this.#options.endpoints.isDamaged(endpointNo)) return;
    void this.run(endpointNo);
  }

  /** Resolves when the endpoint's queue is empty, or it is enabled again. */
  async run(endpointNo: EndpointNo): Promise<void> {
    let running = this.#running.get(endpointNo);
    if (running === undefined) {
      running = this.#drain(endpointNo).finally(() => this.#running.delete(endpointNo));
      this.#running.set(endpointNo, running);
    }
    await running;
  }

  /** Continues what a crash interrupted: finds the endpoints that are disabled or deleted and not empty. */
  resume(): void {
    const { store, endpoints } = this.#options;
    for (const [no] of firstKeys(store.tables.queue)) {
      if (endpoints.byNo(no)?.status !== 'enabled') this.start(no);
    }
    for (const [no] of firstKeys(store.tables.log)) {
      if (endpoints.byNo(no) === undefined) this.start(no);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#running.values());
  }

  async #drain(endpointNo: EndpointNo): Promise<void> {
    const { store, endpoints, log } = this.#options;
    while (!this.#isClosed) {
      const endpoint = endpoints.byNo(endpointNo);
      if (endpoint?.status === 'enabled') return;
      try {
        const drained = await store.transaction((tx) => {
          const found = this.#batch(endpointNo, endpoint === undefined ? 'deleted' : 'disabled');
          for (const { state, key } of found) {
            const delivery = tx.find(key[2]);
            if (delivery === undefined) tx.discard(state, key);
            else if (endpoint === undefined) tx.move(delivery, 'endpoint_removed');
            else tx.move(delivery, 'endpoint_disabled', { deadReason: 'endpoint_disabled' });
          }
          return found.length;
        });
        if (drained === 0) return;
      } catch (err) {
        log.error({ err }, 'draining a webhook endpoint failed, retrying');
        await pause(retryMs);
      }
    }
  }

  /** The next deliveries to move. Inside the transaction. */
  #batch(endpointNo: EndpointNo, status: 'disabled' | 'deleted'): Drained[] {
    const { queue, log } = this.#options.store.tables;
    const found: Drained[] = [];
    const code = stateCodes.delivered;
    const add = (state: Drained['state'], keys: Iterable<QueueKey>): void => {
      for (const key of keys) {
        if (found.length === batchMax) return;
        if (!this.#isActive({ no: key[2], endpointNo })) found.push({ state, key });
      }
    };
    add('pending', queue.keys({ start: [endpointNo, 0, 0], end: [endpointNo + 1, 0, 0] }));
    if (status === 'deleted') {
      const end: QueueKey = [endpointNo, code + 1, 0];
      add('delivered', log.keys({ start: [endpointNo, code, 0], end }));
    }
    return found;
  }
}

interface Drained {
  readonly state: 'pending' | 'delivered';
  /** Of the queue, or of the log, which has the state's code in place of the time. */
  readonly key: QueueKey;
}
