/**
 * The delivery store: the tables of deliveries, the retry wheel and the wheel's clock. Every change goes
 * through `transaction`, which hands out a DeliveryTransaction, commits, and then reports the endpoints that
 * got something to send.
 */
import type { Clock, SteadyClock } from '../../model/clock.ts';
import type { DeliveryTables } from '../../store/delivery/delivery.ts';
import type { Table } from '../../store/environment.ts';
import { type DeliveryLimits, DeliveryTransaction } from './delivery-transaction.ts';
import { RetryWheel, WheelClock } from './retry-wheel.ts';
import type { EndpointNo } from '../../model/numbers.ts';

/** The wheel clock's mark is stored with a transaction at least this often. */
const markMs = 5_000;

export interface DeliveryStoreOptions {
  readonly tables: DeliveryTables;
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly limits: DeliveryLimits;
}

export class DeliveryStore {
  readonly tables: DeliveryTables;
  readonly wheel: RetryWheel;
  readonly wheelClock: WheelClock;
  readonly #clock: Clock;
  readonly #limits: DeliveryLimits;
  #markedMs = 0;
  #onReady: (endpointNos: ReadonlySet<EndpointNo>) => void = () => undefined;

  constructor({ tables, clock, steady, limits }: DeliveryStoreOptions) {
    this.tables = tables;
    this.#clock = clock;
    this.#limits = limits;
    this.wheel = new RetryWheel(tables);
    this.wheelClock = new WheelClock(
      clock,
      steady,
      tables.wheelClock.get('now', () => undefined),
    );
  }

  /** Sets the one listener, the dispatcher: called after a commit with the endpoints that have work. */
  onReady(listener: (endpointNos: ReadonlySet<EndpointNo>) => void): void {
    this.#onReady = listener;
  }

  /**
   * Runs `work` in one transaction. It may run again when the commit fails and the caller retries, so it
   * changes nothing except through `tx`.
   * @throws Failure storage_full
   */
  async transaction<T>(work: (tx: DeliveryTransaction) => T): Promise<T> {
    const { run, committed } = this.#prepare(work);
    const result = await this.tables.environment.transaction(run);
    committed();
    return result;
  }

  #prepare<T>(work: (tx: DeliveryTransaction) => T): { run: () => T; committed: () => void } {
    const { tables, wheel, wheelClock } = this;
    const ready = new Set<number>();
    const now = { wallMs: this.#clock.now(), wheelMs: wheelClock.now() };
    const isMarkDue = now.wheelMs - this.#markedMs >= markMs;
    return {
      run: () => {
        const tx = new DeliveryTransaction({ tables, wheel, limits: this.#limits }, now, ready);
        const result = work(tx);
        tx.finish();
        if (isMarkDue) tables.wheelClock.put('now', wheelClock.mark());
        return result;
      },
      committed: () => {
        if (isMarkDue) this.#markedMs = now.wheelMs;
        if (ready.size > 0) this.#onReady(ready);
      },
    };
  }

  /** Whether the mark is old while a delivery that depends on it is queued. */
  get isMarkOld(): boolean {
    if (this.wheelClock.now() - this.#markedMs < 2 * markMs) return false;
    for (const _ of this.tables.due.keys({ limit: 1 })) return true;
    return false;
  }
}

type EndpointKey = [endpointNo: EndpointNo, dueMs: number, id: string];

/** The first key of each endpoint in a table, by one seek each. */
export function* firstKeys(table: Pick<Table<EndpointKey, 1>, 'keys'>): Generator<EndpointKey> {
  let from: number | undefined = 0;
  while (from !== undefined) {
    const [key]: EndpointKey[] = [...table.keys({ start: [from, 0, ''], limit: 1 })];
    if (key !== undefined) yield key;
    from = key === undefined ? undefined : key[0] + 1;
  }
}
