/**
 * FairScheduler: decides which deliveries may be sent now. It holds one EndpointQueue per endpoint that has work;
 * the deliveries that wait are in the store's queue table, so memory holds only what is being sent.
 *
 *   wake --> idle queues (nothing in flight) ----+
 *            busy queues (something in flight) --+--> take from the store --> in flight --> committing --> done
 *
 *   in flight    being sent; counts against the limit of the endpoint and against the limit of all
 *   committing   ended, its result not yet committed: still in the queue table, so it must not be taken again
 *
 * Fair by construction: an endpoint has at most `endpointMax` attempts in flight, and one after five failures in a
 * row; endpoints are served in rotation, those with nothing in flight first; and the last quarter of `inFlightMax` is reserved
 * for those, so endpoints that hang cannot delay the first attempt to a healthy one.
 */
import type { DeliveryNo, EndpointNo } from '../../model/numbers.ts';

/** After this many failures in a row an endpoint has one attempt in flight, until a success. */
const failuresMax = 5;
/** Beyond this share of `inFlightMax` only an endpoint with nothing in flight may start an attempt. */
const crowdedShare = 0.75;

const queueStart: QueuePosition = [0, 0];

export interface SchedulerLimits {
  /** Attempts in flight to one endpoint. */
  readonly endpointMax: number;
  /** Attempts in flight to all endpoints; as many again may be committing. */
  readonly inFlightMax: number;
  /** Bytes of bodies in flight or committing. */
  readonly bytesMax: number;
}

export interface Sendable {
  readonly no: DeliveryNo;
  readonly endpointNo: EndpointNo;
  readonly body: Uint8Array;
}

/** A place in an endpoint's queue. */
export type QueuePosition = readonly [dueMs: number, no: DeliveryNo];

export interface TakeRequest {
  readonly count: number;
  /** Whether a delivery is in flight or committing. */
  readonly isActive: (no: DeliveryNo) => boolean;
  readonly from: QueuePosition;
}

export interface Taken<D> {
  readonly taken: readonly D[];
  /** Behind the last one that was read. */
  readonly next: QueuePosition;
}

/** What the scheduler needs from the store. */
export interface QueueSource<D extends Sendable> {
  /** Deliveries of an endpoint that are due and not active, oldest due first. */
  take(endpointNo: EndpointNo, request: TakeRequest): Taken<D>;
  failuresInRow(endpointNo: EndpointNo): number;
}

interface EndpointQueue {
  readonly endpointNo: EndpointNo;
  readonly inFlight: Set<number>;
  readonly committing: Set<number>;
  /** The store may have something due that is not active. */
  hasMore: boolean;
  /** Nothing before this is left to take; `wake` sets it back. */
  from: QueuePosition;
  failuresInRow: number;
  /** Calls of `idle` in a row that found no work. */
  idleChecks: number;
}

export class FairScheduler<D extends Sendable> {
  readonly #limits: SchedulerLimits;
  readonly #source: QueueSource<D>;
  readonly #queues = new Map<number, EndpointQueue>();
  /** The queues that may take more, in rotation: those with nothing in flight, and the others. */
  readonly #idle = new Set<EndpointQueue>();
  readonly #busy = new Set<EndpointQueue>();
  #inFlight = 0;
  #committing = 0;
  /** Of all bodies in flight or committing. */
  #bytes = 0;
  #isPaused = false;

