/**
 * The only code that writes deliveries: within one transaction of the delivery environment it creates them and
 * moves them from state to state (delivery-state.ts), and keeps queue, wheel, log, dead letters, expiry and the
 * endpoints' stats consistent with that. `DeliveryStore.transaction` opens one.
 *
 *   pending    in the queue (and on the wheel)
 *   delivered  in the log alone; the oldest beyond `keptMax` of an endpoint are pruned
 *   dead       among the dead letters, until it expires
 *   canceled   in the log, until it expires
 *
 * Everything is read from the store inside the transaction, so one that fails leaves nothing behind.
 * A damaged delivery is taken out with what its keys tell of it; damaged stats are counted again from the log.
 */
import type { AttemptRecord, DeadReason, DeliveryState } from '../../model/webhook.ts';
import type { EventKind } from '../../model/event.ts';
import { positionId } from '../../model/ids.ts';
import {
  type DeliveryTables,
  type EndpointStats,
  type QueueKey,
  packDelivery,
  type StoredDelivery,
  unpackDelivery,
} from '../../store/delivery/delivery.ts';
import { newestNumber } from '../../store/sequence-search.ts';
import { type DeliveryEvent, deliveryTransitions } from './delivery-state.ts';
import type { RetryWheel } from './retry-wheel.ts';
import { toWheelMs, type WheelMs } from '../../model/wheel-time.ts';
import type { DeliveryNo, EndpointNo, WorkspaceNo } from '../../model/numbers.ts';

/** Newest attempts stored with a delivery: three rounds of the schedule, each with up to 4 KB of answer. */
const attemptsKept = 24;
/** Delivered ones are pruned in batches of this: one read of the log serves many. */
const pruneBatch = 64;

/** Stored in the log's keys: never change them. */
export const stateCodes: Readonly<Record<DeliveryState, number>> = {
  pending: 1,
  delivered: 2,
  dead: 3,
  canceled: 4,
};

const noTime = toWheelMs(0);
const emptyStats: EndpointStats = {
  counts: { pending: 0, delivered: 0, dead: 0, canceled: 0 },
  failuresInRow: 0,
};

/** A delivery with its number. */
export interface Delivery extends StoredDelivery {
  readonly no: DeliveryNo;
  /** `dlv_…` */
  readonly id: string;
}

export interface NewDelivery {
  readonly endpointNo: EndpointNo;
  readonly workspaceNo: WorkspaceNo;
  readonly kind: EventKind;
  readonly eventIds: readonly string[];
  readonly body: Uint8Array;
}

/** A delivery's number, and its id with the time in it. */
export interface DeliverySlot {
  readonly no: DeliveryNo;
  readonly id: string;
  readonly createdAtMs: number;
}

export interface DeliveryLimits {
  /** Delivered ones stored per endpoint. */
  readonly keptMax: number;
  /** Dead and canceled ones are kept this long. */
  readonly expiryMs: number;
}

/** What a move changes besides the state. */
export interface Move {
  /** Wheel time of the next attempt; for `failed` and `replayed`. */
  readonly dueMs?: WheelMs;
  /** The attempt that ended. */
  readonly attempt?: AttemptRecord;
  readonly deadReason?: DeadReason;
}

/** Both clocks, read once for a transaction. */
export interface Moment {
  readonly wallMs: number;
  readonly wheelMs: WheelMs;
}

export class DeliveryTransaction {
  readonly #tables: DeliveryTables;
  readonly #wheel: RetryWheel;
  readonly #limits: DeliveryLimits;
  readonly #now: Moment;
  readonly #stats = new Map<number, EndpointStats>();
  /** Changes of the stats' counts, by endpoint, indexed by state code. */
  readonly #countChanges = new Map<number, number[]>();
  readonly #ready: Set<number>;
  #nextNo: number | undefined;

  /** @param ready gets the endpoints that this transaction gives something to send */
  constructor(
    options: { tables: DeliveryTables; wheel: RetryWheel; limits: DeliveryLimits },
    now: Moment,
    ready: Set<number>,
  ) {
    this.#tables = options.tables;
    this.#wheel = options.wheel;
    this.#limits = options.limits;
    this.#now = now;
    this.#ready = ready;
  }

  /** Creates a delivery that is due now. */
  create(created: NewDelivery): Delivery {
    const delivery = this.#build(this.reserve(), created);
    this.#insert(delivery);
    return delivery;
  }

