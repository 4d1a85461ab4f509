/**
 * The deliveries in their environment, with the wheel and the wheel's clock: every change goes through
 * `write`, which hands out a pen, commits, and then wakes the endpoints that got something to send.
 */
import type { Clock, SteadyClock } from '../../model/clock.ts';
import type { DeliveryTables } from '../../store/delivery/delivery.ts';
import { type DeliveryLimits, DeliveryTransaction } from './delivery-transaction.ts';
import { RetryWheel } from './retry-wheel.ts';
import { WheelClock } from './wheel-clock.ts';

/** The clock's mark is stored with a transaction at least this often. */
const markMs = 5_000;

export interface DeliveryStoreOptions {
  readonly store: DeliveryTables;
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly limits: DeliveryLimits;
}

export class DeliveryStore {
  readonly store: DeliveryTables;
  readonly wheel: RetryWheel;
  readonly time: WheelClock;
  readonly #clock: Clock;
  readonly #limits: DeliveryLimits;
  #markedMs = 0;
  #onWoken: (endpointNos: ReadonlySet<number>) => void = () => undefined;

  constructor({ store, clock, steady, limits }: DeliveryStoreOptions) {
    this.store = store;
    this.#clock = clock;
    this.#limits = limits;
    this.wheel = new RetryWheel(store);
    this.time = new WheelClock(clock, steady, store.wheelClock.get('now'));
  }

  /** One listener: the dispatcher. Told after the commit. */
  onWoken(listener: (endpointNos: ReadonlySet<number>) => void): void {
    this.#onWoken = listener;
  }

  /**
   * One transaction. `work` may run again when the commit fails and the caller tries again, so it changes
   * nothing but through the pen.
   * @throws Failure storage_full
   */
  async write<T>(work: (pen: DeliveryTransaction) => T): Promise<T> {
    const page = this.#page(work);
    const done = await this.store.environment.transaction(page.fill);
    page.close();
    return done;
  }

  /** The same, on this thread, now: before the service runs. */
  writeNow<T>(work: (pen: DeliveryTransaction) => T): T {
    const page = this.#page(work);
    const done = this.store.environment.transactionSync(page.fill);
    page.close();
    return done;
  }

  #page<T>(work: (pen: DeliveryTransaction) => T): { fill: () => T; close: () => void } {
    const { store, wheel, time } = this;
    const woken = new Set<number>();
    const at = { wallMs: this.#clock.now(), wheelMs: time.now() };
    const isMarkDue = at.wheelMs - this.#markedMs >= markMs;
    return {
      fill: () => {
        const pen = new DeliveryTransaction({ store, wheel, limits: this.#limits }, at, woken);
        const result = work(pen);
        pen.finish();
        if (isMarkDue) store.wheelClock.put('now', time.mark());
        return result;
      },
      close: () => {
        if (isMarkDue) this.#markedMs = at.wheelMs;
        if (woken.size > 0) this.#onWoken(woken);
      },
    };
  }

  /** Whether the mark is old while something waits that goes by it. */
  get isMarkOld(): boolean {
    if (this.time.now() - this.#markedMs < 2 * markMs) return false;
    for (const _ of this.store.queue.keys({ limit: 1 })) return true;
    return false;
  }
}
