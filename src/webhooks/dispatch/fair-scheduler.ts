/**
 * Decides which deliveries may be sent now, with one EndpointQueue per endpoint with work. Waiting deliveries stay in
 * the endpoint's feed and in the store's queue, from which delivery-queue.ts takes them.
 *
 *   wake --> idle queues (nothing in flight) ----+
 *            busy queues (something in flight) --+--> take --> in flight --> committing --> done
 *
 * A committing delivery has ended and must not be taken again. An endpoint has at most `endpointMax` attempts in flight,
 * one after five failures in a row. Endpoints are served in rotation, those with nothing in flight first. Only those may
 * use the last quarter of `inFlightMax`, so endpoints that hang cannot delay the first attempt to a healthy one.
 */
import type { EndpointNo } from '../../model/numbers.ts';

/** After this many failures in a row an endpoint has one attempt in flight, until a success. */
export const failuresMax = 5;
/** Above this share of `inFlightMax` only an endpoint with nothing in flight may start an attempt. */
const crowdedShare = 0.75;
/** So many times `inFlightMax` may wait for their commit: an interval's results, if attempts take milliseconds. */
const committingFactor = 4;
/** Above these bytes in flight an endpoint gets nothing in advance: lists may have 64 KB each. */
const aheadBytesMax = 262_144;

const queueStart: QueuePosition = [0, ''];

export interface SchedulerLimits {
  readonly endpointMax: number;
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
  /** Undefined for a row, which stays queued while it is sent. */
  readonly outboxRef: object | undefined;
}

export type QueuePosition = readonly [dueMs: number, id: string];

export interface TakeRequest {
  readonly count: number;
  readonly active: ReadonlySet<string>;
  /** Earlier rows are taken or not due; undefined = no row is due. */
  readonly rowsFrom: QueuePosition | undefined;
}

export interface Taken<D> {
  readonly taken: readonly D[];
  readonly rowsFrom: QueuePosition | undefined;
}

export interface QueueSource<D extends Sendable> {
  /** An endpoint's due deliveries that are not active, oldest due first. */
  take(endpointNo: EndpointNo, request: TakeRequest): Taken<D>;
  /** Its attempt has no result: it is the next to take again. */
  giveBack(delivery: D): void;
  failuresInRow(endpointNo: EndpointNo): number;
}

interface EndpointQueue {
  readonly endpointNo: EndpointNo;
  inFlight: number;
  bytes: number;
  committing: number;
  /** Rows that are in flight or committing. */
  readonly active: Set<string>;
  /** Something due may be left to take. */
  hasMore: boolean;
  /** No earlier row is left to take; undefined = no row is due. `wakeRows` resets it. */
  rowsFrom: QueuePosition | undefined;
  failuresInRow: number;
  idleChecks: number;
}

export class FairScheduler<D extends Sendable> {
  readonly #limits: SchedulerLimits;
  readonly #source: QueueSource<D>;
  readonly #queues = new Map<number, EndpointQueue>();
  /** Queues that may take more, in rotation: with nothing in flight, and the others. */
  readonly #idle = new Set<EndpointQueue>();
  readonly #busy = new Set<EndpointQueue>();
  #inFlight = 0;
  #committing = 0;
  #bytes = 0;

  constructor(limits: SchedulerLimits, source: QueueSource<D>) {
    this.#limits = limits;
    this.#source = source;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether no endpoint had work in its last `idle` checks. */
  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  wake(endpointNo: EndpointNo): void {
    const queue = this.#queue(endpointNo);
    queue.hasMore = true;
    this.#rotate(queue);
  }

  wakeRows(endpointNo: EndpointNo): void {
    this.#queue(endpointNo).rowsFrom = queueStart;
    this.wake(endpointNo);
  }

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
      // In steps, because the advance is bounded in bytes.
      const count = Math.min(free, share, this.#limits.endpointMax);
      const { taken, rowsFrom } = this.#source.take(queue.endpointNo, {
        count,
        active: queue.active,
        rowsFrom: queue.rowsFrom,
      });
      queue.hasMore = taken.length === count;
      queue.rowsFrom = rowsFrom;
      for (const delivery of taken) {
        if (delivery.outboxRef === undefined) queue.active.add(delivery.id);
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

  /** An attempt ended; its delivery is not taken again until `committed`. */
  ended(delivery: D, outcome: 'succeeded' | 'failed'): void {
    const queue = this.#endAttempt(delivery);
    queue.committing += 1;
    this.#committing += 1;
    queue.failuresInRow = outcome === 'succeeded' ? 0 : queue.failuresInRow + 1;
    this.#rotate(queue);
  }

  committed({ endpointNo, id, body, outboxRef }: D): void {
    const queue = this.#queue(endpointNo);
    queue.committing -= 1;
    if (outboxRef === undefined) queue.active.delete(id);
    this.#committing -= 1;
    this.#bytes -= body.length;
  }

  returnToQueue(delivery: D): void {
    this.#source.giveBack(delivery);
    this.#endAttempt(delivery).active.delete(delivery.id);
    this.#bytes -= delivery.body.length;
    this.wakeRows(delivery.endpointNo);
  }

  idle(checks: number): number[] {
    const found: number[] = [];
    for (const queue of this.#queues.values()) {
      queue.idleChecks = isIdle(queue) ? queue.idleChecks + 1 : 0;
      if (queue.idleChecks > checks) found.push(queue.endpointNo);
    }
    return found;
  }

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
    if (this.#committing >= inFlightMax * committingFactor) return false;
    return this.#inFlight < inFlightMax && this.#bytes < bytesMax;
  }
}

const isIdle = ({ hasMore, inFlight, committing }: EndpointQueue): boolean =>
  !hasMore && inFlight === 0 && committing === 0;
