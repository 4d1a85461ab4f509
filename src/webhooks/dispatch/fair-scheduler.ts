/**
 * FairScheduler: decides which deliveries may be sent now. It holds one EndpointQueue per endpoint that has work;
 * the deliveries that wait are in the feed of the endpoint and in the store's queue (dispatcher.ts takes them), so this
 * holds only what is being sent.
 *
 *   wake --> idle queues (nothing in flight) ----+
 *            busy queues (something in flight) --+--> take --> in flight --> committing --> done
 *
 *   in flight    being sent; counts against the limit of the endpoint and against the limit of all
 *   committing   ended, its result not yet committed: so it must not be taken again
 *
 * Fair by construction: an endpoint has at most `endpointMax` attempts in flight, and one after five failures in a
 * row; endpoints are served in rotation, those with nothing in flight first; and the last quarter of `inFlightMax` is reserved
 * for those, so endpoints that hang cannot delay the first attempt to a healthy one.
 */
import type { EndpointNo } from '../../model/numbers.ts';

/** After this many failures in a row an endpoint has one attempt in flight, until a success. */
export const failuresMax = 5;
/** Beyond this share of `inFlightMax` only an endpoint with nothing in flight may start an attempt. */
const crowdedShare = 0.75;

/** So many times `inFlightMax` may wait for their commit: what a window brings when most attempts take milliseconds. */
const committingFactor = 4;
/** Bytes of bodies in flight to an endpoint beyond which nothing more is sent in advance: lists may have 64 KB each. */
const aheadBytesMax = 262_144;

const queueStart: QueuePosition = [0, ''];

export interface SchedulerLimits {
  /** Attempts in flight to one endpoint. */
  readonly endpointMax: number;
  /** Attempts more that the sender takes in advance; they do not count as in flight. Default: 0. */
  readonly aheadMax?: number;
  /** Attempts in flight to all endpoints; four times as many may be committing. */
  readonly inFlightMax: number;
  /** Bytes of bodies in flight or committing. */
  readonly bytesMax: number;
}

export interface Sendable {
  readonly id: string;
  readonly endpointNo: EndpointNo;
  readonly body: string;
  /** Undefined for a row, which stays in the queue while it is sent. */
  readonly place: object | undefined;
}

/** A place in an endpoint's queue of rows. */
export type QueuePosition = readonly [dueMs: number, id: string];

export interface TakeRequest {
  readonly count: number;
  /** Rows that are in flight or committing. */
  readonly active: ReadonlySet<string>;
  /** Rows before it are not due, or were taken; undefined = no row is due. */
  readonly rowsFrom: QueuePosition | undefined;
}

export interface Taken<D> {
  readonly taken: readonly D[];
  readonly rowsFrom: QueuePosition | undefined;
}

/** What the scheduler takes from. */
export interface QueueSource<D extends Sendable> {
  /** Deliveries of an endpoint that are due and not active, oldest due first. */
  take(endpointNo: EndpointNo, request: TakeRequest): Taken<D>;
  failuresInRow(endpointNo: EndpointNo): number;
}

interface EndpointQueue {
  readonly endpointNo: EndpointNo;
  inFlight: number;
  /** Of the bodies in flight. */
  bytes: number;
  committing: number;
  /** Rows that are in flight or committing. */
  readonly active: Set<string>;
  /** There may be something due that is not active. */
  hasMore: boolean;
  /** No row before this is left to take; undefined = no row is due. `wakeRows` sets it back. */
  rowsFrom: QueuePosition | undefined;
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

  /** No endpoint had work in its last checks by `idle`. */
  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  /** Nothing starts while it is paused: results cannot be stored, or the service stops. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** The endpoint's feed has something. */
  wake(endpointNo: EndpointNo): void {
    const queue = this.#queue(endpointNo);
    queue.hasMore = true;
    this.#rotate(queue);
  }

  /** The endpoint's queue of rows may hold something due. */
  wakeRows(endpointNo: EndpointNo): void {
    this.#queue(endpointNo).rowsFrom = queueStart;
    this.wake(endpointNo);
  }

  /** Whether a row is in flight or committing. */
  isActive({ endpointNo, id }: Pick<D, 'endpointNo' | 'id'>): boolean {
    return this.#queues.get(endpointNo)?.active.has(id) === true;
  }

