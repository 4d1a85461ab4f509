/**
 * The only code that writes deliveries. Within one transaction of the delivery environment it moves them from state
 * to state (delivery.ts), and keeps rows, lists, wheel, log and the endpoints' stats consistent. A delivery has no row
 * before its first failure; a pending row is in `due` and on the wheel; a delivered one is only in the log.
 *
 * All reads are inside the transaction, so a failed one leaves nothing behind. A damaged delivery is removed by its
 * keys; damaged stats are counted again.
 */
import type { AttemptRecord, DeadReason, DeliveryState } from '../../model/webhook.ts';
import type { EndpointNo } from '../../model/numbers.ts';
import { toWheelMs, type WheelMs } from '../../model/wheel-time.ts';
import {
  type DeliveryTables,
  type DueKey,
  type EndpointStats,
  type PackedDelivered,
  type RowState,
  stateCodes,
} from '../../store/delivery/delivery.ts';
import {
  type Delivery,
  type DeliveryEvent,
  deliveryTransitions,
  type NewDelivery,
  noTime,
  pendingDelivery,
} from './delivery.ts';
import { addToLog, countLog, pruneLog } from './delivery-log.ts';
import type { RetryWheel } from './retry-wheel.ts';

/** Newest attempts stored with a delivery: three rounds of the schedule, each attempt with up to 4 KB of answer. */
const attemptsKept = 24;
const expiryMs = 7 * 86_400_000;

const emptyStats: EndpointStats = {
  counts: { pending: 0, delivered: 0, dead: 0, canceled: 0 },
  failuresInRow: 0,
};

interface Move {
  /** Wheel time of the next attempt; for `failed` and `replayed`. */
  readonly dueMs?: WheelMs;
  readonly attempt?: AttemptRecord;
  readonly deadReason?: DeadReason;
}

interface TransactionOptions {
  readonly tables: DeliveryTables;
  readonly wheel: RetryWheel;
  readonly keptMax: number;
  readonly now: { readonly wallMs: number; readonly wheelMs: WheelMs };
  /** Collects the endpoints that get work. */
  readonly ready: Set<EndpointNo>;
}

export class DeliveryTransaction {
  readonly #options: TransactionOptions;
  readonly #stats = new Map<EndpointNo, EndpointStats>();
  readonly #delivered = new Map<EndpointNo, PackedDelivered[]>();

  constructor(options: TransactionOptions) {
    this.#options = options;
  }

  /** Creates a row. @param id `dlv_…` @param dueMs default: now */
  create(id: string, created: NewDelivery, dueMs = this.#options.now.wheelMs): Delivery {
    const delivery = pendingDelivery(id, created, dueMs);
    this.#insert(delivery, 'pending');
    return delivery;
  }

