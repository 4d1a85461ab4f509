/**
 * The one hand that writes deliveries: within one transaction of the delivery environment it makes them
 * and moves them from state to state (delivery-state.ts), and keeps queue, wheel, lists, dead letters,
 * expiry and the endpoints' ledgers true to that. `write` opens the transaction.
 *
 *   pending    in the queue (and under the wheel)
 *   delivered  in the log alone; the oldest beyond `keptMax` of an endpoint are forgotten
 *   dead       among the dead letters, until it expires
 *   canceled   until it expires
 *
 * Everything is read from the store inside the transaction, so one that fails leaves nothing behind.
 */
import type { AttemptRecord, DeadReason, DeliveryState } from '../../model/webhook.ts';
import type { EventKind } from '../../model/event.ts';
import { positionId } from '../../model/ids.ts';
import {
  type DeliveryTables,
  type EndpointStats,
  packDelivery,
  type StoredDelivery,
  unpackDelivery,
} from '../../store/delivery/delivery.ts';
import { type DeliveryEvent, deliveryTransitions } from './delivery-state.ts';
import type { RetryWheel } from './retry-wheel.ts';

/** Attempts a delivery remembers, the newest: three rounds of the schedule, each with up to 4 KB of answer. */
const attemptsKept = 24;
/** Forgetting goes in batches of this: one walk of the list serves many deliveries. */
const forgottenTogether = 64;

/** Values never change: they are in the data. */
export const stateCodes: Readonly<Record<DeliveryState, number>> = {
  pending: 1,
  delivered: 2,
  dead: 3,
  canceled: 4,
};

const emptyStats: EndpointStats = {
  counts: { pending: 0, delivered: 0, dead: 0, canceled: 0 },
  failuresInRow: 0,
};

/** A delivery with its number. */
export interface Delivery extends StoredDelivery {
  readonly no: number;
  /** `dlv_…` */
  readonly id: string;
}

export interface NewDelivery {
  readonly endpointNo: number;
  readonly workspaceNo: number;
  readonly kind: EventKind;
  readonly eventIds: readonly string[];
  readonly body: Uint8Array;
}

/** A delivery's number and what its id is made of. */
export interface DeliverySlot {
  readonly no: number;
  readonly id: string;
  readonly createdAtMs: number;
}

export interface DeliveryLimits {
  /** Delivered ones that an endpoint's list keeps. */
  readonly keptMax: number;
  /** Dead and canceled ones are kept this long. */
  readonly expiryMs: number;
}

/** What beside the state a move changes. */
export interface Move {
  /** Wheel time of the next attempt; for `failed` and `replayed`. */
  readonly dueMs?: number;
  /** The attempt that ended. */
  readonly attempt?: AttemptRecord;
  readonly deadReason?: DeadReason;
}

/** Wall and wheel, read once for a transaction. */
export interface Moment {
  readonly wallMs: number;
  readonly wheelMs: number;
}

export class DeliveryTransaction {
  readonly #store: DeliveryTables;
  readonly #wheel: RetryWheel;
  readonly #limits: DeliveryLimits;
  readonly #at: Moment;
  readonly #ledgers = new Map<number, EndpointStats>();
  /** Changes of the ledgers' counts, by endpoint, indexed by state code. */
  readonly #changes = new Map<number, number[]>();
  readonly #woken: Set<number>;
  #nextNo: number | undefined;

  constructor(
    options: { store: DeliveryTables; wheel: RetryWheel; limits: DeliveryLimits },
    at: Moment,
    woken: Set<number>,
  ) {
    this.#store = options.store;
    this.#wheel = options.wheel;
    this.#limits = options.limits;
    this.#at = at;
    this.#woken = woken;
  }

  /** A delivery that is due now. */
  create(made: NewDelivery): Delivery {
    const delivery = this.#fresh(this.reserve(), made);
    this.#enter(delivery);
    return delivery;
  }

  /** A number for a delivery that is made later. */
  reserve(): DeliverySlot {
    const no = this.#nextNo ?? this.#store.meta.get('next') ?? 1;
    this.#nextNo = no + 1;
    const createdAtMs = this.#at.wallMs;
    return { no, id: deliveryId(createdAtMs, no), createdAtMs };
  }

  /** One that was sent beside the queue: it enters the log as it ended. */
  record(slot: DeliverySlot, made: NewDelivery, attempt: AttemptRecord): Delivery {
    const delivery = this.#fresh(slot, made);
    this.#enter(delivery);
    return this.move(delivery, attempt.failure === undefined ? 'succeeded' : 'dropped', {
      attempt,
    });
  }

  /** Moves it by the table; gives it as it is then, the same one when nothing changes. */
  move(delivery: Delivery, event: DeliveryEvent, move: Move = {}): Delivery {
    const to = deliveryTransitions[delivery.state][event];
    if (to === 'stays') return delivery;
    this.#leave(delivery);
    if (to === 'forgotten') {
      this.#store.deliveries.remove(delivery.no);
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
      deadAtMs: to === 'dead' ? this.#at.wallMs : 0,
      deadReason: to === 'dead' ? (deadReason ?? 'exhausted') : '',
      expiresMs: to === 'dead' || to === 'canceled' ? this.#at.wheelMs + this.#limits.expiryMs : 0,
    };
    this.#enter(next);
    return next;
  }