  /** Takes all that may start now; the caller sends them. */
  start(): D[] {
    const started: D[] = [];
    while (this.#hasCapacity()) {
      const queue = this.#pick();
      if (queue === undefined) break;
      const free = this.#limitOf(queue) - queue.inFlight;
      if (free <= 0) continue;
      const waiting = this.#idle.size + this.#busy.size + 1;
      const share = Math.max(1, Math.floor((this.#limits.inFlightMax - this.#inFlight) / waiting));
      // In steps, because what is taken in advance is bounded in bytes.
      const count = Math.min(free, share, this.#limits.endpointMax);
      const { taken, rowsFrom } = this.#source.take(queue.endpointNo, {
        count,
        active: queue.active,
        rowsFrom: queue.rowsFrom,
      });
      queue.hasMore = taken.length === count;
      queue.rowsFrom = rowsFrom;
      for (const delivery of taken) {
        if (delivery.place === undefined) queue.active.add(delivery.id);
        queue.inFlight += 1;
        if (queue.inFlight <= this.#limits.endpointMax) this.#inFlight += 1;
        queue.bytes += delivery.body.length;
        this.#bytes += delivery.body.length;
        started.push(delivery);
      }
      this.#rotate(queue);
    }
    return started;
  }

  /** An attempt ended; until `committed` its delivery is not taken again. */
  ended(delivery: D, outcome: 'succeeded' | 'failed'): void {
    const queue = this.#endAttempt(delivery);
    queue.committing += 1;
    this.#committing += 1;
    queue.failuresInRow = outcome === 'succeeded' ? 0 : queue.failuresInRow + 1;
    this.#rotate(queue);
  }

  /** Its result is committed. */
  committed({ endpointNo, id, body, place }: D): void {
    const queue = this.#queue(endpointNo);
    queue.committing -= 1;
    if (place === undefined) queue.active.delete(id);
    this.#committing -= 1;
    this.#bytes -= body.length;
  }

  /** Its result is unknown: it may be taken again. */
  returnToQueue(delivery: D): void {
    this.#endAttempt(delivery).active.delete(delivery.id);
    this.#bytes -= delivery.body.length;
    this.wakeRows(delivery.endpointNo);
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
        inFlight: 0,
        bytes: 0,
        committing: 0,
        active: new Set(),
        hasMore: false,
        rowsFrom: queueStart,
        failuresInRow: this.#source.failuresInRow(endpointNo),
        idleChecks: 0,
      };
      this.#queues.set(endpointNo, queue);
    }
    return queue;
  }

  #endAttempt({ endpointNo, body }: D): EndpointQueue {
    const queue = this.#queue(endpointNo);
    queue.inFlight -= 1;
    queue.bytes -= body.length;
    if (queue.inFlight < this.#limits.endpointMax) this.#inFlight -= 1;
    return queue;
  }

  /** Puts a queue that may take more at the end of its rotation. */
  #rotate(queue: EndpointQueue): void {
    if (!queue.hasMore) return;
    this.#idle.delete(queue);
    this.#busy.delete(queue);
    if (queue.inFlight === 0) this.#idle.add(queue);
    else if (queue.inFlight < this.#ownLimitOf(queue)) this.#busy.add(queue);
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

  #ownLimitOf({ failuresInRow, bytes }: EndpointQueue): number {
    const { endpointMax, aheadMax = 0 } = this.#limits;
    if (failuresInRow >= failuresMax) return 1;
    return endpointMax + (bytes < aheadBytesMax ? aheadMax : 0);
  }

  #isCrowded(): boolean {
    return this.#inFlight >= this.#limits.inFlightMax * crowdedShare;
  }

  #hasCapacity(): boolean {
    const { inFlightMax, bytesMax } = this.#limits;
    if (this.#isPaused || this.#committing >= inFlightMax * committingFactor) return false;
    return this.#inFlight < inFlightMax && this.#bytes < bytesMax;
  }
}

const isIdle = ({ hasMore, inFlight, committing }: EndpointQueue): boolean =>
  !hasMore && inFlight === 0 && committing === 0;