  /** Reserves the number and id of a delivery that is recorded later. */
  reserve(): DeliverySlot {
    const no =
      this.#nextNo ??
      this.#tables.meta.get('next', () => newestNumber(this.#tables.deliveries) + 1) ??
      1;
    this.#nextNo = no + 1;
    const createdAtMs = this.#now.wallMs;
    return { no, id: deliveryId(createdAtMs, no), createdAtMs };
  }

  /** Adds a delivery that was sent without the queue to the log, with its result. */
  record(slot: DeliverySlot, created: NewDelivery, attempt: AttemptRecord): Delivery {
    const delivery = this.#build(slot, created);
    this.#insert(delivery);
    return this.move(delivery, attempt.failure === undefined ? 'succeeded' : 'dropped', {
      attempt,
    });
  }

  /** Moves it by the table of transitions. @returns the new delivery, or the same when nothing changes */
  move(delivery: Delivery, event: DeliveryEvent, move: Move = {}): Delivery {
    const to = deliveryTransitions[delivery.state][event];
    if (to === 'stays') return delivery;
    this.#remove(delivery);
    if (to === 'deleted') {
      this.#tables.deliveries.remove(delivery.no);
      return delivery;
    }
    const { dueMs = delivery.dueMs, attempt, deadReason } = move;
    const isReplay = event === 'replayed';
    const next: Delivery = {
      ...delivery,
      state: to,
      dueMs,
      tries: isReplay ? 0 : delivery.tries + (attempt === undefined ? 0 : 1),
      attemptsMade: delivery.attemptsMade + (attempt === undefined ? 0 : 1),
      attempts:
        attempt === undefined
          ? delivery.attempts
          : [...delivery.attempts, attempt].slice(-attemptsKept),
      deadAtMs: to === 'dead' ? this.#now.wallMs : 0,
      deadReason: to === 'dead' ? (deadReason ?? 'exhausted') : '',
      expiresMs: to === 'dead' || to === 'canceled' ? this.#expiresMs() : noTime,
    };
    this.#insert(next);
    return next;
  }

