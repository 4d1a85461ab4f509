/**
 * Consumes the outbox of the management environment: creates a delivery of each event for each endpoint that
 * listens to it.
 */
import type { Outbox, OutboxEvent } from '../../outbox/outbox.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { Delivery, NewDelivery } from '../deliveries/delivery-transaction.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import { ConsumerCursor } from './consumer-cursor.ts';
import type { Consumer } from './consumer-loop.ts';

/** Events read at once. */
const readMax = 500;
/** Deliveries of one transaction, about: those of one event are never divided. */
const createdMax = 1_000;

export interface EventConsumerOptions {
  readonly store: DeliveryStore;
  readonly outbox: Outbox;
  readonly endpoints: Endpoints;
  /** Called with the deliveries of each commit. */
  readonly onCreated: (deliveries: readonly Delivery[]) => void;
}

export class EventConsumer implements Consumer {
  readonly name = 'events';
  readonly cursor: ConsumerCursor;
  readonly #outbox: Outbox;
  readonly #endpoints: Endpoints;
  readonly #encoder = new TextEncoder();

  constructor({ store, outbox, endpoints, onCreated }: EventConsumerOptions) {
    this.cursor = new ConsumerCursor(
      store,
      'events',
      onCreated,
      ({ kind, workspaceNo, eventIds }) =>
        kind === 'qr.scanned' ? undefined : outbox.find(workspaceNo, eventIds[0] ?? ''),
    );
    this.#outbox = outbox;
    this.#endpoints = endpoints;
  }

  /** Events that are not consumed. */
  get lag(): number {
    return Math.max(0, this.#outbox.lastSequence - this.cursor.position.sequence);
  }

  async step(): Promise<boolean> {
    let { sequence } = this.cursor.position;
    const events = this.#outbox.after(sequence, readMax);
    const created: NewDelivery[] = [];
    for (const event of events) {
      if (created.length >= createdMax) break;
      created.push(...this.#deliveriesOf(event));
      sequence = event.sequence;
    }
    await this.cursor.advance({ sequence, entries: 0 }, created);
    return events.length === readMax || sequence < (events.at(-1)?.sequence ?? sequence);
  }

  #deliveriesOf({ workspaceNo, kind, id, sequence, body: text }: OutboxEvent): NewDelivery[] {
    const listeners = this.#endpoints
      .forEvent(workspaceNo, kind)
      .filter(({ firstEvent }) => sequence > firstEvent);
    if (listeners.length === 0) return [];
    const body = this.#encoder.encode(text);
    return listeners.map(({ no }) => ({
      endpointNo: no,
      workspaceNo,
      kind,
      eventIds: [id],
      body,
    }));
  }
}