  /** Applies the table of transitions. @returns the new delivery, or the same one if nothing changes */
  move(delivery: Delivery, event: DeliveryEvent, move: Move = {}): Delivery {
    if (delivery.state === 'delivered') return delivery;
    const to = deliveryTransitions[delivery.state][event];
    if (to === 'stays') return delivery;
    // A fresh delivery has no row, unless an earlier leader of a cluster has sent it too.
    const row = delivery.outboxRef === undefined ? delivery : this.find(delivery.id);
    if (row !== undefined) this.#remove(row);
    if (to === 'deleted') return delivery;
    const { dueMs = delivery.dueMs, attempt, deadReason } = move;
    if (to === 'delivered') return this.#log(delivery, attempt);
    const isReplay = event === 'replayed';
    const isExpiring = to === 'dead' || to === 'canceled';
    const next: Delivery = {
      ...delivery,
      outboxRef: undefined,
      state: to,
      dueMs,
      tries: isReplay ? 0 : delivery.tries + (attempt === undefined ? 0 : 1),
      ...attempted(delivery, attempt),
      deadAtMs: to === 'dead' ? this.#options.now.wallMs : 0,
      deadReason: to === 'dead' ? (deadReason ?? 'exhausted') : '',
      expiresMs: isExpiring ? toWheelMs(this.#options.now.wheelMs + expiryMs) : noTime,
    };
    this.#insert(next, to);
    return next;
  }

  find(id: string): Delivery | undefined {
    return findRow(this.#options.tables, id);
  }

  discard([endpointNo, dueMs, id]: DueKey): void {
    const { due, states, rows } = this.#options.tables;
    const key: [number, number, string] = [endpointNo, stateCodes.pending, id];
    if (!states.has(key)) return;
    states.remove(key);
    due.remove([endpointNo, dueMs, id]);
    rows.remove(id);
    this.#count(endpointNo, 'pending', -1);
  }

  stats(endpointNo: EndpointNo): EndpointStats {
    return (
      this.#stats.get(endpointNo) ?? storedStats(this.#options.tables, endpointNo) ?? emptyStats
    );
  }

  setStats(endpointNo: EndpointNo, stats: EndpointStats): void {
    this.#stats.set(endpointNo, stats);
  }

  /** Counts the log of a deleted endpoint as removed. */
  logDeleted(endpointNo: EndpointNo): void {
    this.#count(endpointNo, 'delivered', -this.stats(endpointNo).counts.delivered);
  }

  finish(): void {
    const { log, stats } = this.#options.tables;
    const keptMax = this.#options.keptMax;
    for (const [endpointNo, entries] of this.#delivered) {
      this.#count(endpointNo, 'delivered', addToLog(log, endpointNo, entries, keptMax));
      const { delivered } = this.stats(endpointNo).counts;
      const pruned = delivered > keptMax ? pruneLog(log, endpointNo, delivered - keptMax) : 0;
      this.#count(endpointNo, 'delivered', -pruned);
    }
    for (const [endpointNo, changed] of this.#stats) {
      const isEmpty = Object.values(changed.counts).every((count) => count === 0);
      if (isEmpty) stats.remove(endpointNo);
      else stats.put(endpointNo, changed);
    }
  }

  #log(delivery: Delivery, attempt: AttemptRecord | undefined): Delivery {
    const { id, endpointNo, kind, eventIds, body } = delivery;
    const { attempts, attemptsMade } = attempted(delivery, attempt);
    const entries = this.#delivered.get(endpointNo) ?? [];
    this.#delivered.set(endpointNo, entries);
    entries.push([id, kind, eventIds, attemptsMade, attempts, body]);
    return { ...delivery, state: 'delivered' };
  }

  #insert(delivery: Delivery, state: RowState): void {
    const { id, endpointNo, workspaceNo, dueMs, deadAtMs, expiresMs } = delivery;
    const tables = this.#options.tables;
    const { id: _id, outboxRef: _ref, ...row } = delivery;
    tables.rows.put(id, { ...row, state });
    tables.states.put([endpointNo, stateCodes[state], id], 1);
    this.#count(endpointNo, state, 1);
    if (state === 'pending') {
      tables.due.put([endpointNo, dueMs, id], 1);
      if (dueMs > this.#options.now.wheelMs) {
        if (this.#options.wheel.schedule(endpointNo, dueMs)) this.#options.ready.add(endpointNo);
      } else {
        this.#options.wheel.pin(endpointNo, dueMs);
        this.#options.ready.add(endpointNo);
      }
    } else {
      tables.expiry.put([expiresMs, id], 1);
      if (state === 'dead') tables.dead.put([workspaceNo, deadAtMs, id], endpointNo);
    }
  }

  #remove(delivery: Delivery): void {
    const { id, endpointNo, workspaceNo, state, dueMs, deadAtMs, expiresMs } = delivery;
    if (state === 'delivered') return;
    const tables = this.#options.tables;
    const key: [number, number, string] = [endpointNo, stateCodes[state], id];
    if (!tables.states.has(key)) return;
    tables.rows.remove(id);
    tables.states.remove(key);
    this.#count(endpointNo, state, -1);
    if (state === 'pending') tables.due.remove([endpointNo, dueMs, id]);
    else {
      tables.expiry.remove([expiresMs, id]);
      if (state === 'dead') tables.dead.remove([workspaceNo, deadAtMs, id]);
    }
  }

  #count(endpointNo: EndpointNo, state: DeliveryState, by: number): void {
    if (by === 0) return;
    const stats = this.stats(endpointNo);
    const counts = { ...stats.counts, [state]: Math.max(0, stats.counts[state] + by) };
    this.#stats.set(endpointNo, { ...stats, counts });
  }
}

const attempted = (
  { attempts, attemptsMade }: Delivery,
  attempt: AttemptRecord | undefined,
): Pick<Delivery, 'attempts' | 'attemptsMade'> =>
  attempt === undefined
    ? { attempts, attemptsMade }
    : {
        attempts: [...attempts.slice(1 - attemptsKept), attempt],
        attemptsMade: attemptsMade + 1,
      };

/** An endpoint's stats. Damaged ones are counted again and have no failures. */
export function storedStats(
  { stats, states, log }: DeliveryTables,
  endpointNo: EndpointNo,
): EndpointStats | undefined {
  const countOf = (state: RowState): number => {
    const code = stateCodes[state];
    return states.count({ start: [endpointNo, code, ''], end: [endpointNo, code + 1, ''] });
  };
  return stats.get(endpointNo, () => ({
    counts: {
      pending: countOf('pending'),
      delivered: countLog(log, endpointNo),
      dead: countOf('dead'),
      canceled: countOf('canceled'),
    },
    failuresInRow: 0,
  }));
}

/** A row; undefined for a damaged one too. */
export function findRow({ rows }: DeliveryTables, id: string): Delivery | undefined {
  const row = rows.get(id, () => undefined);
  return row && { id, ...row, outboxRef: undefined };
}
