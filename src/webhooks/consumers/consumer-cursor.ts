/**
 * How far a consumer has got in its outbox. The cursor is stored in the transaction that creates the deliveries,
 * so each is created once. Over entries without deliveries it moves in memory and is stored now and then: after a
 * crash they are read again and lead to no delivery again, because an endpoint gets nothing older than itself.
 * So a damaged cursor is found again by the newest delivery that was created of the outbox: what comes after it led to
 * none. Without one it begins at the oldest entry that is kept.
 */
import type { CursorName } from '../../store/delivery/delivery.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import {
  type Delivery,
  findDelivery,
  type NewDelivery,
} from '../deliveries/delivery-transaction.ts';

/** Everything up to `sequence` is done, and so many entries of the one after it. */
export interface CursorPosition {
  readonly sequence: number;
  readonly entries: number;
}

export class ConsumerCursor {
  readonly #store: DeliveryStore;
  readonly #name: CursorName;
  readonly #onCreated: (deliveries: readonly Delivery[]) => void;
  #position: CursorPosition;
  #stored: number;

  /**
   * @param onCreated called with the deliveries of each commit
   * @param find the sequence of the entry that a delivery was created of
   */
  constructor(
    store: DeliveryStore,
    name: CursorName,
    onCreated: (deliveries: readonly Delivery[]) => void,
    find: (delivery: Delivery) => number | undefined,
  ) {
    this.#store = store;
    this.#name = name;
    this.#onCreated = onCreated;
    const { cursors } = store.tables;
    const [sequence, entries] = cursors.get(name, () => recovered(store, find)) ?? [0, 0];
    this.#position = { sequence, entries };
    this.#stored = sequence;
  }

  get position(): CursorPosition {
    return this.#position;
  }

  /** Everything up to here is done, also after a crash. */
  get stored(): number {
    return this.#stored;
  }

  /** Creates the deliveries of what lies before `position`, and moves there. */
  async advance(position: CursorPosition, created: readonly NewDelivery[]): Promise<void> {
    if (created.length > 0) {
      const { cursors } = this.#store.tables;
      const deliveries = await this.#store.transaction((tx) => {
        cursors.put(this.#name, [position.sequence, position.entries]);
        return created.map((delivery) => tx.create(delivery));
      });
      this.#stored = position.sequence;
      this.#onCreated(deliveries);
    }
    this.#position = position;
  }

  /** Stores a position that moved past entries without deliveries. */
  async save(): Promise<void> {
    const { sequence, entries } = this.#position;
    if (sequence === this.#stored) return;
    const { cursors } = this.#store.tables;
    await this.#store.transaction(() => {
      // `advance` may have stored a later one meanwhile.
      const [stored] = cursors.get(this.#name, () => undefined) ?? [0];
      if (stored < sequence) cursors.put(this.#name, [sequence, entries]);
    });
    this.#stored = Math.max(this.#stored, sequence);
  }
}

/** Deliveries that are looked through: those of the other outbox, and damaged ones, are passed over. */
const lookedAtMax = 10_000;

function recovered(
  { tables }: DeliveryStore,
  find: (delivery: Delivery) => number | undefined,
): [sequence: number, entries: number] {
  const newestFirst = { start: Number.MAX_SAFE_INTEGER, reverse: true, limit: lookedAtMax };
  for (const no of tables.deliveries.keys(newestFirst)) {
    const delivery = findDelivery(tables, no);
    const sequence = delivery && find(delivery);
    if (sequence !== undefined) return [sequence, 0];
  }
  return [0, 0];
}
