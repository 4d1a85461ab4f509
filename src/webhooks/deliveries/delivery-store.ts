/** The delivery store: tables, retry wheel and its clock. After each commit it reports the endpoints that got work. */
import type { Clock, SteadyClock } from '../../model/clock.ts';
import type { DeliveryTables } from '../../store/delivery/delivery.ts';
import type { Table } from '../../store/environment.ts';
import { DeliveryTransaction } from './delivery-transaction.ts';
import { RetryWheel, WheelClock } from './retry-wheel.ts';
import type { EndpointNo } from '../../model/numbers.ts';

/** A transaction stores the wheel clock's mark at least this often. */
const markMs = 5_000;

interface DeliveryStoreOptions {
  readonly tables: DeliveryTables;
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly keptMax: number;
  /** Called after a commit with the endpoints that got work. */
  readonly onWork: (endpointNos: ReadonlySet<EndpointNo>) => void;
}

export class DeliveryStore {
  readonly tables: DeliveryTables;
  readonly wheel: RetryWheel;
  readonly wheelClock: WheelClock;
  readonly #options: DeliveryStoreOptions;
  #markedMs = 0;

  constructor(options: DeliveryStoreOptions) {
    const { tables, clock, steady } = options;
    this.#options = options;
    this.tables = tables;
    this.wheel = new RetryWheel(tables);
    this.wheelClock = new WheelClock(
      clock,
      steady,
      tables.wheelClock.get('now', () => undefined),
    );
  }

  /** `work` changes only `tx`, because a caller may retry a failed commit. @throws Failure storage_full */
  async transaction<T>(work: (tx: DeliveryTransaction) => T): Promise<T> {
    const { tables, wheel, wheelClock } = this;
    const { clock, keptMax, onWork } = this.#options;
    const ready = new Set<number>();
    const now = { wallMs: clock.now(), wheelMs: wheelClock.now() };
    const isMarkDue = now.wheelMs - this.#markedMs >= markMs;
    const result = await tables.environment.transaction(() => {
      const tx = new DeliveryTransaction({ tables, wheel, keptMax, now, ready });
      const done = work(tx);
      tx.finish();
      if (isMarkDue) tables.wheelClock.put('now', wheelClock.mark());
      return done;
    });
    if (isMarkDue) this.#markedMs = now.wheelMs;
    if (ready.size > 0) onWork(ready);
    return result;
  }

  /** Whether the mark is old and a queued delivery depends on it. */
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
