/**
 * Deliveries that were just made and found no room to start: kept beside the queue, so that most of a burst is
 * sent without being read back (a read and its decoding is a tenth of what a delivery costs the control
 * thread). The queue alone says what is to be sent; this only saves the read. One more than the bound, and the
 * oldest is read from the store when its turn comes.
 *
 * What is kept is what the queue means as long as `dueMs` is the queue's: a delivery that was tried, or died and
 * was replayed, is due at another time.
 */
import type { Delivery } from '../deliveries/delivery-transaction.ts';

const countMax = 4_096;
const bytesMax = 8_388_608;

export class RecentDeliveries {
  readonly #kept = new Map<number, Delivery>();
  #bytes = 0;

  keep(delivery: Delivery): void {
    this.#drop(delivery.no);
    this.#kept.set(delivery.no, delivery);
    this.#bytes += delivery.body.length;
    for (const no of this.#kept.keys()) {
      if (this.#kept.size <= countMax && this.#bytes <= bytesMax) break;
      this.#drop(no);
    }
  }

  /** Once; undefined when it is to be read. */
  take(no: number, dueMs: number): Delivery | undefined {
    const delivery = this.#drop(no);
    return delivery?.dueMs === dueMs ? delivery : undefined;
  }

  #drop(no: number): Delivery | undefined {
    const delivery = this.#kept.get(no);
    if (delivery === undefined) return undefined;
    this.#kept.delete(no);
    this.#bytes -= delivery.body.length;
    return delivery;
  }
}
