/**
 * Follows the outbox of the management environment: makes a delivery of each event for each endpoint that
 * listens, and moves the cursor, in one transaction. Where nobody listens it moves in memory and is
 * stored now and then; going back over such events finds nobody again, for an endpoint gets nothing that
 * is older than itself.
 */
import type { Outbox } from '../../outbox/outbox.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { Delivery, NewDelivery } from '../deliveries/delivery-transaction.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { Consumer } from './consumer-loop.ts';

/** Events read at once. */
const readMax = 500;
/** Deliveries of one transaction, about; one event's are never divided. */
const madeMax = 1_000;

export interface EventConsumerOptions {
  readonly book: DeliveryStore;
  readonly outbox: Outbox;
  readonly endpoints: Endpoints;
  /** Given what was committed. */
  readonly onMade: (deliveries: readonly Delivery[]) => void;
}

export class EventConsumer implements Consumer {
  readonly name = 'events';
  readonly #options: EventConsumerOptions;
  readonly #encoder = new TextEncoder();
  #cursor: number;
  #stored: number;

  constructor(options: EventConsumerOptions) {
    this.#options = options;
    this.#stored = options.book.store.cursors.get('events')?.[0] ?? 0;
    this.#cursor = this.#stored;
  }

  /** Events up to here have their deliveries, also after a crash. */
  get delivered(): number {
    return this.#stored;
  }

  /** Events that nobody has looked at. */
  get lag(): number {
    return Math.max(0, this.#options.outbox.lastSequence - this.#cursor);
  }

  async step(): Promise<boolean> {
    const { book, outbox, onMade } = this.#options;
    const events = outbox.after(this.#cursor, readMax);
    const made: NewDelivery[] = [];
    let cursor = this.#cursor;
    for (const event of events) {
      if (made.length >= madeMax) break;
      this.#address(event, made);
      cursor = event.sequence;
    }
    if (made.length > 0) {
      const deliveries = await book.write((pen) => {
        book.store.cursors.put('events', [cursor, 0]);
        return made.map((delivery) => pen.create(delivery));
      });
      this.#stored = cursor;
      this.#cursor = cursor;
      onMade(deliveries);
    }
    this.#cursor = cursor;
    return events.length === readMax || cursor < (events.at(-1)?.sequence ?? cursor);
  }

  /** Stores a cursor that moved past events without deliveries. */
  async save(): Promise<void> {
    const cursor = this.#cursor;
    if (cursor === this.#stored) return;
    const { book } = this.#options;
    await book.write(() => {
      // A step may have stored a later one meanwhile.
      const [stored] = book.store.cursors.get('events') ?? [0];
      if (stored < cursor) book.store.cursors.put('events', [cursor, 0]);
    });
    this.#stored = Math.max(this.#stored, cursor);
  }

  #address(event: ReturnType<Outbox['after']>[number], made: NewDelivery[]): void {
    const { workspaceNo, kind, id, sequence } = event;
    const listeners = this.#options.endpoints
      .forEvent(workspaceNo, kind)
      .filter(({ firstEvent }) => sequence > firstEvent);
    if (listeners.length === 0) return;
    const body = this.#encoder.encode(event.body);
    for (const { no } of listeners) {
      made.push({ endpointNo: no, workspaceNo, kind, eventIds: [id], body });
    }
  }
}
