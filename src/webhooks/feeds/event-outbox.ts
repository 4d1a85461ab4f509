/** Reads the outbox of the management environment: one delivery for each event and listener. */
import { idTimeMs, parseId } from '../../model/ids.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import type { Outbox, OutboxEvent } from '../outbox.ts';
import type { DeliveryRef, Position } from '../../store/delivery/delivery.ts';
import { type Delivery, freshDelivery } from '../deliveries/delivery.ts';
import type { WheelClock } from '../deliveries/retry-wheel.ts';
import { isFor } from '../endpoints/endpoint-index.ts';
import {
  type ListenersOf,
  type NewestRange,
  type OutboxReader,
  type ReadBounds,
  type ReadResult,
} from './outbox-reader.ts';
import type { SentEvents } from './sent-events.ts';

const readMax = 500;

const oneEvent = (): number => 1;

export class EventOutbox implements OutboxReader {
  readonly name = 'events';
  sent?: SentEvents;
  readonly #outbox: Outbox;
  readonly #clock: WheelClock;

  constructor(outbox: Outbox, clock: WheelClock) {
    this.#outbox = outbox;
    this.#clock = clock;
  }

  get newest(): number {
    return this.#outbox.lastSequence;
  }

  refresh(): void {
    this.#outbox.refresh();
  }

  read([from]: Position, listenersOf: ListenersOf, bounds: ReadBounds): ReadResult {
    const events = this.#outbox.after(from, readMax);
    const created: Delivery[] = [];
    let sequence = from;
    for (const event of events) {
      if (created.length >= bounds.deliveriesMax) break;
      sequence = event.sequence;
      const listeners = listenersOf(event.workspaceNo, event.kind, sequence, oneEvent);
      for (const endpoint of listeners) {
        if (!this.#isSent(event, endpoint)) created.push(this.#delivery(event, endpoint));
      }
    }
    const hasMore = events.length === readMax || sequence < (events.at(-1)?.sequence ?? sequence);
    return { created, position: [sequence, 0], hasMore };
  }

  readFor(endpoint: EndpointRecord, [from]: Position, bounds: ReadBounds): ReadResult {
    const [upTo] = bounds.upTo ?? [Number.MAX_SAFE_INTEGER];
    const created: Delivery[] = [];
    let sequence = from;
    let read = 0;
    for (const at of this.#outbox.sequencesOf(endpoint.workspaceNo, from, upTo)) {
      if (created.length >= bounds.deliveriesMax || read === readMax) {
        return { created, position: [sequence, 0], hasMore: true };
      }
      read += 1;
      sequence = at;
      const event = this.#outbox.get(at);
      if (event === undefined || !isFor(endpoint, event.kind, at)) continue;
      if (!this.#isSent(event, endpoint)) {
        created.push(this.#delivery(event, endpoint));
      }
    }
    return { created, position: [upTo, 0], hasMore: false };
  }

  newestFor(endpoint: EndpointRecord, { after, beforeId, limit }: NewestRange): Delivery[] {
    const found: Delivery[] = [];
    const isId = parseId('dlv', beforeId) !== undefined;
    let before = isId ? this.#outbox.sequenceAfter(idTimeMs(beforeId)) : undefined;
    for (;;) {
      const events = this.#outbox.newest(endpoint.workspaceNo, before, readMax);
      for (const event of events) {
        if (event.sequence <= after[0]) return found;
        if (!isFor(endpoint, event.kind, event.sequence)) continue;
        const delivery = this.#delivery(event, endpoint);
        if (delivery.id < beforeId) found.push(delivery);
        if (found.length === limit) return found;
      }
      before = events.at(-1)?.sequence;
      if (before === undefined) return found;
    }
  }

  at(endpoint: EndpointRecord, [sequence]: DeliveryRef): Delivery | undefined {
    const event = this.#outbox.get(sequence);
    return event === undefined ? undefined : this.#delivery(event, endpoint);
  }

  find(endpoint: EndpointRecord, eventId: string): Delivery | undefined {
    const sequence = this.#outbox.find(endpoint.workspaceNo, eventId);
    const event = sequence === undefined ? undefined : this.#outbox.get(sequence);
    const isIts = event !== undefined && isFor(endpoint, event.kind, event.sequence);
    return isIts ? this.#delivery(event, endpoint) : undefined;
  }

  #isSent({ id }: OutboxEvent, { no }: EndpointRecord): boolean {
    return this.sent?.to(no, idTimeMs(id)).has(id) === true;
  }

  #delivery({ id, kind, sequence, body }: OutboxEvent, endpoint: EndpointRecord): Delivery {
    const { no: endpointNo, workspaceNo } = endpoint;
    const created = { endpointNo, workspaceNo, kind, eventIds: [id], body };
    const ref: DeliveryRef = [sequence, 0, 0, 'one'];
    return freshDelivery(created, { outbox: 'events', ref }, this.#clock.now());
  }
}