  find(no: number): Delivery | undefined {
    return findDelivery(this.#store, no);
  }

  ledger(endpointNo: number): EndpointStats {
    return this.#ledgers.get(endpointNo) ?? this.#store.ledgers.get(endpointNo) ?? emptyStats;
  }

  setLedger(endpointNo: number, ledger: EndpointStats): void {
    this.#ledgers.set(endpointNo, ledger);
  }

  /** Writes what was gathered: the last act of a transaction. */
  finish(): void {
    for (const [endpointNo, changes] of this.#changes) this.#carry(endpointNo, changes);
    if (this.#nextNo !== undefined) this.#store.meta.put('next', this.#nextNo);
    for (const [endpointNo] of this.#ledgers) this.#forgetOldest(endpointNo);
    for (const [endpointNo, ledger] of this.#ledgers) {
      const isEmpty = Object.values(ledger.counts).every((count) => count === 0);
      if (isEmpty) this.#store.ledgers.remove(endpointNo);
      else this.#store.ledgers.put(endpointNo, ledger);
    }
  }

  #fresh(slot: DeliverySlot, made: NewDelivery): Delivery {
    const { endpointNo, workspaceNo, kind, eventIds, body } = made;
    return {
      ...slot,
      endpointNo,
      workspaceNo,
      kind,
      eventIds,
      state: 'pending',
      dueMs: this.#at.wheelMs,
      tries: 0,
      attemptsMade: 0,
      attempts: [],
      deadAtMs: 0,
      deadReason: '',
      expiresMs: 0,
      body,
    };
  }

  #enter(delivery: Delivery): void {
    const { no, endpointNo, workspaceNo, state, dueMs, deadAtMs, expiresMs } = delivery;
    const store = this.#store;
    store.deliveries.put(no, packDelivery(delivery));
    store.log.put([endpointNo, stateCodes[state], no], 1);
    this.#count(endpointNo, state, 1);
    if (state === 'pending') {
      store.queue.put([endpointNo, dueMs, no], 1);
      if (dueMs > this.#at.wheelMs) {
        if (this.#wheel.cover(endpointNo, dueMs)) this.#woken.add(endpointNo);
      } else {
        this.#wheel.anchor(endpointNo, dueMs);
        this.#woken.add(endpointNo);
      }
    }
    if (state === 'dead') store.dead.put([workspaceNo, deadAtMs, no], endpointNo);
    if (state === 'dead' || state === 'canceled') store.expiry.put([expiresMs, no], 1);
  }

  #leave({ no, endpointNo, workspaceNo, state, dueMs, deadAtMs, expiresMs }: Delivery): void {
    const store = this.#store;
    store.log.remove([endpointNo, stateCodes[state], no]);
    this.#count(endpointNo, state, -1);
    if (state === 'pending') store.queue.remove([endpointNo, dueMs, no]);
    if (state === 'dead') store.dead.remove([workspaceNo, deadAtMs, no]);
    if (state === 'dead' || state === 'canceled') store.expiry.remove([expiresMs, no]);
  }

  #count(endpointNo: number, state: DeliveryState, by: number): void {
    let changes = this.#changes.get(endpointNo);
    if (changes === undefined) {
      changes = [0, 0, 0, 0, 0];
      this.#changes.set(endpointNo, changes);
    }
    const code = stateCodes[state];
    changes[code] = (changes[code] ?? 0) + by;
  }

  #carry(endpointNo: number, changes: readonly number[]): void {
    const ledger = this.ledger(endpointNo);
    const after = (state: DeliveryState): number =>
      ledger.counts[state] + (changes[stateCodes[state]] ?? 0);
    const counts = {
      pending: after('pending'),
      delivered: after('delivered'),
      dead: after('dead'),
      canceled: after('canceled'),
    };
    this.#ledgers.set(endpointNo, { ...ledger, counts });
  }

  #forgetOldest(endpointNo: number): void {
    const surplus = this.ledger(endpointNo).counts.delivered - this.#limits.keptMax;
    if (surplus < forgottenTogether) return;
    const code = stateCodes.delivered;
    const oldest = [
      ...this.#store.log.keys({
        start: [endpointNo, code, 0],
        end: [endpointNo, code + 1, 0],
        limit: Math.min(surplus, 4 * forgottenTogether),
      }),
    ];
    for (const key of oldest) {
      this.#store.log.remove(key);
      this.#store.deliveries.remove(key[2]);
    }
    this.#carry(endpointNo, [0, 0, -oldest.length]);
  }
}

const deliveryId = (createdAtMs: number, no: number): string =>
  positionId('dlv', createdAtMs, Math.floor(no / 2 ** 40), no % 2 ** 40);

export function findDelivery(store: DeliveryTables, no: number): Delivery | undefined {
  const packed = store.deliveries.get(no);
  if (packed === undefined) return undefined;
  const stored = unpackDelivery(packed);
  return { no, id: deliveryId(stored.createdAtMs, no), ...stored };
}
