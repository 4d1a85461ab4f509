/**
 * Recent deliveries: those that were just created, kept in memory beside the queue so that most of a burst is
 * sent without being read back (reading and decoding is a tenth of what a delivery costs the control thread).
 * The queue alone decides what is sent; this only saves the read. Beyond the bound the oldest is dropped and
 * read from the store later.
 *
 * A kept delivery is valid while its `dueMs` is that of the queue: one that was tried, or died and was replayed,
 * is due at another time.
 */
import type { Delivery } from '../deliveries/delivery-transaction.ts';
import type { DeliveryNo } from '../../model/numbers.ts';

const countMax = 4_096;
const bytesMax = 8_388_608;

export class RecentDeliveries {
  readonly #kept = new Map<number, Delivery>();
  #bytes = 0;

  add(delivery: Delivery): void {
    this.#remove(delivery.no);
    this.#kept.set(delivery.no, delivery);
    this.#bytes += delivery.body.length;
    for (const no of this.#kept.keys()) {
      if (this.#kept.size <= countMax && this.#bytes <= bytesMax) break;
      this.#remove(no);
    }
  }

  /** Removes and returns it; undefined when it must be read from the store. */
  take(no: DeliveryNo, dueMs: number): Delivery | undefined {
    const delivery = this.#remove(no);
    return delivery?.dueMs === dueMs ? delivery : undefined;
  }

  #remove(no: DeliveryNo): Delivery | undefined {
    const delivery = this.#kept.get(no);
    if (delivery === undefined) return undefined;
    this.#kept.delete(no);
    this.#bytes -= delivery.body.length;
    return delivery;
  }
}