  /** Undefined for a damaged one too. */
  find(no: DeliveryNo): Delivery | undefined {
    return findDelivery(this.#tables, no);
  }

  /** Takes a damaged one out of the log, and a pending one out of the queue. */
  discard(state: 'pending' | 'delivered', [endpointNo, dueMs, no]: QueueKey): void {
    const { queue, log, deliveries } = this.#tables;
    if (!log.has([endpointNo, stateCodes[state], no])) return;
    log.remove([endpointNo, stateCodes[state], no]);
    if (state === 'pending') queue.remove([endpointNo, dueMs, no]);
    deliveries.remove(no);
    this.#count(endpointNo, state, -1);
  }

  stats(endpointNo: EndpointNo): EndpointStats {
    return this.#stats.get(endpointNo) ?? storedStats(this.#tables, endpointNo) ?? emptyStats;
  }

  setStats(endpointNo: EndpointNo, stats: EndpointStats): void {
    this.#stats.set(endpointNo, stats);
  }

  /** Writes the stats and the next number: the last step of a transaction. */
  finish(): void {
    for (const [endpointNo, changes] of this.#countChanges) this.#addCounts(endpointNo, changes);
    if (this.#nextNo !== undefined) this.#tables.meta.put('next', this.#nextNo);
    for (const [endpointNo] of this.#stats) this.#pruneOldest(endpointNo);
    for (const [endpointNo, stats] of this.#stats) {
      const isEmpty = Object.values(stats.counts).every((count) => count === 0);
      if (isEmpty) this.#tables.stats.remove(endpointNo);
      else this.#tables.stats.put(endpointNo, stats);
    }
  }

  #expiresMs(): WheelMs {
    return toWheelMs(this.#now.wheelMs + this.#limits.expiryMs);
  }

  #build(slot: DeliverySlot, created: NewDelivery): Delivery {
    const { endpointNo, workspaceNo, kind, eventIds, body } = created;
    return {
      ...slot,
      endpointNo,
      workspaceNo,
      kind,
      eventIds,
      state: 'pending',
      dueMs: this.#now.wheelMs,
      tries: 0,
      attemptsMade: 0,
      attempts: [],
      deadAtMs: 0,
      deadReason: '',
      expiresMs: noTime,
      body,
    };
  }

  #insert(delivery: Delivery): void {
    const { no, endpointNo, workspaceNo, state, dueMs, deadAtMs, expiresMs } = delivery;
    const tables = this.#tables;
    tables.deliveries.put(no, packDelivery(delivery));
    tables.log.put([endpointNo, stateCodes[state], no], 1);
    this.#count(endpointNo, state, 1);
    if (state === 'pending') {
      tables.queue.put([endpointNo, dueMs, no], 1);
      if (dueMs > this.#now.wheelMs) {
        if (this.#wheel.schedule(endpointNo, dueMs)) this.#ready.add(endpointNo);
      } else {
        this.#wheel.pin(endpointNo, dueMs);
        this.#ready.add(endpointNo);
      }
    }
    if (state === 'dead') tables.dead.put([workspaceNo, deadAtMs, no], endpointNo);
    if (state === 'dead' || state === 'canceled') tables.expiry.put([expiresMs, no], 1);
  }

  #remove({ no, endpointNo, workspaceNo, state, dueMs, deadAtMs, expiresMs }: Delivery): void {
    const tables = this.#tables;
    tables.log.remove([endpointNo, stateCodes[state], no]);
    this.#count(endpointNo, state, -1);
    if (state === 'pending') tables.queue.remove([endpointNo, dueMs, no]);
    if (state === 'dead') tables.dead.remove([workspaceNo, deadAtMs, no]);
    if (state === 'dead' || state === 'canceled') tables.expiry.remove([expiresMs, no]);
  }

  #count(endpointNo: EndpointNo, state: DeliveryState, by: number): void {
    let changes = this.#countChanges.get(endpointNo);
    if (changes === undefined) {
      changes = [0, 0, 0, 0, 0];
      this.#countChanges.set(endpointNo, changes);
    }
    const code = stateCodes[state];
    changes[code] = (changes[code] ?? 0) + by;
  }

  #addCounts(endpointNo: EndpointNo, changes: readonly number[]): void {
    const stats = this.stats(endpointNo);
    const after = (state: DeliveryState): number =>
      stats.counts[state] + (changes[stateCodes[state]] ?? 0);
    const counts = {
      pending: after('pending'),
      delivered: after('delivered'),
      dead: after('dead'),
      canceled: after('canceled'),
    };
    this.#stats.set(endpointNo, { ...stats, counts });
  }

  #pruneOldest(endpointNo: EndpointNo): void {
    const surplus = this.stats(endpointNo).counts.delivered - this.#limits.keptMax;
    if (surplus < pruneBatch) return;
    const code = stateCodes.delivered;
    const oldest = [
      ...this.#tables.log.keys({
        start: [endpointNo, code, 0],
        end: [endpointNo, code + 1, 0],
        limit: Math.min(surplus, 4 * pruneBatch),
      }),
    ];
    for (const key of oldest) {
      this.#tables.log.remove(key);
      this.#tables.deliveries.remove(key[2]);
    }
    this.#addCounts(endpointNo, [0, 0, -oldest.length]);
  }
}

const deliveryId = (createdAtMs: number, no: DeliveryNo): string =>
  positionId('dlv', createdAtMs, Math.floor(no / 2 ** 40), no % 2 ** 40);

/** An endpoint's stats; counted again from the log where they are damaged, and then it has failed never. */
export function storedStats(
  { stats, log }: DeliveryTables,
  endpointNo: EndpointNo,
): EndpointStats | undefined {
  const countOf = (state: DeliveryState): number => {
    const code = stateCodes[state];
    return log.count({ start: [endpointNo, code, 0], end: [endpointNo, code + 1, 0] });
  };
  return stats.get(endpointNo, () => ({
    counts: {
      pending: countOf('pending'),
      delivered: countOf('delivered'),
      dead: countOf('dead'),
      canceled: countOf('canceled'),
    },
    failuresInRow: 0,
  }));
}

/** Undefined for a damaged one too. */
export function findDelivery(tables: DeliveryTables, no: DeliveryNo): Delivery | undefined {
  const packed = tables.deliveries.get(no, () => undefined);
  if (packed === undefined) return undefined;
  const stored = unpackDelivery(packed);
  return { no, id: deliveryId(stored.createdAtMs, no), ...stored };
}