  constructor(limits: SchedulerLimits, source: QueueSource<D>) {
    this.#limits = limits;
    this.#source = source;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Nothing starts while it is paused: results cannot be stored, or the service stops. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** The endpoint's queue may hold something due. */
  wake(endpointNo: EndpointNo): void {
    const queue = this.#queue(endpointNo);
    queue.hasMore = true;
    queue.from = queueStart;
    this.#rotate(queue);
  }

  /** Whether a delivery is in flight or committing. */
  isActive({ endpointNo, no }: Pick<D, 'endpointNo' | 'no'>): boolean {
    const queue = this.#queues.get(endpointNo);
    return queue !== undefined && (queue.inFlight.has(no) || queue.committing.has(no));
  }

  /** Takes all that may start now; the caller sends them. */
  start(): D[] {
    const started: D[] = [];
    while (this.#hasCapacity()) {
      const queue = this.#pick();
      if (queue === undefined) break;
      const free = this.#limitOf(queue) - queue.inFlight.size;
      if (free <= 0) continue;
      const waiting = this.#idle.size + this.#busy.size + 1;
      const share = Math.max(1, Math.floor((this.#limits.inFlightMax - this.#inFlight) / waiting));
      const count = Math.min(free, share);
      const { taken, next } = this.#source.take(queue.endpointNo, {
        count,
        isActive: (no) => queue.inFlight.has(no) || queue.committing.has(no),
        from: queue.from,
      });
      queue.hasMore = taken.length === count;
      queue.from = next;
      for (const delivery of taken) {
        queue.inFlight.add(delivery.no);
        this.#inFlight += 1;
        this.#bytes += delivery.body.length;
        started.push(delivery);
      }
      this.#rotate(queue);
    }
    return started;
  }

  /** An attempt ended; until `committed` its delivery is not taken again. */
  ended(delivery: D, outcome: 'succeeded' | 'failed'): void {
    const queue = this.#land(delivery);
    queue.committing.add(delivery.no);
    this.#committing += 1;
    queue.failuresInRow = outcome === 'succeeded' ? 0 : queue.failuresInRow + 1;
    this.#rotate(queue);
  }

  /** Its result is committed. */
  committed({ endpointNo, no, body }: D): void {
    if (this.#queues.get(endpointNo)?.committing.delete(no) !== true) return;
    this.#committing -= 1;
    this.#bytes -= body.length;
  }

  /** It was not sent, or its result is unknown: it is still in the queue and may be taken again. */
  returnToQueue(delivery: D): void {
    const { endpointNo, no, body } = delivery;
    if (this.#queues.get(endpointNo)?.inFlight.has(no) === true) this.#bytes -= body.length;
    this.#land(delivery);
    this.wake(endpointNo);
  }

  /** Endpoints that had no work in the last `checks` calls. */
  idle(checks: number): number[] {
    const found: number[] = [];
    for (const queue of this.#queues.values()) {
      queue.idleChecks = isIdle(queue) ? queue.idleChecks + 1 : 0;
      if (queue.idleChecks > checks) found.push(queue.endpointNo);
    }
    return found;
  }

  /** Frees the memory of an endpoint, unless it got work meanwhile. */
  removeIdle(endpointNo: EndpointNo): void {
    const queue = this.#queues.get(endpointNo);
    if (queue !== undefined && isIdle(queue)) this.#queues.delete(endpointNo);
  }

  #queue(endpointNo: EndpointNo): EndpointQueue {
    let queue = this.#queues.get(endpointNo);
    if (queue === undefined) {
      queue = {
        endpointNo,
        inFlight: new Set(),
        committing: new Set(),
        hasMore: false,
        from: queueStart,
        failuresInRow: this.#source.failuresInRow(endpointNo),
        idleChecks: 0,
      };
      this.#queues.set(endpointNo, queue);
    }
    return queue;
  }

  #land({ endpointNo, no }: D): EndpointQueue {
    const queue = this.#queue(endpointNo);
    if (queue.inFlight.delete(no)) this.#inFlight -= 1;
    return queue;
  }

  /** Puts a queue that may take more at the end of its rotation. */
  #rotate(queue: EndpointQueue): void {
    if (!queue.hasMore) return;
    this.#idle.delete(queue);
    this.#busy.delete(queue);
    if (queue.inFlight.size === 0) this.#idle.add(queue);
    else if (queue.inFlight.size < this.#ownLimitOf(queue)) this.#busy.add(queue);
  }

  #pick(): EndpointQueue | undefined {
    for (const queues of [this.#idle, this.#busy]) {
      if (queues === this.#busy && this.#isCrowded()) return undefined;
      for (const queue of queues) {
        queues.delete(queue);
        return queue;
      }
    }
    return undefined;
  }

  #limitOf(queue: EndpointQueue): number {
    return this.#isCrowded() ? 1 : this.#ownLimitOf(queue);
  }

  #ownLimitOf({ failuresInRow }: EndpointQueue): number {
    return failuresInRow >= failuresMax ? 1 : this.#limits.endpointMax;
  }

  #isCrowded(): boolean {
    return this.#inFlight >= this.#limits.inFlightMax * crowdedShare;
  }

  #hasCapacity(): boolean {
    const { inFlightMax, bytesMax } = this.#limits;
    if (this.#isPaused || this.#committing >= inFlightMax) return false;
    return this.#inFlight < inFlightMax && this.#bytes < bytesMax;
  }
}

const isIdle = ({ hasMore, inFlight, committing }: EndpointQueue): boolean =>
  !hasMore && inFlight.size === 0 && committing.size === 0;
